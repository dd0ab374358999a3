//! The words of a message: before the client's own stands all that the log does not have.

use super::request::{Chat, Exchange, Piece};
use crate::context::Edge;
use crate::frame::Said;
use crate::input;
use crate::problem::Problem;
use thinkd_event::draft::Part;
use thinkd_session::handle::Session;

/// Returns the parts of the message: the exchanges that the log does not have are told before it.
pub async fn parts(
    session: &Session,
    edge: &Edge,
    (chat, instructions, before): (&Chat, Option<&str>, &[Exchange]),
) -> Result<Vec<Part>, Problem> {
    let mut texts = Vec::new();
    let mut said = Said::default();
    if let Some(instructions) = instructions {
        texts.push(format!("(Instructions of the client: {instructions})"));
    }
    if !before.is_empty() {
        texts.push(transcript(before));
    }
    for piece in &chat.said {
        match piece {
            Piece::Text(text) => texts.push(text.clone()),
            Piece::Image(image) => said.images.push(image.clone()),
            Piece::Audio(audio) => said.audio.push(audio.clone()),
        }
    }
    texts.extend(chat.form.iter().map(|form| format!("({form})")));
    said.text = Some(texts.join("\n\n"));
    input::parts(session, &edge.limits, said).await
}

/// Returns a conversation that the log does not have, in the client's words.
fn transcript(before: &[Exchange]) -> String {
    let mut text = "The conversation before, as the client has it:".to_owned();
    for exchange in before {
        let words = exchange.said.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Image(_) => "[image]",
            Piece::Audio(_) => "[audio]",
        });
        let said = words.collect::<Vec<_>>().join("\n");
        for (who, words) in [("user", said.as_str()), ("assistant", &exchange.answer)] {
            if !words.trim().is_empty() {
                let quoted = words.trim().replace('\n', "\n> ");
                text.push_str(&format!("\n> {who}: {quoted}"));
            }
        }
    }
    text
}
