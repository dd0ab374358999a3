//! Errors as clients see them: RFC 9457 problems, the same on sockets and HTTP.
//! Internal errors stay inside: a database's words go to the log, the client is told its remedy.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use thinkd_log::error::StoreError;
use thinkd_runtime::refused::Refused;
use thinkd_session::handle::Error;
use thinkd_words::decode::WRONGS_MAX;
use thinkd_words::id::InvalidId;

/// Declares the slugs: each with its word, its status and its title.
macro_rules! slugs {
    ($($(#[$says:meta])* $slug:ident = $word:literal, $status:literal, $title:literal;)*) => {
        /// The kind of a problem: the last part of its `type`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Slug {
            $($(#[$says])* $slug,)*
        }

        impl Slug {
            const fn facts(self) -> (&'static str, u16, &'static str) {
                match self {
                    $(Self::$slug => ($word, $status, $title),)*
                }
            }
        }
    };
}

slugs! {
    /// Not JSON.
    MalformedJson = "malformed-json", 400, "This is not JSON";
    /// JSON, but not as described.
    InvalidFrame = "invalid-frame", 400, "This is not as described";
    /// A frame of an unknown type.
    UnknownType = "unknown-type", 400, "This type of frame is not known";
    /// An unknown member.
    UnknownMember = "unknown-member", 400, "This member is not known";
    /// A parameter that is unknown, given twice, or out of range; a header that is not valid.
    InvalidParameter = "invalid-parameter", 400, "A parameter is not valid";
    /// Not an id or a name.
    InvalidId = "invalid-id", 400, "This is not a valid id";
    /// A cursor that is none, or of another query.
    InvalidCursor = "invalid-cursor", 400, "This is not a valid cursor";
    /// Media that are not as declared.
    InvalidMedia = "invalid-media", 400, "These media cannot be read";
    /// Nothing said.
    EmptyInput = "empty-input", 400, "Nothing is said";
    /// A text over the limit.
    TextTooLarge = "text-too-large", 400, "This text is too long";
    /// A NUL in a text.
    NulNotAllowed = "nul-not-allowed", 400, "NUL is not allowed in text";
    /// The client is not authenticated.
    Unauthenticated = "unauthenticated", 401, "Credentials are needed";
    /// Not you.
    Forbidden = "forbidden", 403, "This is not allowed";
    /// Nothing there.
    NotFound = "not-found", 404, "There is no such thing";
    /// Not with this method.
    MethodNotAllowed = "method-not-allowed", 405, "This method is not allowed here";
    /// The request took too long to arrive.
    RequestTimeout = "request-timeout", 408, "The request took too long to arrive";
    /// An event with this id has other content.
    EventConflict = "event-conflict", 409, "This event id is taken";
    /// The log is another incarnation.
    EpochChanged = "epoch-changed", 409, "The log is another incarnation";
    /// A cursor beyond the log's end.
    CursorAhead = "cursor-ahead", 409, "The cursor is beyond the log's end";
    /// The thread has ended.
    ThreadEnded = "thread-ended", 409, "The thread has ended";
    /// A turn runs, and the thread's policy is to refuse.
    Busy = "busy", 409, "The thread is busy";
    /// A request that was settled before.
    AlreadySettled = "already-settled", 409, "This is settled already";
    /// The input does not wait any more.
    InputTaken = "input-taken", 409, "This input does not wait any more";
    /// The tool differs from the proposed one.
    ToolChanged = "tool-changed", 409, "The tool has changed";
    /// The settings differ from those that the client knows.
    SettingsChanged = "settings-changed", 409, "The settings have changed meanwhile";
    /// The framework differs from the one that the client knows.
    FrameworkChanged = "framework-changed", 409, "The framework has changed meanwhile";
    /// Too many bytes.
    TooLarge = "too-large", 413, "This is too large";
    /// Too long an address.
    UriTooLong = "uri-too-long", 414, "This address is too long";
    /// A type of content that is not taken.
    UnsupportedMediaType = "unsupported-media-type", 415, "This type of content is not taken";
    /// A name this server does not answer to.
    MisdirectedRequest = "misdirected-request", 421, "This server has another name";
    /// The arguments of a tool, or an answer, do not have the required form.
    InvalidArguments = "invalid-arguments", 422, "These arguments are not valid";
    /// Understood, but it cannot be done.
    Unprocessable = "unprocessable", 422, "This cannot be done";
    /// This address wants a WebSocket.
    UpgradeRequired = "upgrade-required", 426, "A WebSocket is needed";
    /// Too many inputs wait.
    QueueFull = "queue-full", 429, "Too many inputs wait";
    /// Too many of something at a time.
    TooManyRequests = "too-many-requests", 429, "Too many at a time";
    /// A defect of ours.
    Internal = "internal", 500, "Something is broken here";
    /// The turn about an input failed, or was stopped before it replied.
    TurnFailed = "turn-failed", 424, "The turn failed";
    /// The model gave no answer.
    ModelFailed = "model-failed", 502, "The model gave no answer";
    /// Not now.
    Unavailable = "unavailable", 503, "Not available now";
}

impl Slug {
    /// The word in `/problems/<slug>`.
    pub const fn as_str(self) -> &'static str {
        self.facts().0
    }

    const fn retry_after(self) -> Option<u64> {
        match self {
            Self::QueueFull | Self::Unavailable => Some(2),
            Self::TooManyRequests => Some(10),
            _ => None,
        }
    }
}

/// A problem (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Problem {
    /// `/problems/<slug>`.
    #[serde(rename = "type")]
    #[schema(example = "/problems/text-too-large")]
    pub kind: String,
    /// The kind of problem, for people.
    #[schema(example = "This text is too long")]
    pub title: String,
    /// The HTTP status.
    #[schema(example = 400)]
    pub status: u16,
    /// The error here, and the remedy.
    #[schema(example = "a text has at most 65536 bytes; this one has 65537")]
    pub detail: String,
    /// The errors in the body, each with its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Pointed>,
    #[serde(skip)]
    slug: Option<Slug>,
    /// Seconds after which to try again, where its kind says another time.
    #[serde(skip)]
    again_in: Option<u64>,
}

/// A place in a body, and the error there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Pointed {
    /// A JSON pointer (RFC 6901).
    #[schema(example = "/text")]
    pub pointer: String,
    /// The error there.
    #[schema(example = "a text has at most 65536 bytes; this one has 65537")]
    pub detail: String,
}

impl Problem {
    /// Returns a problem of this kind; `detail` says the error and the remedy.
    pub fn new(slug: Slug, detail: impl Into<String>) -> Self {
        let (word, status, title) = slug.facts();
        Self {
            kind: format!("/problems/{word}"),
            title: title.to_owned(),
            status,
            detail: detail.into(),
            errors: Vec::new(),
            slug: Some(slug),
            again_in: None,
        }
    }

    /// There is no such thing.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(Slug::NotFound, detail)
    }

    /// The same, to be tried again after this time.
    #[must_use]
    pub fn again_in(self, time: Duration) -> Self {
        Self {
            again_in: Some(time.as_secs().max(1)),
            ..self
        }
    }

    /// A problem at a place in a body.
    pub fn at(slug: Slug, pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let errors = vec![Pointed {
            pointer: pointer.into(),
            detail: detail.clone(),
        }];
        Self {
            errors,
            ..Self::new(slug, detail)
        }
    }

    /// A parameter that is not valid.
    pub fn parameter(name: &str, detail: impl std::fmt::Display) -> Self {
        let detail = format!("parameter {name}: {detail}");
        Self::new(Slug::InvalidParameter, detail)
    }

    /// Returns the same of a part of a body: its places are below this one.
    #[must_use]
    pub fn within(mut self, place: &str) -> Self {
        for wrong in &mut self.errors {
            wrong.pointer.insert_str(0, place);
        }
        self
    }

    /// Returns the same with all its places replaced by this one.
    #[must_use]
    pub fn all_at(mut self, place: &str) -> Self {
        for wrong in &mut self.errors {
            place.clone_into(&mut wrong.pointer);
        }
        self
    }

    /// Returns its kind; `Internal` for one that came from elsewhere.
    pub fn slug(&self) -> Slug {
        self.slug.unwrap_or(Slug::Internal)
    }
}

/// All that is wrong with a body, place by place; the first one gives the problem its kind.
#[derive(Debug, Default)]
pub struct Wrongs(Vec<(Slug, Pointed)>);

impl Wrongs {
    /// Adds an error at a place. An error above or below one that is named already follows from
    /// that, and is left out.
    pub fn add(&mut self, slug: Slug, pointer: impl Into<String>, detail: impl Into<String>) {
        let pointer = pointer.into();
        let known = |place: &str| is_within(&pointer, place) || is_within(place, &pointer);
        if self.0.len() < WRONGS_MAX && !self.0.iter().any(|(_, wrong)| known(&wrong.pointer)) {
            let detail = detail.into();
            self.0.push((slug, Pointed { pointer, detail }));
        }
    }

    /// Adds errors, without those within any of these places.
    pub fn add_outside(&mut self, wrongs: Self, places: &[String]) {
        for (slug, wrong) in wrongs.0 {
            if !places.iter().any(|place| is_within(&wrong.pointer, place)) {
                self.add(slug, wrong.pointer, wrong.detail);
            }
        }
    }

    /// Says that a text is wrong which says nothing.
    pub fn unsaid(&mut self, pointer: &str, text: &str, detail: &str) {
        if text.trim().is_empty() {
            self.add(Slug::EmptyInput, pointer, detail);
        }
    }

    /// The value, if it is one; else it is wrong at this place.
    pub fn note<T>(
        &mut self,
        pointer: impl Into<String>,
        parsed: Result<T, InvalidId>,
    ) -> Option<T> {
        parsed
            .map_err(|error| self.add(Slug::InvalidId, pointer, error.to_string()))
            .ok()
    }

    /// Adds the errors of a problem, place by place.
    pub fn absorb(&mut self, problem: Problem) {
        let slug = problem.slug();
        if problem.errors.is_empty() {
            self.add(slug, "", problem.detail);
        }
        for wrong in problem.errors {
            self.add(slug, wrong.pointer, wrong.detail);
        }
    }

    /// The same places, in other words.
    #[must_use]
    pub fn reworded(self, word: impl Fn(Slug, Pointed) -> (Slug, Pointed)) -> Self {
        let wrongs = self.0.into_iter();
        Self(wrongs.map(|(slug, wrong)| word(slug, wrong)).collect())
    }

    /// The problem, if anything is wrong.
    pub fn take(&mut self) -> Option<Problem> {
        let wrongs = std::mem::take(&mut self.0);
        let slug = wrongs.first()?.0;
        let detail = match wrongs.as_slice() {
            [(_, one)] => one.detail.clone(),
            all => {
                let one = |(_, it): &(Slug, Pointed)| format!("{}: {}", it.pointer, it.detail);
                let each: Vec<String> = all.iter().map(one).collect();
                format!("{} things are wrong: {}", all.len(), each.join("; "))
            }
        };
        let errors = wrongs.into_iter().map(|(_, wrong)| wrong).collect();
        Some(Problem {
            errors,
            ..Problem::new(slug, detail)
        })
    }

    /// The value, unless something is wrong.
    pub fn or<T>(mut self, value: Option<T>) -> Result<T, Problem> {
        match (self.take(), value) {
            (Some(problem), _) => Err(problem),
            (None, Some(value)) => Ok(value),
            (None, None) => {
                let detail = "a body could not be read, and nothing is wrong with it";
                Err(Problem::new(Slug::Internal, detail))
            }
        }
    }
}

fn is_within(pointer: &str, place: &str) -> bool {
    pointer
        .strip_prefix(place)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Forbidden(_) => Self::new(Slug::Forbidden, error.to_string()),
            Error::Refused(refused) => refused.into(),
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let slug = match &refused {
            Refused::NotFound(_) => Slug::NotFound,
            Refused::Ended(_) => Slug::ThreadEnded,
            Refused::Busy(_) | Refused::RunUnderWay(_) => Slug::Busy,
            Refused::QueueFull(_) => Slug::QueueFull,
            Refused::SettingsChanged { .. } => Slug::SettingsChanged,
            Refused::FrameworkChanged { .. } => Slug::FrameworkChanged,
            Refused::TooManyRuns { .. } | Refused::Crowded(_) => Slug::TooManyRequests,
            Refused::ModelFailed(_) => Slug::ModelFailed,
            Refused::Settled(_) => Slug::AlreadySettled,
            Refused::Taken(_) => Slug::InputTaken,
            Refused::ToolChanged(_) => Slug::ToolChanged,
            Refused::InvalidArguments(_) => Slug::InvalidArguments,
            Refused::NotYours(_) => Slug::Forbidden,
            Refused::Ahead { .. } => Slug::CursorAhead,
            Refused::OfAnother { .. } => Slug::InvalidCursor,
            Refused::TooMany { .. } | Refused::Exists(_) | Refused::Unprocessable(_) => {
                Slug::Unprocessable
            }
            Refused::Store(error) => return from_store(error),
        };
        Self::new(slug, refused.to_string())
    }
}

fn from_store(error: &StoreError) -> Problem {
    let slug = match error {
        StoreError::Conflict(_) => Slug::EventConflict,
        StoreError::Unmet(_) | StoreError::TooDear => Slug::Unprocessable,
        StoreError::Unavailable(_) | StoreError::Broken(_) => {
            tracing::error!(%error, "a request met a store that fails");
            let detail = "the log cannot be read or written now; try again later: what is sent with an event_id is stored once, however often it is sent";
            return Problem::new(Slug::Unavailable, detail);
        }
    };
    Problem::new(slug, error.to_string())
}

impl From<InvalidId> for Problem {
    fn from(error: InvalidId) -> Self {
        Self::new(Slug::InvalidId, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        metrics::counter!("thinkd_problems_total", "problem" => self.slug().as_str()).increment(1);
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(&self)).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        if let Some(seconds) = self.again_in.or(self.slug().retry_after()) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            let realm = HeaderValue::from_static("Bearer realm=\"thinkd\"");
            headers.insert(header::WWW_AUTHENTICATE, realm);
        }
        // Doors that word problems in their own form find it here.
        response.extensions_mut().insert(self);
        response
    }
}
