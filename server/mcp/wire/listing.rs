//! The list of a server's tools, read page by page. Pages before one that cannot be read are kept,
//! and the parts that are not taken are named.

use std::collections::HashSet;
use std::time::Duration;

use rmcp::model::{ListToolsRequest, PaginatedRequestParams};
use rmcp::service::ServiceError;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::answers::{self, Page};
use super::{Link, Told, Trouble};

/// Most pages of a list.
const PAGES_MAX: usize = 32;
/// Most bytes of a list, all pages together.
const LIST_MAX: usize = 8 << 20;
/// The time that all of it may take. No caller waits for it: a server may load its tools first.
const LIST: Duration = Duration::from_secs(300);
/// Most names that are said of those that were listed before, and most characters of each.
const AGAIN_MAX: (usize, usize) = (8, 60);

/// The list of a server.
#[derive(Debug, Default)]
pub struct Listing {
    /// Its tools, no two of one name.
    pub tools: Vec<Told>,
    /// The other parts of the list, in words, and why they are not taken.
    pub left_out: Vec<String>,
}

impl Link {
    /// Returns the tools of the server, at most `most`. Fails if not even the first page could be
    /// read, or if the server was lost.
    pub async fn tools(&self, most: usize) -> Result<Listing, Trouble> {
        let until = Instant::now() + LIST;
        let mut listing = Listing::default();
        let mut names = HashSet::new();
        let mut again = Vec::new();
        let mut cursors = HashSet::new();
        let mut cursor = None;
        let mut left = LIST_MAX;
        for number in 1..=PAGES_MAX {
            let late =
                |_| Trouble::Unusable(format!("it did not come within {} s", LIST.as_secs()));
            let page = timeout_at(until, self.page(cursor.take()))
                .await
                .map_err(late)
                .flatten();
            let Page { tools, odd, next } = match page.and_then(|page| fitting(page, &mut left)) {
                Ok(page) => page,
                Err(Trouble::Unusable(why)) if number == 1 => {
                    let why = format!("page 1 of its list of tools: {why}");
                    return Err(Trouble::Unusable(why));
                }
                Err(trouble @ (Trouble::Unusable(_) | Trouble::Refused(_))) if number > 1 => {
                    let what = format!("page {number} and what is behind it ({trouble})");
                    listing.left_out.push(what);
                    break;
                }
                Err(trouble) => return Err(trouble),
            };
            if let Some(first) = odd.first() {
                let odd = odd.len();
                let what = format!(
                    "{odd} on page {number} that are no objects (the first is number {first})"
                );
                listing.left_out.push(what);
            }
            for told in tools {
                // One that is listed twice is what it was the first time.
                if names.insert(told.name.clone()) {
                    listing.tools.push(told)
                } else {
                    again.push(told.name)
                }
            }
            if listing.tools.len() > most {
                listing.tools.truncate(most);
                let what = format!("those behind the first {most}");
                listing.left_out.push(what);
                break;
            }
            match behind(next, number, &mut cursors) {
                Ok(Some(next)) => cursor = Some(next),
                Ok(None) => break,
                Err(why) => {
                    let what = format!("what is behind page {number} ({why})");
                    listing.left_out.push(what);
                    break;
                }
            }
        }
        listing.left_out.extend(said_again(&again));
        Ok(listing)
    }

    async fn page(&self, cursor: Option<String>) -> Result<Page, Trouble> {
        let request = ListToolsRequest {
            params: params(cursor),
            ..ListToolsRequest::default()
        };
        let result = self.peer.send_request(request.into()).await;
        let page = result.map_err(|error| self.trouble(error))?;
        answers::page(answers::json(page))
            .ok_or_else(|| self.trouble(ServiceError::UnexpectedResponse))
    }
}

/// Returns the parameters by which a page of a list is asked for.
pub(super) fn params(cursor: Option<String>) -> Option<PaginatedRequestParams> {
    cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)))
}

/// Returns the page, and takes its bytes off those that are left. Fails if too few are left.
fn fitting(page: Page, left: &mut usize) -> Result<Page, Trouble> {
    let long = || Trouble::Unusable(format!("the list has more than {LIST_MAX} bytes"));
    *left = left
        .checked_sub(page.tools.iter().map(Told::bytes).sum())
        .ok_or_else(long)?;
    Ok(page)
}

/// Returns the cursor of the page behind this one, if there is one. The error says why that page is
/// not read.
fn behind(
    next: Option<Value>,
    number: usize,
    cursors: &mut HashSet<String>,
) -> Result<Option<String>, &'static str> {
    match next {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(next)) if next.is_empty() => Ok(None),
        Some(_) if number == PAGES_MAX => Err("more pages are not read"),
        Some(Value::String(next)) if cursors.insert(next.clone()) => Ok(Some(next)),
        Some(Value::String(_)) => Err("its cursor was there before"),
        Some(_) => Err("its cursor is no text"),
    }
}

/// Returns the words about names that were listed before, if there are any.
fn said_again(names: &[String]) -> Option<String> {
    let (most, length) = AGAIN_MAX;
    let shown = |name: &String| format!("{:?}", name.chars().take(length).collect::<String>());
    let shown: Vec<String> = names.iter().take(most).map(shown).collect();
    let more = names.len().saturating_sub(most);
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = shown.join(", ");
    (!names.is_empty()).then(|| format!("{shown}{more} again (the first of a name is taken)"))
}
