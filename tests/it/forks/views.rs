//! Prompts of forks at random ends of random talks: each is the one that the parent's next call
//! had.

use serde_json::json;

use super::{ends, fork, message};
use kit::*;

/// A sequence of numbers that a seed fixes.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A decision that replies, keeps a note or is silent, as the message says.
fn answer(request: &Request) -> Answer {
    let said = request.last_user();
    match said.split(' ').next().unwrap_or_default() {
        "note" => {
            let note = json!({ "key": "k", "content": said, "related_keys": [] });
            let noted = text("").and("state_put", note);
            noted.and("reply", json!({ "text": "noted" }))
        }
        "silent" => call("do_nothing", json!({ "reason": "nothing to say" })),
        _ => reply(&format!("ok: {said}")),
    }
}

/// A prompt up to the new input, byte for byte; and the rest, without its numbers and the thread.
fn parts(request: &Request, words: &str, thread: &str) -> (String, String) {
    let entries = request.entries();
    let input = entries.iter().rfind(|entry| entry.text == words).unwrap();
    let text = request.prompt_bytes();
    let place = text.rfind(&format!("#{} [", input.seq)).unwrap();
    let rest = text[place..].replace(thread, "main");
    let mut unnumbered = String::new();
    for it in rest.chars() {
        match it.is_ascii_digit() {
            true if unnumbered.ends_with('0') => {}
            true => unnumbered.push('0'),
            false => unnumbered.push(it),
        }
    }
    (text[..place].to_owned(), unnumbered)
}

async fn random_talk(medium: Medium, (seed, bytes): (u64, usize)) {
    let mut numbers = Numbers(seed);
    let stub = Stub::start().await;
    stub.on_each(decision, answer);
    stub.on(any, text("A thought."));
    let setup = Setup::new(medium, &stub).voices(&["critic"]);
    // A comment on one turn may come in the next one.
    let setup = setup.env("THINKD_TURN__FOLLOW_UP", false);
    let app = setup.env("THINKD_HISTORY__BYTES", bytes).start().await;
    let mut said = Vec::new();
    let mut taken_back = Vec::new();
    let of = |words: &str| {
        let words = words.to_owned();
        move |it: &Request| decision(it) && it.last_user() == words
    };
    for turn in 0..10 {
        let kind = ["say", "note", "silent", "say"][numbers.below(4) as usize];
        let long = "x".repeat(numbers.below(900) as usize);
        let words = format!("{kind} {turn} {long}.");
        app.tell_in("main", &words).await;
        if turn > 0 && kind == "say" && numbers.below(3) == 0 {
            let id = message(&app, "main", &words).await["event_id"].clone();
            let path = format!("/threads/main/inputs/{}", id.as_str().unwrap());
            app.delete(&path).await.expect(204);
            // A fork at this end has the event of it anew, with a place of its own.
            taken_back.push(turn);
        }
        said.push(words);
    }
    let ends = ends(&app, "main").await;
    assert_eq!(ends.len(), said.len());
    for _ in 0..6 {
        let turn = 1 + numbers.below(said.len() as u64 - 1) as usize;
        if taken_back.contains(&(turn - 1)) {
            continue;
        }
        let words = &said[turn];
        let before = stub.all(of(&said[turn])).len();
        let at = json!({ "at": ends[turn - 1], "message": { "text": words } });
        let made = fork(&app, "main", at).await;
        let of_fork = stub.nth(before, of(words)).await;
        let of_parent = stub.nth(0, of(words)).await;
        let parent = parts(&of_parent, words, "main");
        let child = parts(&of_fork, words, &made.thread);
        assert_eq!(parent.0, child.0, "seed {seed}, turn {turn}");
        assert_eq!(parent.1, child.1, "seed {seed}, turn {turn}");
    }
}

on_both!(
    a_prompt_of_a_fork_at_any_end_is_the_one_of_the_parents_next_call,
    |medium| {
        random_talk(medium, (7, 400_000)).await;
    }
);

// The oldest events leave the view.
on_both!(
    a_prompt_of_a_fork_is_the_one_of_the_parents_next_call_where_the_view_is_cut,
    |medium| {
        random_talk(medium, (8, 6_000)).await;
    }
);
