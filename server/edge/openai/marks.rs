//! The marks of a conversation: a chain of hashes over the messages that a client repeats. By them
//! the input is found again that a message was, without a state of the door's own.

use sha2::{Digest, Sha256};

use super::request::{Exchange, Piece};
use thinkd_event::fact::input::Mark;

/// Hex digits of a mark.
const DIGITS: usize = 32;
/// Exchanges before the new message that have marks: the last one, and those that are looked for
/// where that is not known.
const MARKED: usize = 33;

/// The clients for whom a conversation can be found: the holder of the key, its `user`, and the id
/// of the conversation where the client gives one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The holder of the key.
    pub holder: String,
    /// The client's name for its user.
    pub user: Option<String>,
    /// The client's id of the conversation.
    pub chat: Option<String>,
    /// The thread that the model's name names.
    pub thread: Option<String>,
}

/// Hashes texts, each with its length, so that no two lists of them are alike.
fn hash(texts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    }
    hash.finalize().into()
}

fn hex(hash: &[u8; 32]) -> String {
    let digits = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.filter_map(|digit| char::from_digit(digit.into(), 16));
    digits.take(DIGITS).collect()
}

/// The SHA-256 of a secret, for a scope: the secret itself is kept nowhere.
pub fn of_secret(secret: &str) -> String {
    hex(&hash(&[b"thinkd-door", secret.as_bytes()]))
}

/// The mark of a client for calls that it runs itself: the holder of the key and its `user`, in any
/// conversation.
pub fn of_client(scope: &Scope) -> String {
    let user = scope.user.as_deref();
    hex(&hash(&[
        b"thinkd-client",
        scope.holder.as_bytes(),
        user.map_or(&b"-"[..], |_| b"+"),
        user.unwrap_or_default().as_bytes(),
    ]))
}

fn of_pieces(pieces: &[Piece]) -> [u8; 32] {
    let each = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => hash(&[b"text", text.as_bytes()]),
        Piece::Image(media) | Piece::Audio(media) => {
            let bytes = media.data.as_deref().or(media.blob.as_deref());
            hash(&[b"media", bytes.unwrap_or_default().as_bytes()])
        }
    });
    let each = Vec::from_iter(each);
    hash(&Vec::from_iter(each.iter().map(|it| &it[..])))
}

/// Returns the marks of the newest exchanges before, and last the one of the new message.
pub fn marks(scope: &Scope, before: &[Exchange], said: &[Piece]) -> Vec<Mark> {
    let some = |text: &Option<String>| match text {
        Some(text) => hash(&[b"some", text.as_bytes()]),
        None => hash(&[b"none"]),
    };
    let mut after = hash(&[
        b"openai",
        scope.holder.as_bytes(),
        &some(&scope.user),
        &some(&scope.chat),
        &some(&scope.thread),
    ]);
    let mark = |after: &[u8; 32], with: &[u8; 32]| Mark {
        with: hex(with),
        after: hex(after),
        id: None,
        request: None,
    };
    let with = |after: &[u8; 32], said: &[Piece]| hash(&[after, b"user", &of_pieces(said)]);
    let mut marks = Vec::with_capacity(MARKED + 1);
    for (left, exchange) in (0..before.len()).rev().zip(before) {
        let its = with(&after, &exchange.said);
        marks.extend((left < MARKED).then(|| mark(&after, &its)));
        after = hash(&[&its, b"assistant", exchange.answer.trim().as_bytes()]);
    }
    marks.push(mark(&after, &with(&after, said)));
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(user: Option<&str>) -> Scope {
        Scope {
            holder: "key".into(),
            user: user.map(str::to_owned),
            chat: None,
            thread: None,
        }
    }

    fn text(text: &str) -> Vec<Piece> {
        vec![Piece::Text(text.into())]
    }

    fn exchange(said: &str, answer: &str) -> Exchange {
        Exchange {
            said: text(said),
            answer: answer.into(),
            acts: Vec::new(),
        }
    }

    #[test]
    fn a_conversation_that_goes_on_repeats_its_marks() {
        let first = marks(&scope(None), &[], &text("one"));
        let next = marks(&scope(None), &[exchange("one", "uno")], &text("two"));
        assert_eq!(first[0], next[0]);
        let spaced = marks(&scope(None), &[exchange("one", " uno\n")], &text("two"));
        assert_eq!(next, spaced, "clients trim answers");
    }

    #[test]
    fn another_user_answer_or_word_is_another_conversation() {
        let next = |user, said, answer| {
            let marks = marks(&scope(user), &[exchange(said, answer)], &text("two"));
            marks[1].with.clone()
        };
        let all = [
            next(None, "one", "uno"),
            next(Some(""), "one", "uno"),
            next(Some("ann"), "one", "uno"),
            next(None, "One", "uno"),
            next(None, "one", "eins"),
        ];
        let different = std::collections::BTreeSet::from_iter(&all);
        assert_eq!(different.len(), all.len());
    }

    #[test]
    fn messages_in_place_of_one_another_share_what_is_before_them() {
        let said = |word| marks(&scope(None), &[exchange("one", "uno")], &text(word))[1].clone();
        assert_eq!(said("two").after, said("three").after);
        assert_ne!(said("two").with, said("three").with);
    }
}
