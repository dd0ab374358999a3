//! What a provider's prompt cache can serve: the share of prompt bytes that repeat the beginning of a prompt already sent.

use std::collections::BTreeSet;

use crate::support::*;

/// How many leading bytes two texts share.
fn common(a: &[u8], b: &[u8]) -> usize {
    let (mut low, mut high) = (0, a.len().min(b.len()));
    // Whole-slice comparisons are fast, also unoptimised.
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if a[low..middle] == b[low..middle] {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// Bytes that repeat the beginning of an earlier text, and bytes in all.
fn repeated(texts: &[String]) -> (usize, usize) {
    let mut sent: BTreeSet<&[u8]> = BTreeSet::new();
    let (mut again, mut all) = (0, 0);
    for text in texts {
        let text = text.as_bytes();
        // The longest common beginning is with a neighbour in byte order.
        let neighbours = [sent.range(..=text).next_back(), sent.range(text..).next()];
        again += neighbours.into_iter().flatten().map(|other| common(text, other)).max().unwrap_or_default();
        all += text.len();
        sent.insert(text);
    }
    (again, all)
}

#[test]
fn the_measure_measures() {
    let texts = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
    assert_eq!(repeated(&texts(&["abc", "abd", "abc", "x"])), (5, 10));
    assert_eq!(repeated(&texts(&["one", "two", "abc"])), (0, 9), "control: nothing in common");
}

/// Fifty turns, four voices: nine in ten prompt bytes are the beginning of something sent before. What is sent does not depend on
/// the database: one will do.
#[tokio::test]
async fn over_fifty_turns_nine_tenths_of_all_prompt_bytes_repeat_what_was_sent() {
    let medium = Medium::sqlite();
    const WORDS: [&str; 8] = ["garden", "engine", "harbour", "violin", "glacier", "library", "kitchen", "orbit"];
    let stub = Stub::start().await;
    let long =
        "It seems to me that there is more to this than meets the eye, and that a careful answer would say so first.";
    stub.on_each(Request::is_comment, move |request| {
        text(&format!("{}, as {}: {long}", request.last_user(), request.voice()))
    });
    stub.on_each(decision, move |request| reply(&format!("About {}. {long} {long}", request.last_user())));
    let app = Setup::new(medium, &stub).voices(&["understanding", "critic", "memory", "warmth"]).start().await;
    for turn in 0..50 {
        let word = WORDS[turn % WORDS.len()];
        app.tell(&format!(
            "Turn {turn}: tell me about the {word} that we saw near the {} the other day.",
            WORDS[(turn * 3) % 8]
        ))
        .await;
    }
    // A follow-up more or less is no matter: they run beside the turns.
    let requests = stub.some(50 * 9 - 20, any).await;
    let prompts: Vec<String> = requests.iter().map(|request| request.prompt_bytes()).collect();
    let (again, all) = repeated(&prompts);
    let share = again as f64 / all as f64;
    println!(
        "prompt cache: {again} of {all} prompt bytes ({:.1} %) in {} requests repeat a prefix already sent",
        share * 100.0,
        prompts.len()
    );
    for module in ["decision", "submodule:critic"] {
        let own: Vec<String> = requests.iter().filter(|r| r.module == module).map(|r| r.prompt_bytes()).collect();
        let (again, all) = repeated(&own);
        println!("  {module} alone: {:.1} % of {all}", again as f64 / all as f64 * 100.0);
    }
    assert!(share >= 0.9, "{share}");
}
