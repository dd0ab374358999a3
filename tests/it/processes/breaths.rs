//! A mind that begins one more of a kind of work with every breath is stopped by the budget of the message that it goes back to,
//! for each kind. A new kind of work does not compile here before it has said which breath begins it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use thinkd_words::failure::Who;
use thinkd_words::id::Name;

/// So many calls may go back to one message.
const CALLS: usize = 16;
/// So many may be under way when the last one is taken: two servers would be more, here is one.
const STILL: Duration = Duration::from_millis(600);

/// A way to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Breath {
    /// A thought.
    Thinks,
    /// A process goes on by itself.
    GoesOn,
    /// A subthread.
    Spawns,
    /// A subthread with the past of its maker.
    Forks,
    /// Tasks that are sent out, and gathered.
    Gathers,
    /// Steps, done one after another.
    Sequences,
    /// A message to another thread, which writes back.
    Writes,
    /// A timer.
    SetsTimers,
    /// A wait with a limit.
    Waits,
    /// A schedule.
    Schedules,
    /// A watch.
    Watches,
    /// A plan.
    Plans,
    /// A question to people.
    AsksPeople,
    /// A question to a voice.
    AsksVoices,
    /// Comments of voices.
    Comments,
    /// A claim.
    Claims,
    /// A mission.
    BeginsMissions,
    /// So many words that they are summed up.
    IsSummedUp,
}

/// The breaths that have models asked in this name.
fn breaths(who: &Who) -> &'static [Breath] {
    match who {
        Who::Decision => &[
            Breath::Thinks,
            Breath::GoesOn,
            Breath::Spawns,
            Breath::Forks,
            Breath::Gathers,
            Breath::Sequences,
            Breath::Writes,
            Breath::SetsTimers,
            Breath::Waits,
            Breath::Schedules,
            Breath::Watches,
            Breath::Plans,
            Breath::AsksPeople,
        ],
        Who::Submodule(_) => &[Breath::AsksVoices, Breath::Comments],
        Who::Trial => &[Breath::Claims],
        Who::Mission(_) => &[Breath::BeginsMissions],
        Who::Summary => &[Breath::IsSummedUp],
        // Only people begin runs, and what they begin has limits of its own (`[pipelines]`).
        Who::Pipeline(_) => &[],
        // These ask no model.
        Who::Tool(_) | Who::Core => &[],
    }
}

/// One of each.
fn everybody() -> [Who; 8] {
    let name = Name::parse("x").unwrap();
    [
        Who::Decision,
        Who::Submodule(name.clone()),
        Who::Trial,
        Who::Mission(name.clone()),
        Who::Summary,
        Who::Pipeline(name.clone()),
        Who::Tool("x".into()),
        Who::Core,
    ]
}

/// The breath that a tool is; none: it begins nothing that goes on.
fn breath_of(tool: &str) -> Option<Breath> {
    Some(match tool {
        "think" => Breath::Thinks,
        "spawn_thread" => Breath::Spawns,
        "fork_thread" => Breath::Forks,
        "fan_out" => Breath::Gathers,
        "sequence" => Breath::Sequences,
        "send" => Breath::Writes,
        "set_timer" => Breath::SetsTimers,
        "wait" | "set_wait" => Breath::Waits,
        "schedule" => Breath::Schedules,
        "watch" => Breath::Watches,
        "plan" => Breath::Plans,
        "ask_user" | "propose_submodule" | "propose_submodule_removal" | "mission_plan" => {
            Breath::AsksPeople
        }
        "ask" => Breath::AsksVoices,
        "remember" => Breath::Claims,
        "start_mission" => Breath::BeginsMissions,
        "reply" | "do_nothing" | "query_events" | "state_get" | "state_put" | "state_search"
        | "state_delete" | "connect" | "disconnect" | "view_contacts" | "clear_context"
        | "close_watch" | "run_code" | "recall" | "terminate" | "note" | "focus" | "sends_done"
        | "contacts_done" | "more_tools" | "mcp_read" | "run_code_python" => return None,
        new => panic!("which breath is the tool {new}? Say so here"),
    })
}

// The tools are the only way to begin anything: each of them is a breath, or none.
#[test]
fn each_tool_is_a_breath_or_none() {
    let all: BTreeSet<Breath> = everybody().iter().flat_map(breaths).copied().collect();
    let prompts = format!("{}/prompts/tools", kit::ROOT);
    let files = std::fs::read_dir(prompts).unwrap().map(Result::unwrap);
    let begun: BTreeSet<Breath> = files
        .filter_map(|file| breath_of(file.path().file_stem()?.to_str()?))
        .collect();
    assert!(begun.len() > 10 && begun.is_subset(&all), "{begun:?}");
}

/// The words of one breath: calls of this kind, of which no two are the same.
fn breathes(breath: Breath, at: usize) -> Answer {
    let think = || call("think", json!({ "thought": format!("on {at}") }));
    let and = |tool: &str, arguments: Value| think().and(tool, arguments);
    match breath {
        Breath::Thinks => think(),
        Breath::GoesOn => text("And on."),
        Breath::Spawns => call(
            "spawn_thread",
            json!({ "label": null, "prompt": null, "payload": "go" }),
        ),
        Breath::Forks => call(
            "fork_thread",
            json!({ "label": null, "at": null, "payload": "go" }),
        ),
        Breath::Gathers => call(
            "fan_out",
            json!({ "items": ["go", "go"], "prompt": null, "gather": true, "timeout_s": null }),
        ),
        Breath::Sequences => call(
            "sequence",
            json!({ "steps": ["go", "go"], "prompt": null, "timeout_s": null }),
        ),
        Breath::Writes => call("send", json!({ "to": ["friend"], "text": format!("go {at}") })),
        Breath::SetsTimers => call("set_timer", json!({ "after_s": 0.01, "note": "go" }))
            .and("wait", json!({ "from": null, "timeout_s": null })),
        Breath::Waits => call("wait", json!({ "from": null, "timeout_s": 0.01 })),
        Breath::Schedules => call(
            "schedule",
            json!({
                "action": "create", "name": format!("s{at}"), "text": "go", "kind": "every", "at": null, "seconds": 0.05,
                "time": null, "zone": null, "days": null, "day": null,
            }),
        )
        .and("reply", json!({ "text": "done" })),
        Breath::Watches => and(
            "watch",
            json!({ "kind": "message", "from": null, "note": "go" }),
        ),
        Breath::Plans => and(
            "plan",
            json!({ "condition": "never", "steps": [{ "text": "go", "done": true }] }),
        ),
        Breath::AsksPeople => and(
            "ask_user",
            json!({ "question": format!("{at}?"), "choices": null, "schema": null, "who": null, "expires_s": null }),
        ),
        Breath::AsksVoices => and("ask", json!({ "submodule": "critic", "question": "Well?" })),
        Breath::Comments => think(),
        Breath::Claims => and(
            "remember",
            json!({ "statement": format!("The {at}. owl is white."), "quote": null, "derived_from": null }),
        ),
        Breath::BeginsMissions => call(
            "start_mission",
            json!({ "mission": format!("Count {at} owls."), "value": null, "plan": null }),
        )
        .and("think", json!({ "thought": format!("on {at}") })),
        Breath::IsSummedUp => call("think", json!({ "thought": format!("on {at}. ").repeat(8) }))
            .and("state_put", json!({ "key": format!("k{at}"), "content": "c", "related_keys": [] })),
    }
}

/// A mind that breathes so, told to begin.
async fn begun(medium: Medium, stub: &Stub, breath: Breath) -> App {
    stub.on_each(Request::is_decision, move |request| {
        breathes(breath, request.index)
    });
    let all = ["conversation", "process"].map(|kind| format!("{kind} = [\"*\"]\n"));
    let mut setup = Setup::new(medium, stub)
        .file("thinkd.toml", &format!("[tools]\n{}", all.concat()))
        .env("THINKD_BUDGET__ROOT__MODEL_CALLS", CALLS)
        .env("THINKD_TEST_BUDGET__TIMER_MS", 10)
        .env("THINKD_BUDGET__SELF_MESSAGES", 1000)
        .env("THINKD_TEST_LIMITS__SCHEDULE_INTERVAL_MS", 10)
        .env("THINKD_TEST_MEMORY__RETRY_MS", 10);
    if breath == Breath::AsksVoices {
        setup = setup.env("THINKD_TURN__MAX_ROUNDS", 1000);
    }
    if breath == Breath::IsSummedUp {
        setup = setup
            .env("THINKD_HISTORY__SUMMARIES", true)
            .env("THINKD_HISTORY__DECISION", 4)
            .env("THINKD_HISTORY__BLOCK", 2);
    }
    if matches!(breath, Breath::AsksVoices | Breath::Comments) {
        setup = setup.voices(&["critic"]);
    }
    let app = setup.start().await;
    let is_process = matches!(
        breath,
        Breath::GoesOn | Breath::Writes | Breath::Waits | Breath::Forks
    );
    let thread = if is_process { "p" } else { "main" };
    if is_process {
        app.process("friend", json!({})).await;
        app.process("p", json!({ "contacts": [contact("friend")] }))
            .await;
    }
    app.say_in(thread, "go").await;
    app
}

/// Waits until no model is asked any more; how often one was.
async fn asked(stub: &Stub) -> usize {
    stub.request(|_| true).await;
    stub.quiet(STILL).await;
    stub.count(|_| true)
}

/// The name in which a breath has models asked, besides that of the decision.
const fn asker(breath: Breath) -> &'static str {
    match breath {
        Breath::AsksVoices | Breath::Comments => "submodule:",
        Breath::Claims => "trial",
        Breath::BeginsMissions => "mission:",
        Breath::IsSummedUp => "summary",
        _ => "decision",
    }
}

async fn is_stopped(medium: Medium, breath: Breath) {
    let stub = Stub::start().await;
    let mut app = begun(medium, &stub, breath).await;
    let says = |event: &Value| event.to_string().contains("budget.root.");
    app.until("the word of the budget", async || {
        app.public_log().await.iter().any(says) || stub.count(|_| true) >= 4 * CALLS
    })
    .await;
    let calls = asked(&stub).await;
    let log = app.public_log().await;
    assert!(
        calls <= CALLS,
        "{breath:?} asked {calls} times:\n{}",
        story(&log)
    );
    let asker = asker(breath);
    assert!(
        stub.count(|request| request.module.starts_with(asker)) > 1,
        "{breath:?} had nobody ask as {asker}:\n{}",
        story(&log)
    );
    assert!(
        log.iter().any(says),
        "{breath:?} is not told why it stopped:\n{}",
        story(&log)
    );
    rows_are_what_the_log_says(&mut app).await;
}

macro_rules! each_breath {
    ($($name:ident: $breath:ident,)*) => {
        $(on_sqlite!($name, |medium| { is_stopped(medium, Breath::$breath).await; });)*

        // Each breath has its test.
        #[test]
        fn no_breath_is_left_out() {
            let tested = BTreeSet::from([$(Breath::$breath),*]);
            let all: BTreeSet<Breath> = everybody().iter().flat_map(breaths).copied().collect();
            assert_eq!(tested, all);
        }
    };
}

each_breath! {
    thoughts_are_stopped: Thinks,
    a_process_that_goes_on_is_stopped: GoesOn,
    subthreads_are_stopped: Spawns,
    forks_are_stopped: Forks,
    gatherings_are_stopped: Gathers,
    sequences_are_stopped: Sequences,
    messages_are_stopped: Writes,
    timers_are_stopped: SetsTimers,
    waits_are_stopped: Waits,
    schedules_are_stopped: Schedules,
    watches_are_stopped: Watches,
    plans_are_stopped: Plans,
    questions_are_stopped: AsksPeople,
    voices_are_stopped: AsksVoices,
    comments_are_stopped: Comments,
    claims_are_stopped: Claims,
    missions_are_stopped: BeginsMissions,
    summaries_are_stopped: IsSummedUp,
}

// One sentence, one mission: the same call twice in a turn begins it once. With the next message it may be begun again.
// A space without room for one more refuses the call, and the turn goes on.
on_sqlite!(
    a_mission_that_a_full_space_has_no_room_for_fails_its_call,
    |medium| {
        let stub = Stub::start().await;
        let mission = json!({ "mission": "Count owls.", "value": null, "plan": null });
        stub.script(
            decision,
            [call("start_mission", mission), reply("No room.")],
        );
        let setup = Setup::new(medium, &stub).env("THINKD_TEST_LIMITS__THREADS", 1);
        let app = setup.start().await;
        assert_eq!(said(&app.tell("count").await[0]), "No room.");
        let log = app.public_log().await;
        let result = one(&log, &["result", "tool:start_mission"]);
        assert!(
            said(result).contains("threads that have not ended"),
            "{}",
            story(&log)
        );
    }
);

on_sqlite!(the_same_mission_twice_in_a_turn_is_one, |medium| {
    let stub = Stub::start().await;
    let mission = json!({ "mission": "Count owls.", "value": null, "plan": null });
    let twice = || call("start_mission", mission.clone()).and("start_mission", mission.clone());
    let again = || call("start_mission", mission.clone());
    stub.script(
        decision,
        [twice(), again(), reply("One."), twice(), reply("Two.")],
    );
    let mut app = Setup::new(medium, &stub).start().await;
    for missions in [1, 2] {
        app.tell("count").await;
        let threads = app.pages("/threads?kind=mission&").await;
        let begun = threads
            .iter()
            .filter(|it| it["id"].as_str().unwrap().split('.').count() == 2);
        assert_eq!(begun.count(), missions);
    }
    let log = app.public_log().await;
    let said: Vec<_> = with(&log, &["result", "tool:start_mission"]);
    assert_eq!(said.len(), 5, "{}", story(&log));
    assert!(
        said[1]
            .to_string()
            .contains("begun the same mission already"),
        "{}",
        said[1]
    );
    rows_are_what_the_log_says(&mut app).await;
});

// The calls of its tasks are the mission's, in its own row and in the sum of the message that it goes back to.
on_sqlite!(a_mission_counts_the_calls_of_its_tasks, |medium| {
    let stub = Stub::start().await;
    let mission = json!({ "mission": "Count owls.", "value": null, "plan": null });
    stub.script(decision, [call("start_mission", mission), reply("Begun.")]);
    let app = Setup::new(medium, &stub).start().await;
    app.tell("count").await;
    app.until("the end of the mission", async || {
        let all = app.pages("/threads?kind=mission&").await;
        let is_over = |it: &Value| it["status"] == "failed" || it["status"] == "done";
        all.iter()
            .any(|it| it["id"].as_str().unwrap().split('.').count() == 2 && is_over(it))
    })
    .await;
    let threads = app.pages("/threads?kind=mission&").await;
    let own = threads
        .iter()
        .find(|it| it["id"].as_str().unwrap().split('.').count() == 2)
        .unwrap();
    let whole = app
        .get(&format!("/threads/{}", own["id"].as_str().unwrap()))
        .await;
    let asked = stub.count(|request| request.module.starts_with("mission:"));
    assert!(asked > 1, "{asked}");
    assert_eq!(whole.expect(200)["budget"]["model_calls"], asked);
});
