//! The members of a request that its answer repeats, and the places of the client's words in the
//! stored message. They stand in the message's event: there is no other state of a response.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::request::Piece;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;

/// See the module.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// The model that the client named.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// True if the client does not wait for the answer.
    #[serde(skip_serializing_if = "is_false")]
    pub background: bool,
    /// The response behind which the message is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// The client's name for its user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Free members.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The client's wish which of its tools are called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    /// The place of the instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Instructions>,
    /// The messages of the client that were said, each with its parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Vec<Stands>>,
    /// The number of parts of each message that is to be said.
    #[serde(skip)]
    pub sizes: Vec<usize>,
}

/// The places of the client's words in the text of the message: the first byte, and the number of
/// bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spans {
    /// The instructions, if they are told.
    pub instructions: Option<(usize, usize)>,
    /// Each text of the message, in order.
    pub said: Vec<(usize, usize)>,
}

/// The place of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Instructions {
    /// In the text of the message: the first byte, and the number of bytes.
    Told(usize, usize),
    /// `true`: they are the prompt of the thread.
    Prompt(bool),
}

/// The place of a part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Stands {
    /// In the text: the first byte, and the number of bytes.
    Text(usize, usize),
    /// The image or sound of this number among the media.
    Media(usize),
}

// As serde calls it.
#[expect(clippy::trivially_copy_pass_by_ref)]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Kept {
    /// The members that are stored with a message; none: the message came through another door.
    pub fn of(event: &Event) -> Option<Self> {
        match event.fact() {
            Fact::Input(input) => serde_json::from_value(input.mark?.request?).ok(),
            Fact::ClientResults(results) => Self::deserialize(results.request?).ok(),
            _ => None,
        }
    }

    /// Returns the members as they are stored with a message that has the client's words at these
    /// places. Of words that another message has, the last ones are said.
    pub fn with(&self, said: &[Piece], spans: &Spans) -> Value {
        let images = said.iter().filter(|it| matches!(it, Piece::Image(_)));
        let mut image = 0;
        let mut sound = images.count();
        let mut texts = spans.said.iter();
        let next = |count: &mut usize| {
            *count += 1;
            Stands::Media(*count - 1)
        };
        let stands = said.iter().map(|piece| match piece {
            Piece::Text(_) => {
                let (from, len) = texts.next().copied().unwrap_or_default();
                Stands::Text(from, len)
            }
            Piece::Image(_) => next(&mut image),
            Piece::Audio(_) => next(&mut sound),
        });
        let mut stands = Vec::from_iter(stands).into_iter();
        let mut had = self.sizes.iter().sum::<usize>().saturating_sub(said.len());
        let new = self.sizes.iter().map(|size| {
            let known = had.min(*size);
            had -= known;
            size - known
        });
        let new = new.filter(|size| *size > 0);
        let items = new.map(|size| stands.by_ref().take(size).collect());
        let told = spans.instructions;
        let told = told.map(|(from, len)| Instructions::Told(from, len));
        let kept = Self {
            items: items.collect(),
            instructions: told.or(self.instructions),
            ..self.clone()
        };
        // Texts, numbers and lists of them: that is always JSON.
        serde_json::to_value(kept).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Media;
    use serde_json::json;

    #[test]
    fn the_places_of_words_and_media_are_stored_and_no_word_twice() {
        let media = Media::default();
        let said = [
            Piece::Text("one".into()),
            Piece::Image(media.clone()),
            Piece::Audio(media.clone()),
            Piece::Text("two".into()),
            Piece::Image(media),
        ];
        let spans = Spans {
            instructions: Some((30, 9)),
            said: vec![(42, 3), (47, 3)],
        };
        let kept = Kept {
            model: "thinkd".into(),
            background: true,
            sizes: vec![3, 2],
            ..Kept::default()
        };
        let stored = kept.with(&said, &spans);
        assert_eq!(
            stored,
            json!({
                "model": "thinkd", "background": true, "instructions": [30, 9],
                "items": [[[42, 3], 0, 2], [[47, 3], 1]],
            })
        );
        let read: Kept = serde_json::from_value(stored).unwrap();
        assert_eq!(read.instructions, Some(Instructions::Told(30, 9)));
        assert_eq!(read.items[1], [Stands::Text(47, 3), Stands::Media(1)]);
    }
}
