//! Events: the record of the mind, in one closed envelope.

// The code that `#[derive(Fact)]` writes names this crate.
extern crate self as thinkd_event;

pub mod agreement;
pub mod catalogue;
pub mod condition;
pub mod correction;
pub mod doubt;
pub mod draft;
pub mod entity;
pub mod envelope;
pub mod estimate;
pub mod evidence;
pub mod fact;
pub mod fork;
pub mod framework;
pub mod gather;
pub mod intent;
pub mod method;
pub mod mission;
pub mod mood;
pub mod outcome;
pub mod process;
pub mod raw;
pub mod request;
pub mod rest;
pub mod retest;
pub mod schedule;
pub mod spec;
pub mod statement;
pub mod summary;
pub mod timer;
pub mod trial;
pub mod tuning;
pub mod unshown;
pub mod word;
pub mod worked;
