//! Requests to people as JSON: a list of them and a single one, for `/approvals` and `/questions`.
//! The event that asked is passed on as the text that is stored, because reading and writing it
//! anew was most of the time that a long list took.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use uuid::Uuid;

use super::Page;
use super::cursor::Part;
use super::params::Params;
use crate::ids;
use crate::problem::Problem;
use thinkd_event::condition::RequestState;
use thinkd_log::projections::requests::Asked;
use thinkd_session::handle::Session;

/// A page of requests in a state, the oldest first.
pub async fn page(
    session: &Session,
    state: RequestState,
    mut params: Params,
) -> Result<Response, Problem> {
    let part = Part::take(&mut params)?;
    let thread = params.one("thread")?;
    params.end()?;
    let thread = thread.map(|thread| ids::thread(Some(&thread)));
    let thread = thread.transpose()?;
    let part = part.of(format!("{} {} {thread:?}", state.as_str(), session.space()))?;
    let after = part.behind().unwrap_or(0);
    let rows = session.requests(state, thread.as_ref(), after, part.limit + 1);
    let Page { items, next } = part.page(rows.await?, |row: &Asked| row.seq);
    let mut body = String::from(r#"{"items":["#);
    for (at, row) in items.iter().enumerate() {
        body.push_str(if at == 0 { "" } else { "," });
        put(row, &mut body);
    }
    body.push_str(r#"],"next":"#);
    body.push_str(&next.map_or_else(|| "null".to_owned(), |next| quoted(&next)));
    body.push('}');
    Ok(json(body))
}

/// A request that is open.
pub async fn one(session: &Session, state: RequestState, id: Uuid) -> Result<Response, Problem> {
    let Some(row) = session.request(state, &id.to_string()).await? else {
        let detail = format!(
            "there is no open {} {id}; what is settled is in the log",
            state.as_str()
        );
        return Err(Problem::not_found(detail));
    };
    let mut body = String::new();
    put(&row.into(), &mut body);
    Ok(json(body))
}

/// Writes a request: the members of the event that asked, its id among them, and where it stands.
fn put(row: &Asked, to: &mut String) {
    let thread = quoted(row.thread.as_str());
    let place = format!(r#""thread":{thread},"seq":{}}}"#, row.seq);
    match row.json.strip_suffix('}') {
        Some(members) => to.extend([members, ",", &place]),
        None => to.extend(["{", &place]),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn json(body: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}
