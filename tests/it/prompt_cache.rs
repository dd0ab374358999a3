//! The share of a prompt that a provider's prompt cache can serve: the prompt bytes that repeat the
//! beginning of a prompt already sent.

use std::sync::Arc;

use serde_json::json;

use kit::claims::{derives, deriving, holds, judged};
use kit::prefix::repeated;
use kit::*;

/// Turns that are measured, and calls of each: four voices twice, and the decision.
const TURNS: usize = 50;
const CALLS: usize = 9;

/// Bytes of requests a turn when a view was cut every sixteen events, and the decision's list of tools had ten kilobytes.
const BYTES_BEFORE: f64 = 125_900.0;

#[test]
fn the_measure_measures() {
    let texts = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
    assert_eq!(repeated(&texts(&["abc", "abd", "abc", "x"])), (5, 10));
    assert_eq!(
        repeated(&texts(&["one", "two", "abc"])),
        (0, 9),
        "control: nothing in common"
    );
}

/// Returns the requests of fifty turns with four voices, each turn with the follow-ups that belong
/// to it.
async fn fifty_turns(env: &[(&str, &str)]) -> Vec<Arc<Request>> {
    let medium = Medium::sqlite();
    const WORDS: [&str; 8] = [
        "garden", "engine", "harbour", "violin", "glacier", "library", "kitchen", "orbit",
    ];
    let stub = Stub::start().await;
    let long = "It seems to me that there is more to this than meets the eye, and that a careful answer would say so first.";
    stub.on_each(Request::is_comment, move |request| {
        text(&format!(
            "{}, as {}: {long}",
            request.last_user(),
            request.voice()
        ))
    });
    stub.on_each(decision, move |request| {
        reply(&format!("About {}. {long} {long}", request.last_user()))
    });
    let setup = Setup::new(medium, &stub).voices(&["understanding", "critic", "memory", "warmth"]);
    let app = env
        .iter()
        .fold(setup, |setup, (name, value)| setup.env(name, value))
        .start()
        .await;
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
    assert_eq!(
        requests
            .iter()
            .filter(|request| request.is_follow_up())
            .count(),
        TURNS * 4,
        "every voice follows up"
    );
    requests
}

/// The share of these requests' prompt bytes that repeat the beginning of an earlier one, and the bytes of a turn.
fn share(requests: &[Arc<Request>], what: &str) -> (f64, f64) {
    let prompts: Vec<String> = requests
        .iter()
        .map(|request| request.prompt_bytes())
        .collect();
    let (again, all) = repeated(&prompts);
    let share = again as f64 / all as f64;
    let bytes = requests
        .iter()
        .map(|request| request.bytes.len())
        .sum::<usize>() as f64
        / TURNS as f64;
    let calls = requests.len() as f64 / TURNS as f64;
    println!(
        "{what}: {calls:.1} calls and {bytes:.0} bytes a turn, {:.1} % of its prompts repeat",
        share * 100.0
    );
    (share, bytes)
}

/// Returns true if a request's view begins as the one before does, and only its end is another.
fn goes_on(before: &Request, after: &Request) -> bool {
    let before = before.prompt_bytes();
    let after = after.prompt_bytes();
    let end = before.rfind("To be decided now").unwrap();
    after.starts_with(&before[..end - "\\n".len()])
}

/// Fifty turns, four voices: nearly all prompt bytes are the beginning of a prompt sent before.
/// They are few bytes more than were sent when views were cut every sixteen events. The requests
/// do not depend on the database: one will do.
#[tokio::test]
async fn over_fifty_turns_nearly_all_prompt_bytes_repeat_what_was_sent() {
    let often = [("THINKD_HISTORY__BLOCK", "16")];
    let nobody = [("THINKD_MOOD__STEP", "0")];
    let (requests, often, nobody) =
        tokio::join!(fifty_turns(&[]), fifty_turns(&often), fifty_turns(&nobody));
    let of = |requests: &[Arc<Request>], is: fn(&Request) -> bool| {
        requests
            .iter()
            .filter(|request| is(request))
            .cloned()
            .collect::<Vec<_>>()
    };
    let decisions = of(&requests, Request::is_decision);
    let (whole, bytes) = share(&requests, "all");
    let (decision, _) = share(&decisions, "the decision");
    share(&of(&requests, Request::is_voice), "the voices");
    let (control, _) = share(
        &of(&often, Request::is_decision),
        "the decision, its views cut every sixteen events",
    );
    // Who a mind is stands in front, and its mood last of all: that costs less than a point.
    let (without, _) = share(&nobody, "all, without who they are and their mood");
    assert!(
        whole >= without - 0.01,
        "{whole} with the mood, {without} without"
    );
    // The mood at the end of each of the nine calls is nothing that was sent before. How voices and replies interleave moves the shares by a thousandth or two.
    assert!(
        without >= 0.97 && whole >= 0.968 && decision >= 0.94,
        "{without} {whole} {decision}"
    );
    assert!(control < 0.7, "the control: {control}");
    // A hundredth more than without: who a mind is and its mood. And another for the zone of each entry.
    assert!(
        bytes <= 1.25 * BYTES_BEFORE,
        "{bytes} bytes a turn, {BYTES_BEFORE} before"
    );
    // A view begins as the last one did until it is cut, once in a few hundred events; so do the tools before it.
    let cuts = |requests: &[Arc<Request>]| {
        requests
            .windows(2)
            .filter(|two| !goes_on(&two[0], &two[1]))
            .count()
    };
    assert!(cuts(&decisions) <= 1, "{} cuts", cuts(&decisions));
    assert!(
        cuts(&of(&often, Request::is_decision)) > 10,
        "the control: short blocks are cut often"
    );
    assert!(
        decisions
            .iter()
            .all(|request| request.body["tools"] == decisions[0].body["tools"])
    );
}

/// Turns of a conversation that is summed up, or of which something falls; and every how many something is remembered.
const LONG: usize = 60;
const REMEMBERED: usize = 6;

/// Returns the requests of the decisions of a long conversation, where every statement that it
/// remembers is withdrawn, or none is.
async fn conversation(env: &[(&str, &str)], is_withdrawn: bool) -> Vec<Arc<Request>> {
    let medium = Medium::sqlite();
    let stub = Stub::start().await;
    let long = "There is more to this than meets the eye, and a careful answer would say so first.";
    let said = |turn: usize| format!("The tree number {turn} stands at the wall.");
    stub.on(
        |request| request.module == "summary",
        text("They spoke of the garden, and of what is to be seen there."),
    );
    stub.on(deriving, derives(None, &["something follows"]));
    stub.on(|request| request.module == "trial", holds());
    for said in (0..LONG).step_by(REMEMBERED).map(said) {
        let claim = json!({ "statement": said, "quote": said, "derived_from": null });
        let says = move |request: &Request| decision(request) && request.says(&said);
        stub.script(
            says,
            [call("remember", claim), reply("I will keep that in mind.")],
        );
    }
    stub.on_each(decision, move |request| {
        reply(&format!("About {}. {long} {long}", request.last_user()))
    });
    // What a turn recalls ends with what fell: here everything else is the same.
    let setup = Setup::new(medium, &stub)
        .env("THINKD_MEMORY__RECALL_IN_TURNS", 0)
        .env("THINKD_TOOLS__CONVERSATION", "reply,remember");
    let app = env
        .iter()
        .fold(setup, |setup, (name, value)| setup.env(name, value))
        .start()
        .await;
    for turn in 0..LONG {
        app.tell(&said(turn)).await;
        if turn % REMEMBERED == 0 {
            let log = app.public_log().await;
            let claimed = with(&log, &["statement", "claimed"]).pop().unwrap();
            let id = claimed["payload"]["statement"].as_str().unwrap();
            judged(&app, id, 0, "surviving").await;
            if is_withdrawn {
                app.post(
                    &format!("/world-model/{id}/retract"),
                    json!({ "reason": "a slip" }),
                )
                .await
                .expect(200);
            }
        }
    }
    stub.all(decision)
}

/// Summaries of older events and notes on statements that fell cost no cache. A summary stands in
/// front where a view is cut anyway, a note behind all text that was sent before.
#[tokio::test]
async fn summaries_and_corrections_leave_as_much_to_the_prompt_cache_as_there_was() {
    let cut = [
        ("THINKD_HISTORY__DECISION", "60"),
        ("THINKD_HISTORY__BLOCK", "60"),
    ];
    let summed_up = [cut[0], cut[1], ("THINKD_HISTORY__SUMMARIES", "true")];
    let (plain, plain_cut, withdrawn, summed_up) = tokio::join!(
        conversation(&[], false),
        conversation(&cut, false),
        conversation(&[], true),
        conversation(&summed_up, false)
    );
    assert!(
        withdrawn.last().unwrap().says("no longer held")
            && !plain.last().unwrap().says("no longer held")
    );
    let summary = "They spoke of the garden";
    assert!(summed_up.last().unwrap().says(summary) && !plain_cut.last().unwrap().says(summary));
    let served = |requests: &[Arc<Request>]| {
        repeated(
            &requests
                .iter()
                .map(|request| request.prompt_bytes())
                .collect::<Vec<_>>(),
        )
        .0 as f64
    };
    let before = served(&plain);
    let after = served(&withdrawn);
    let (plain, _) = share(&plain, "a long conversation");
    share(&withdrawn, "the same, of which ten statements fell");
    let (cut, _) = share(&plain_cut, "the same, its views cut every sixty events");
    let (summed_up, _) = share(&summed_up, "the same, with summaries");
    // Each line is sent anew in each call, and nothing else is: the share falls by these lines, and as many bytes repeat as without.
    assert!(
        after >= 0.99 * before,
        "{after} bytes repeat with corrections, {before} without"
    );
    assert!(
        summed_up >= cut - 0.01,
        "{summed_up} with summaries, {cut} without"
    );
    assert!(
        cut < plain,
        "control: a view that is cut costs {cut} of {plain}"
    );
}
