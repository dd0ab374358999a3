//! Measures the costs of thinkd: the real binary, asked from outside, in turn with the least code
//! that does the same. `bench/README.md` has the measurements, the way to run them, and the last
//! figures.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints, and says what is wrong by panicking"
)]

mod code;
mod delivery;
mod doors;
mod figures;
mod fork;
mod frameworks;
mod handover;
mod history;
mod memory;
mod missions;
mod postgres;
mod process;
mod prompts;
mod recall;
mod requests;
mod stub;
mod tenants;
mod threads;
mod tokens;
mod turns;
mod worlds;

use figures::Arguments;
use kit::{hello, planted, planted_frameworks, planted_missions, prefix, worlds as planted_worlds};

type Part = fn(&Arguments);

const PARTS: [(&str, Part); 18] = [
    ("turns", turns::run),
    ("postgres", postgres::run),
    ("handover", handover::run),
    ("doors", doors::run),
    ("prompts", prompts::run),
    ("delivery", delivery::run),
    ("history", history::run),
    ("fork", fork::run),
    ("memory", memory::run),
    ("threads", threads::run),
    ("tenants", tenants::run),
    ("tokens", tokens::run),
    ("requests", requests::run),
    ("code", code::run),
    ("recall", recall::run),
    ("worlds", worlds::run),
    ("frameworks", frameworks::run),
    ("missions", missions::run),
];

fn main() {
    // Whoever asks over HTTP in this process needs one, even without TLS.
    drop(rustls::crypto::ring::default_provider().install_default());
    let given: Vec<String> = std::env::args().collect();
    if let [_, word, attack, address] = &given[..]
        && word == "attack"
    {
        return tenants::attack(attack, address);
    }
    let arguments = Arguments::read();
    if let Some(unknown) = arguments
        .parts
        .iter()
        .find(|part| !PARTS.iter().any(|(name, _)| name == part))
    {
        let known = PARTS.map(|(name, _)| name).join(", ");
        eprintln!("there is no part {unknown:?}; there are {known}");
        std::process::exit(2);
    }
    match process::floor() {
        Some(_) => {
            println!(
                "beside thinkd runs the floor in THINKD_YARDSTICK; ratios are medians of interleaved rounds"
            )
        }
        None => println!(
            "THINKD_YARDSTICK names no folder with the floor: ratios are to plain loops in this program"
        ),
    }
    for (name, part) in PARTS {
        if arguments.parts.is_empty() || arguments.parts.iter().any(|wanted| wanted == name) {
            println!("\n== {name}");
            part(&arguments);
        }
    }
}
