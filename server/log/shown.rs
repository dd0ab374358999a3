//! Events as JSON: as the feed shares them with all readers, and as one reader passes them on.

use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};
use uuid::Uuid;

use super::error::StoreError;
use thinkd_event::envelope::{Event, Modality, Payload, Source};
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::time::Timestamp;

/// A committed event and its JSON, made once and shared by all readers.
#[derive(Debug)]
pub struct Shown {
    /// The event.
    pub event: Event,
    /// The event as JSON text.
    pub json: Box<str>,
}

/// A stored event as JSON, made for one reader.
#[derive(Debug)]
pub struct Written {
    /// Its place in the log.
    pub seq: Seq,
    /// The event; none: this build cannot read it, since a newer one wrote it or it is damaged.
    pub json: Option<Box<RawValue>>,
}

/// An event, its payload written already. The one place that says in which order its fields are written.
#[derive(serde::Serialize)]
pub(super) struct Parts<'a, M> {
    pub event_id: Uuid,
    pub ts: Timestamp,
    pub source: Source,
    pub modality: Modality,
    pub payload: &'a RawValue,
    pub meta: M,
    pub thread: &'a ThreadId,
    pub seq: Seq,
}

/// A committed event as the feed and its readers have it.
pub(super) fn shown(event: Event) -> Result<Arc<Shown>, StoreError> {
    let payload = raw(&event.payload)?;
    shown_with(event, &payload)
}

pub(super) fn shown_with(event: Event, payload: &RawValue) -> Result<Arc<Shown>, StoreError> {
    let parts = Parts {
        event_id: event.event_id,
        ts: event.ts,
        source: event.source,
        modality: event.modality,
        payload,
        meta: &event.meta,
        thread: &event.thread,
        seq: event.seq,
    };
    let json = json(&parts)?.into_boxed_str();
    Ok(Arc::new(Shown { event, json }))
}

pub(super) fn raw(payload: &Payload) -> Result<Box<RawValue>, StoreError> {
    to_raw_value(payload).map_err(unwritable)
}

fn unwritable(error: serde_json::Error) -> StoreError {
    StoreError::Broken(format!("cannot be written as JSON: {error}"))
}

pub(super) fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(unwritable)
}
