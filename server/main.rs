//! The program: parses the command line and leaves the rest to `thinkd::command`.
#![expect(missing_docs, reason = "a program has no public items")]

fn main() {}
