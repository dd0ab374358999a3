//! The ids of responses, and of the messages that they are: both are the id of the message that the
//! response answers.

use uuid::Uuid;

use crate::openai::tools::shown_id;
use crate::problem::Problem;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_session::handle::Session;

/// Before the id of a response, of the message that it is, and of a call.
const RESPONSE: &str = "resp_";
const MESSAGE: &str = "msg_";
const CALL: &str = "fc_";

/// Returns the id of a response.
pub fn response_id(event: Uuid) -> String {
    format!("{RESPONSE}{}", event.simple())
}

/// Returns the id of the message that a response is.
pub fn message_id(event: Uuid) -> String {
    format!("{MESSAGE}{}", event.simple())
}

/// Returns the id of the item of a call.
pub fn item_of_call(call: Uuid) -> String {
    format!("{CALL}{}", call.simple())
}

/// Returns the id of the call of an item; none: it is the item of none.
pub fn call_of_item(item: &str) -> Option<String> {
    let hex = item.strip_prefix(CALL).filter(|hex| hex.len() == 32)?;
    Uuid::try_parse(hex)
        .ok()
        .map(|id| shown_id(&id.to_string()))
}

/// Returns the message that a response with this id answers. The id of each message of a thread is
/// one, whichever door it came through.
pub async fn message_of(session: &Session, id: &str) -> Result<Event, Problem> {
    input(session, id.strip_prefix(RESPONSE))
        .await?
        .ok_or_else(|| {
            let id: String = id.chars().take(80).collect();
            Problem::not_found(format!("there is no response {id:?}"))
        })
}

/// Returns the message that this item answers; none: it is no answer of ours.
pub async fn message_of_item(session: &Session, id: &str) -> Result<Option<Event>, Problem> {
    input(session, id.strip_prefix(MESSAGE)).await
}

async fn input(session: &Session, id: Option<&str>) -> Result<Option<Event>, Problem> {
    let id = id.filter(|it| it.len() == 32);
    let Some(id) = id.and_then(|it| Uuid::try_parse(it).ok()) else {
        return Ok(None);
    };
    let event = session.event(id).await?;
    let is_said = |it: &Event| matches!(it.fact(), Fact::Input(_) | Fact::ClientResults(_));
    Ok(event.filter(|it| it.wakes() && is_said(it)))
}
