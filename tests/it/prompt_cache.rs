//! What a provider's prompt cache can serve: the share of prompt bytes that repeat the beginning of a prompt already sent.

use std::sync::Arc;

use crate::support::prefix::repeated;
use crate::support::*;

/// Turns that are measured, and calls of each: four voices twice, and the decision.
const TURNS: usize = 50;
const CALLS: usize = 9;

/// Bytes of requests a turn when a view was cut every sixteen events, and the decision's list of tools had ten kilobytes.
const BYTES_BEFORE: f64 = 125_900.0;

#[test]
fn the_measure_measures() {
    let texts = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
    assert_eq!(repeated(&texts(&["abc", "abd", "abc", "x"])), (5, 10));
    assert_eq!(repeated(&texts(&["one", "two", "abc"])), (0, 9), "control: nothing in common");
}

/// What fifty turns with four voices send, each turn with the follow-ups that belong to it.
async fn fifty_turns(env: &[(&str, &str)]) -> Vec<Arc<Request>> {
    let medium = Medium::sqlite();
    const WORDS: [&str; 8] = ["garden", "engine", "harbour", "violin", "glacier", "library", "kitchen", "orbit"];
    let stub = Stub::start().await;
    let long =
        "It seems to me that there is more to this than meets the eye, and that a careful answer would say so first.";
    stub.on_each(Request::is_comment, move |request| {
        text(&format!("{}, as {}: {long}", request.last_user(), request.voice()))
    });
    stub.on_each(decision, move |request| reply(&format!("About {}. {long} {long}", request.last_user())));
    let setup = Setup::new(medium, &stub).voices(&["understanding", "critic", "memory", "warmth"]);
    let app = env.iter().fold(setup, |setup, (name, value)| setup.env(name, value)).start().await;
    for turn in 0..TURNS {
        let word = WORDS[turn % WORDS.len()];
        app.tell(&format!(
            "Turn {turn}: tell me about the {word} that we saw near the {} the other day.",
            WORDS[(turn * 3) % 8]
        ))
        .await;
        stub.some((turn + 1) * CALLS, any).await;
    }
    let requests = stub.requests();
    assert_eq!(requests.iter().filter(|request| request.is_follow_up()).count(), TURNS * 4, "every voice follows up");
    requests
}

/// The share of these requests' prompt bytes that repeat the beginning of an earlier one, and the bytes of a turn.
fn share(requests: &[Arc<Request>], what: &str) -> (f64, f64) {
    let prompts: Vec<String> = requests.iter().map(|request| request.prompt_bytes()).collect();
    let (again, all) = repeated(&prompts);
    let share = again as f64 / all as f64;
    let bytes = requests.iter().map(|request| request.bytes.len()).sum::<usize>() as f64 / TURNS as f64;
    let calls = requests.len() as f64 / TURNS as f64;
    println!("{what}: {calls:.1} calls and {bytes:.0} bytes a turn, {:.1} % of its prompts repeat", share * 100.0);
    (share, bytes)
}

/// Whether a request's view begins as the one before does, and only its end is another.
fn goes_on(before: &Request, after: &Request) -> bool {
    let (before, after) = (before.prompt_bytes(), after.prompt_bytes());
    let end = before.rfind("To be decided now").unwrap();
    after.starts_with(&before[..end - "\\n".len()])
}

/// Fifty turns, four voices: nearly all prompt bytes are the beginning of something sent before, and that costs few bytes more
/// than were sent when views were cut every sixteen events. What is sent does not depend on the database: one will do.
#[tokio::test]
async fn over_fifty_turns_nearly_all_prompt_bytes_repeat_what_was_sent() {
    let (often, nobody) = ([("THINKD_HISTORY__BLOCK", "16")], [("THINKD_MOOD__ENABLED", "false")]);
    let (requests, often, nobody) = tokio::join!(fifty_turns(&[]), fifty_turns(&often), fifty_turns(&nobody));
    let of = |requests: &[Arc<Request>], is: fn(&Request) -> bool| {
        requests.iter().filter(|request| is(request)).cloned().collect::<Vec<_>>()
    };
    let decisions = of(&requests, Request::is_decision);
    let (whole, bytes) = share(&requests, "all");
    let (decision, _) = share(&decisions, "the decision");
    share(&of(&requests, Request::is_voice), "the voices");
    let (control, _) = share(&of(&often, Request::is_decision), "the decision, its views cut every sixteen events");
    // Who a mind is stands in front, and its mood last of all: that costs less than a point.
    let (without, _) = share(&nobody, "all, without who they are and their mood");
    assert!(whole >= without - 0.01, "{whole} with the mood, {without} without");
    // The mood at the end of each of the nine calls is nothing that was sent before. How voices and replies interleave moves the shares by a thousandth or two.
    assert!(without >= 0.97 && whole >= 0.968 && decision >= 0.94, "{without} {whole} {decision}");
    assert!(control < 0.7, "the control: {control}");
    // A hundredth more than without: who a mind is and its mood.
    assert!(bytes <= 1.22 * BYTES_BEFORE, "{bytes} bytes a turn, {BYTES_BEFORE} before");
    // A view begins as the last one did until it is cut, once in a few hundred events; so do the tools before it.
    let cuts = |requests: &[Arc<Request>]| requests.windows(2).filter(|two| !goes_on(&two[0], &two[1])).count();
    assert!(cuts(&decisions) <= 1, "{} cuts", cuts(&decisions));
    assert!(cuts(&of(&often, Request::is_decision)) > 10, "the control: short blocks are cut often");
    assert!(decisions.iter().all(|request| request.body["tools"] == decisions[0].body["tools"]));
}
