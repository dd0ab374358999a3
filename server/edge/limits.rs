//! Every limit of the server (sizes, counts, durations) as one table (`[limits]` in thinkd.toml),
//! with its default.
//! The place that enforces a limit is not named here; the boundary enforces most, the runtime is
//! handed the numbers that are its own.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use thinkd_tasks::share::SPACE_SHARE;
use thinkd_words::defaults::with_defaults;

with_defaults! {
    /// The limits of the contract. Bytes, counts and milliseconds.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Limits {
        /// Most bytes of a WebSocket message; an eighth of them are the most of the body of an HTTP request.
        pub frame_bytes: usize = 8 << 20,
        /// Most bytes of a text: any string of a frame or body that is not media, or a prompt that a model writes for a subthread. The same
        /// number limits a client that is not authenticated, and a tool's result in its event; the rest of it is a blob. A quarter, at
        /// least 16384, limits the header block of an HTTP request, and an eighth, at least 8192, its address.
        pub text_bytes: usize = 64 << 10,
        /// Most levels to which JSON may be nested.
        pub json_depth: usize = 64,
        /// Most items of a JSON array.
        pub array_items: usize = 1000,
        /// Most bytes of a blob, uploaded or in a frame.
        pub blob_bytes: usize = 50 << 20,
        /// Frame rate of one socket; above it the socket is read more slowly. One key may send five times as many requests over HTTP
        /// (where keys are configured): above that they wait up to a second, then they are refused.
        pub frames_per_second: u32 = 200,
        /// Most sockets and streams of one key at a time (where keys are configured).
        pub sockets_per_key: usize = 100,
        /// Most sockets and streams of the server at a time; a tenth of it, at least 1000, limits its other connections, and those
        /// of clients that have not shown a key.
        pub sockets: usize = 10_000,
        /// Most inputs that wait for a thread.
        pub waiting_inputs: u32 = 100,
        /// Most submodules of a space.
        pub submodules: u32 = 32,
    }
    fixed {
        /// Most bytes that a client may send before it is authenticated.
        pub unauthenticated_frame_bytes: usize = 64 << 10,
        /// Tags that a list, a stream, a subscription or `query_events` may ask for at a time; at most 100, for SQLite puts 500
        /// runs of marks together in one statement, and a tag has up to four.
        pub filter_tags: usize = 32,
        /// Most bytes of the header block of an HTTP request.
        pub header_bytes: usize = 16 << 10,
        /// Most bytes of the address of an HTTP request, path and query; a longer one is 414.
        pub url_bytes: usize = 8 << 10,
        /// Most bytes of the body of an HTTP request.
        pub body_bytes: usize = 1 << 20,
        /// Most pixels of an image, as its header says: a few bytes can claim a size that a reader
        /// has to make room for. An image with a header that states no size is refused.
        pub image_pixels: u64 = 100_000_000,
        /// Request rate of one key over HTTP (where keys are configured); above it requests wait up to a second, then they are
        /// refused.
        pub requests_per_second: u32 = 1000,
        /// Most connections of the server at a time that are no sockets or streams: with requests, or between two.
        pub connections: usize = 1000,
        /// Most connections at a time of clients that have not shown a key; when there are more,
        /// the oldest is closed.
        pub unauthenticated: usize = 1000,
        /// The share of processors, turns, runs, reads, appends, sockets, connections, uploads and the like that one space may hold:
        /// above 0, at most 1. Where there is one space only, it may hold all.
        pub space_share: f64 = SPACE_SHARE,
        /// The longest time that one read of the log may take; a search that takes longer is
        /// refused.
        pub read_ms: u64 = 10_000,
        /// Most threads of a space that have not ended.
        pub threads: u64 = 100_000,
        /// Most schedules of a space.
        pub schedules: u32 = 1000,
        /// Most frameworks of a space.
        pub frameworks: u32 = 500,
        /// The shortest interval of a schedule, in milliseconds.
        pub schedule_interval_ms: u64 = 1000,
        /// Most bytes of a tool's result that its event keeps; the rest is a blob.
        pub tool_output_bytes: usize = 64 << 10,
        /// Interval of pings to a socket.
        pub ping_ms: u64 = 20_000,
        /// Pings without an answer after which a silent socket is closed.
        pub unanswered_pings: u32 = 3,
        /// The longest time that a socket may take to authenticate.
        pub auth_ms: u64 = 10_000,
        /// The longest time that the headers of a request may take.
        pub header_ms: u64 = 10_000,
        /// The longest time that the body of a request may take; a blob ten times as long, if
        /// something of it arrives within each `body_ms`.
        pub body_ms: u64 = 30_000,
        /// The longest time for which a client may take nothing of the data that is sent to it.
        pub stall_ms: u64 = 60_000,
        /// Interval of comments on an idle stream of server-sent events.
        pub sse_comment_ms: u64 = 15_000,
        /// The longest `?wait=` of a posted message.
        pub wait_ms: u64 = 300_000,
        /// The longest time that clients are waited for at shutdown.
        pub drain_ms: u64 = 10_000,
    }
}

impl Limits {
    /// Says which limit cannot be kept, in a sentence for the operator.
    pub fn check(&self) -> Result<(), String> {
        let at_least = [
            ("frame_bytes", self.frame_bytes as u64, 1024),
            ("text_bytes", self.text_bytes as u64, 1),
            ("json_depth", self.json_depth as u64, 4),
            ("array_items", self.array_items as u64, 1),
            ("frames_per_second", self.frames_per_second.into(), 1),
            ("sockets", self.sockets as u64, 1),
        ];
        match at_least.iter().find(|(_, given, least)| given < least) {
            Some((name, given, least)) => Err(format!(
                "limits.{name} is {given}; it has to be {least} or more"
            )),
            None if self.json_depth > 100 => Err("limits.json_depth has to be 100 or less".into()),
            None => Ok(()),
        }
    }
}

/// `ms` milliseconds.
pub const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
