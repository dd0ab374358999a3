//! The words of a message: before the client's own stands all that the log does not have.

use super::asking::Asked;
use super::kept::Spans;
use super::marks;
use super::request::{Chat, Exchange, Piece, ToolResult, told, words};
use super::tools::request_of;
use crate::context::Edge;
use crate::frame::Said;
use crate::input;
use crate::media::part;
use crate::problem::Problem;
use serde_json::{Value, json};
use thinkd_event::draft::Part;
use thinkd_event::envelope::Modality;
use thinkd_event::request::{FromClient, Given};
use thinkd_session::handle::Session;

/// Before instructions that are told.
const INSTRUCTIONS: &str = "(Instructions of the client: ";

/// The text of a message as it grows.
#[derive(Default)]
struct Text(String);

impl Text {
    /// Adds a paragraph, and returns the place in it that stands behind `before` bytes.
    fn add(&mut self, text: &str, (before, len): (usize, usize)) -> (usize, usize) {
        if !self.0.is_empty() {
            self.0.push_str("\n\n");
        }
        let from = self.0.len() + before;
        self.0.push_str(text);
        (from, len)
    }
}

/// Returns the parts of the message, and the places of the client's words in it: the exchanges that
/// the log does not have are told before it.
pub async fn parts(
    session: &Session,
    edge: &Edge,
    (chat, instructions, before, pieces): (&Chat, Option<&str>, &[Exchange], &[Piece]),
) -> Result<(Vec<Part>, Spans), Problem> {
    let mut text = Text::default();
    let mut spans = Spans::default();
    let mut said = Said::default();
    if let Some(instructions) = instructions {
        let told = format!("{INSTRUCTIONS}{instructions})");
        let place = (INSTRUCTIONS.len(), instructions.len());
        spans.instructions = Some(text.add(&told, place));
    }
    if !before.is_empty() {
        let most = edge.limits.text_bytes / 2;
        text.add(&transcript(before, most), (0, 0));
    }
    for piece in pieces {
        match piece {
            Piece::Text(words) => spans.said.push(text.add(words, (0, words.len()))),
            Piece::Image(image) => said.images.push(image.clone()),
            Piece::Audio(audio) => said.audio.push(audio.clone()),
        }
    }
    if let Some(form) = &chat.form {
        text.add(&format!("({form})"), (0, 0));
    }
    said.text = Some(text.0);
    let parts = input::parts(session, &edge.limits, said).await;
    let parts = parts.map_err(|problem| problem.all_at(chat.place))?;
    Ok((parts, spans))
}

/// Returns the part of a request that is about tools of the client.
pub async fn from_client(
    session: &Session,
    edge: &Edge,
    (chat, asked): (&Chat, &Asked),
) -> Result<FromClient, Problem> {
    let client = marks::of_client(&asked.scope);
    let thread = asked.thread.as_ref();
    let offered = match &chat.offer {
        Some(offer) => Some(session.offer(offer, client.clone(), thread).await?),
        None => None,
    };
    let id = |call: &String| Some(request_of(call)?.to_string());
    let mut given = Vec::new();
    for result in &chat.results {
        if let Some(request) = id(&result.call) {
            let output = output(session, edge, result).await?;
            given.push(Given { request, output });
        }
    }
    let named = chat.results.iter().map(|result| &result.call);
    let before = asked.previous.iter().flat_map(|it| &it.calls);
    let named = chat.calls.iter().chain(named).chain(before);
    let kept = asked.request.as_ref().filter(|_| chat.said.is_empty());
    Ok(FromClient {
        client,
        offered,
        calls: named.filter_map(id).collect(),
        given,
        request: kept.map(|kept| kept.with(&[], &Spans::default())),
    })
}

/// Returns the result of a call: its words, or an object with these and its media, which are stored.
async fn output(session: &Session, edge: &Edge, result: &ToolResult) -> Result<Value, Problem> {
    let text = Vec::from_iter(words(result.pieces.clone())).join("\n\n");
    let place = result.place.rsplit_once('/').map_or("", |(place, _)| place);
    let mut media = Vec::new();
    for piece in &result.pieces {
        let (item, is) = match piece {
            Piece::Text(_) => continue,
            Piece::Image(item) => (item, Modality::Image),
            Piece::Audio(item) => (item, Modality::Audio),
        };
        let pixels = edge.limits.image_pixels;
        let kept = part(session, item.clone(), is, place, pixels).await;
        if let Part::Media {
            blob, mime, bytes, ..
        } = kept.map_err(|problem| problem.all_at(place))?
        {
            media.push(json!({ "blob": blob, "mime": mime, "bytes": bytes }));
        }
    }
    Ok(match (media.is_empty(), text.is_empty()) {
        (true, _) => text.into(),
        (false, true) => json!({ "media": media }),
        (false, false) => json!({ "text": text, "media": media }),
    })
}

/// Returns a conversation that the log does not have, in the client's words: its newest exchanges,
/// as many as fit into so many bytes.
fn transcript(before: &[Exchange], most: usize) -> String {
    let mut lines = Vec::new();
    let mut bytes = 0;
    for exchange in before.iter().rev() {
        let line = line(exchange);
        bytes += line.len();
        if bytes > most {
            break;
        }
        lines.push(line);
    }
    let left_out = match before.len() - lines.len() {
        0 => String::new(),
        more => format!(" ({more} earlier exchanges are too long to be told)"),
    };
    lines.reverse();
    let lines = lines.concat();
    format!("The conversation before, as the client has it{left_out}:{lines}")
}

fn line(exchange: &Exchange) -> String {
    let said = told(&exchange.said);
    let mut line = String::new();
    let acts = exchange.acts.join("\n");
    let words = [
        ("user", said.as_str()),
        ("assistant", acts.as_str()),
        ("assistant", &exchange.answer),
    ];
    for (who, words) in words {
        if !words.trim().is_empty() {
            let quoted = words.trim().replace('\n', "\n> ");
            line.push_str(&format!("\n> {who}: {quoted}"));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_that_is_too_long_is_told_from_its_newest_exchange_on() {
        let exchange = |number| Exchange {
            said: vec![Piece::Text(format!("q{number}"))],
            answer: format!("a{number}\nmore"),
            acts: Vec::new(),
        };
        let before = Vec::from_iter((0..9).map(exchange));
        let told = transcript(&before, 80);
        let end = "\n> user: q8\n> assistant: a8\n> more";
        assert!(told.ends_with(end) && !told.contains("q0"), "{told}");
        assert!(
            told.contains("(7 earlier exchanges are too long to be told)"),
            "{told}"
        );
        assert!(!transcript(&before, 10_000).contains("earlier"));
    }
}
