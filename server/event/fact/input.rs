//! The facts of input from outside: messages, perceptions and triggers.

use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::Offered;
use super::family::{Byline, Declared, Family, Piece, Plain, Role};
use crate::draft::{Draft, InputKind, Part, tags};
use crate::envelope::{Modality, Payload, Source, Visibility, tag};
use crate::raw::Raw;
use crate::schedule::{Firing, MEMBER};
use crate::spec::{Spec, TEXT, spec};
use thinkd_words::id::{Name, Seq, ThreadId};

/// The mark by which a door finds an input again that came through it: hashes of a conversation as
/// the client has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Of the conversation up to the input, with it.
    pub with: String,
    /// Of the conversation before it: inputs with the same one are said in place of one another.
    pub after: String,
    /// The id that the client gives the message, if it does.
    pub id: Option<Uuid>,
    /// The members of the client's request that its answer repeats, with the last part.
    pub request: Option<Value>,
}

impl Mark {
    /// The tag of the input.
    pub fn tag(&self) -> String {
        format!("{}{}", tag::MARKS[0], self.with)
    }

    /// The tag that it shares with the inputs that are said in its place.
    pub fn shared_tag(&self) -> String {
        format!("{}{}", tag::MARKS[1], self.after)
    }

    /// The tag of the client's id.
    pub fn id_tag(&self) -> Option<String> {
        self.id.map(|id| format!("{}{id}", tag::MARKS[2]))
    }
}

/// Begins the tag with the word for an input's effect on a running turn.
const POLICY: &str = "policy:";
/// The word of an input that joins a running turn.
pub const STEER: &str = "steer";

/// A part of something said or perceived; the last part wakes the thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Input<'a> {
    /// Said or perceived.
    pub kind: InputKind,
    /// More parts follow.
    pub is_part: bool,
    /// The user that sent it, when known.
    pub user: Option<&'a str>,
    /// The question that it answers, if it answers one.
    pub answers: Option<&'a str>,
    /// The mark of the door that it came through, if that is one of another protocol.
    pub mark: Option<Mark>,
    /// Its effect on a running turn, in a word, where it has one of its own.
    pub policy: Option<&'a str>,
    /// The tools that the client offers with it.
    pub offered: Option<Offered>,
    /// The content.
    pub content: Content<'a>,
}

/// The content of a part of an input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Content<'a> {
    /// Words.
    Text(&'a str),
    /// An image or a sound, kept as a blob.
    Media {
        /// Image or audio.
        modality: Modality,
        /// SHA-256 of the bytes.
        blob: &'a str,
        /// The media type.
        mime: &'a str,
        /// Size in bytes.
        bytes: u64,
    },
}

/// A named trigger. Its payload is the caller's, so nothing in it is taken for anything else.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger<'a> {
    /// Its name.
    pub name: &'a str,
    /// All that it brings, `text` and `user` included.
    pub payload: &'a Payload,
    /// The schedule that fired it. A tag says so, which no caller can write.
    pub schedule: Option<&'a str>,
}

impl<'a> Input<'a> {
    /// Returns whether it joins the turn that runs.
    pub fn steers(&self) -> bool {
        self.policy == Some(STEER)
    }

    pub(super) fn specs() -> Vec<Spec> {
        vec![spec!(
            /// A client said something, or perceived something: one event a part, and the last part wakes the thread.
            "input", ["input", "type:message|type:sensory", "part?", "door:<mark>?", "door-after:<mark>?", "door-id:<id>?", "policy:<word>?", "answer?", "overrules?"];
            /// the words, if it has words
            "text?" => "string",
            /// SHA-256 of an image's or sound's bytes: GET /blobs/{blob}
            "blob?" => "string",
            /// its media type
            "mime?" => "string",
            /// its size
            "bytes?" => "number",
            /// the sender, when known
            "user?" => "string",
            /// the question that it answers
            "question_id?" => "string",
            /// SHA-256 of the tools that the client offers with it: GET /blobs/{client_tools}
            "client_tools?" => "string",
            /// the mark of that client
            "client?" => "string",
            /// the members of the request that a door's answer repeats, where it came through one: with the last part
            "request?" => "object",
        )]
    }

    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let kind = InputKind::parse(raw.value("type:")?)?;
        let modality = raw.modality;
        let content = match modality {
            Modality::Text => Content::Text(raw.said("text")),
            Modality::Image | Modality::Audio => {
                let blob = raw.text("blob")?;
                let mime = raw.text("mime")?;
                Content::Media {
                    modality,
                    blob,
                    mime,
                    bytes: raw.count("bytes").unwrap_or(0),
                }
            }
            Modality::State => return None,
        };
        let mark = raw.value("door:").zip(raw.value("door-after:"));
        let mark = mark.map(|(with, after)| Mark {
            with: with.to_owned(),
            after: after.to_owned(),
            id: raw.value("door-id:").and_then(|id| id.parse().ok()),
            request: raw.get("request").cloned(),
        });
        let answers = raw.text("question_id").filter(|_| raw.has(tag::ANSWER));
        Some(Self {
            kind,
            is_part: raw.has(tag::PART),
            user: raw.text("user"),
            answers,
            mark,
            policy: raw.value(POLICY),
            offered: raw
                .text("client_tools")
                .zip(raw.text("client"))
                .map(|(tools, client)| Offered {
                    tools: tools.to_owned(),
                    client: client.to_owned(),
                }),
            content,
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let tags = tags([tag::INPUT, &format!("type:{}", self.kind)]);
        let (modality, payload) = match self.content {
            Content::Text(text) => (Modality::Text, json!({ "text": text })),
            Content::Media {
                modality,
                blob,
                mime,
                bytes,
            } => (
                modality,
                json!({ "blob": blob, "mime": mime, "bytes": bytes }),
            ),
        };
        let answers = self.answers.is_some();
        let draft = Draft::new(thread, Source::User, modality, tags, payload)
            .payload_some("user", self.user)
            .tagged(self.is_part.then_some(tag::PART));
        let draft = draft.payload_some("question_id", self.answers);
        let draft = match &self.mark {
            Some(mark) => draft.marked(mark),
            None => draft,
        };
        let draft = draft.with_policy(self.policy);
        let draft = draft.offering(self.offered.as_ref());
        if answers {
            draft.tagged([tag::ANSWER, tag::OVERRULES])
        } else {
            draft
        }
    }
}

impl<'a> Trigger<'a> {
    pub(super) fn specs() -> Vec<Spec> {
        let spec = spec!(
            /// Something outside has happened that has a name. The payload is the caller's.
            "trigger", ["input", "type:trigger", "trigger:<name>", "schedule:<name>?"];
            TEXT,
            /// the sender, when known
            "user?" => "string",
            /// of a schedule: its name; due, first, last, count: the due times; next; now: out of turn
            "schedule?" => "unknown",
        );
        vec![Spec { open: true, ..spec }]
    }

    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let schedule = raw.value("schedule:");
        Some(Self {
            name: raw.value("trigger:")?,
            payload: raw.payload,
            schedule,
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let payload = self.payload.clone().into();
        let draft = Draft::new(
            thread,
            Source::System,
            Modality::Text,
            trigger_tags(self.name),
            payload,
        );
        draft.tagged(self.schedule.map(|name| format!("schedule:{name}")))
    }

    /// The event from outside that it goes back to: of a schedule that a turn made.
    pub fn root(&self) -> Option<Seq> {
        self.firing()?.root
    }

    /// The due times that it is for; none: no schedule fired it, or it was fired out of turn.
    pub fn firing(&self) -> Option<Firing> {
        self.schedule?;
        Firing::deserialize(self.payload.get(MEMBER)?).ok()
    }
}

fn trigger_tags(name: &str) -> Vec<String> {
    tags([tag::INPUT, "type:trigger", &format!("trigger:{name}")])
}

impl Declared for Input<'_> {
    // What a client wrote into a payload is not about a turn, whatever it says.
    fn plain(&self) -> Plain {
        Plain::new("input", Visibility::Heard, Role::Aside)
            .waking(!self.is_part)
            .changing_thread(self.answers.is_some())
    }
}

impl<'a> Family<'a> for Input<'a> {
    fn is_root(&self) -> bool {
        true
    }

    fn ends_any_wait(&self) -> bool {
        self.answers.is_some()
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        byline(self.kind, self.user)
    }

    fn content(&self) -> Option<String> {
        match self.content {
            Content::Media { mime, bytes, .. } => Some(format!("({mime}, {bytes} bytes)")),
            Content::Text(_) => None,
        }
    }

    fn label(&self) -> Option<String> {
        let user = self.user.unwrap_or("user");
        Some(match self.kind {
            InputKind::Message => user.to_owned(),
            InputKind::Sensory => format!("{user} (sensory)"),
        })
    }
}

/// `user`, `user <name>`, `user senses`, `user senses <name>`.
pub(super) fn byline(kind: InputKind, user: Option<&str>) -> Byline<'_> {
    let word = match kind {
        InputKind::Message => "user",
        InputKind::Sensory => "user senses",
    };
    let name = user.map(|user| match user.split(' ').next() {
        // Not to be taken for what was perceived.
        Some("senses") => Piece::Quoted(user),
        _ => Piece::Name(user.into()),
    });
    let name = name.map(|name| [Piece::Word(" "), name]);
    let name = name.into_iter().flatten();
    std::iter::once(Piece::Word(word)).chain(name).collect()
}

impl Declared for Trigger<'_> {
    fn plain(&self) -> Plain {
        Plain::new("trigger", Visibility::Heard, Role::Aside).waking(true)
    }
}

impl<'a> Family<'a> for Trigger<'a> {
    fn is_root(&self) -> bool {
        true
    }

    /// Returns true unless the trigger has a root: the clock of a schedule that a turn made goes
    /// back to the turn's own root.
    fn is_from_outside(&self) -> bool {
        self.root().is_none()
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        vec![Piece::Word("trigger "), Piece::Name(self.name.into())]
    }

    fn content(&self) -> Option<String> {
        let mut rest = self.payload.clone();
        let text = rest.remove("text").unwrap_or_default();
        let text = text.as_str().unwrap_or_default();
        (!rest.is_empty()).then(|| format!("{text} {}", Value::Object(rest)))
    }

    fn label(&self) -> Option<String> {
        Some(format!("trigger {}", self.name))
    }
}

impl Draft {
    /// A client's input as events: one a part, in order; the last one carries the given id and wakes the thread,
    /// earlier ones are tagged `part` and have ids derived from it, so that a retry is recognised as a whole.
    pub fn input(
        thread: &ThreadId,
        kind: InputKind,
        parts: Vec<Part>,
        user: Option<&str>,
        last_id: Uuid,
    ) -> Vec<Self> {
        let last = parts.len().saturating_sub(1);
        let part = |(index, part): (usize, &Part)| {
            let content = match part {
                Part::Text(text) => Content::Text(text),
                Part::Media {
                    modality,
                    blob,
                    mime,
                    bytes,
                } => Content::Media {
                    modality: *modality,
                    blob,
                    mime,
                    bytes: *bytes,
                },
            };
            let is_part = index != last;
            let id = match is_part {
                true => thinkd_words::id::part_of(last_id, index),
                false => last_id,
            };
            Input {
                kind,
                is_part,
                user,
                answers: None,
                mark: None,
                policy: None,
                offered: None,
                content,
            }
            .encode(thread)
            .with_id(id)
        };
        parts.iter().enumerate().map(part).collect()
    }

    /// The same input with a last part that answers this question.
    #[must_use]
    pub fn answering(self, question: &str) -> Self {
        self.payload("question_id", question)
            .tagged([tag::ANSWER, tag::OVERRULES])
    }

    /// The same input with the mark of the door that it came through.
    #[must_use]
    pub fn marked(self, mark: &Mark) -> Self {
        let is_last = !self.tags.iter().any(|it| it == tag::PART);
        let request = mark.request.clone().filter(|_| is_last);
        self.tagged([mark.tag(), mark.shared_tag()])
            .tagged(mark.id_tag())
            .payload_some("request", request)
    }

    /// The same input with an effect of its own on a running turn, in a word.
    #[must_use]
    pub fn with_policy(self, policy: Option<&str>) -> Self {
        self.tagged(policy.map(|word| format!("{POLICY}{word}")))
    }

    /// The same input with the tools that its client offers, if it offers any.
    #[must_use]
    pub fn offering(self, offered: Option<&Offered>) -> Self {
        self.payload_some("client_tools", offered.map(|it| it.tools.as_str()))
            .payload_some("client", offered.map(|it| it.client.as_str()))
    }

    /// A named trigger. `payload` is the caller's; a `text` is added where it has none.
    pub fn trigger(
        thread: &ThreadId,
        name: &Name,
        mut payload: Payload,
        user: Option<&str>,
    ) -> Self {
        payload
            .entry("text")
            .or_insert_with(|| format!("trigger {name}").into());
        let draft = Self::new(
            thread,
            Source::System,
            Modality::Text,
            trigger_tags(name.as_str()),
            payload.into(),
        );
        draft.payload_some("user", user)
    }

    /// The trigger of a schedule. `why` says for which due times it is.
    pub fn scheduled(
        thread: &ThreadId,
        schedule: &Name,
        name: &Name,
        payload: Payload,
        why: Value,
    ) -> Self {
        let draft = Self::trigger(thread, name, payload, None).payload(MEMBER, why);
        draft.tagged([format!("schedule:{schedule}")])
    }
}
