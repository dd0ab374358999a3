//! The black-box suite: the real binary, real sockets, a scripted model. One binary, one link.
#![allow(clippy::unwrap_used, reason = "tests say what is wrong by panicking, helpers included")]

mod support;
