//! The turn machine alone: no runtime, and for one test a store in memory. It ends after any
//! answers of voices and decision. After a crash at any append the same fold returns the work that
//! is left, without any that is recorded (D4.37, D4.38, D4.45, D4.50).

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use thinkd::event::draft::{Draft, When};
use thinkd::event::envelope::{Event, Source, TurnOutcome};
use thinkd::event::fact::Fact;
use thinkd::event::fact::approval::Started;
use thinkd::event::fact::calls::Call;
use thinkd::event::fact::recalled::Recalled;
use thinkd::event::fact::turn::Steered;
use thinkd::log::appended::Append;
use thinkd::log::memory::Disk;
use thinkd::log::options::Options;
use thinkd::log::query::{Order, Query, Show};
use thinkd::log::status::Status;
use thinkd::log::store;
use thinkd::log::thread_row::ThreadRow;
use thinkd::mind::turn::granted::Granted;
use thinkd::mind::turn::options::TurnOptions;
use thinkd::mind::turn::{Next, Phase, Turn};
use thinkd::tools::approval::Grant;
use thinkd::words::budget::Budget;
use thinkd::words::failure::{Failure, FailureKind, Who};
use thinkd::words::id::{Name, Seq, Space, ThreadId};

/// The answers that a model may give the decision.
#[derive(Debug, Clone)]
enum Say {
    Words,
    Unreadable,
    Reply,
    Look,
    Broken,
    Ask(usize),
    Fail,
}

fn say() -> impl Strategy<Value = Vec<Say>> {
    let one = prop_oneof![
        3 => Just(Say::Reply),
        3 => Just(Say::Look),
        1 => Just(Say::Broken),
        2 => (0..3usize).prop_map(Say::Ask),
    ];
    prop_oneof![
        6 => prop::collection::vec(one, 1..4),
        2 => Just(vec![Say::Words]),
        1 => Just(vec![Say::Unreadable]),
        1 => Just(vec![Say::Fail]),
    ]
}

/// A turn as its driver would write it, append by append.
struct Play {
    thread: ThreadId,
    turn: Turn,
    /// True if it recalls before anybody thinks.
    recalls: bool,
    /// The calls that its batch lets run.
    granted: Vec<Granted>,
    appends: Vec<Vec<Event>>,
    /// The same as they go to a store.
    drafts: Vec<Vec<Draft>>,
    /// The phase of the turn after each append.
    phases: Vec<Phase>,
    /// The rounds before which messages join it.
    joins: BTreeSet<u64>,
    seq: Seq,
}

/// A phase's place in the table of phases: the round, and the row.
fn place(phase: &Phase) -> (u64, u8) {
    match phase {
        Phase::Granted { .. } => (0, 0),
        Phase::Recalling => (0, 1),
        Phase::Listening { .. } => (0, 2),
        Phase::Deciding { round, .. } => (*round, 3),
        Phase::Acting { round, .. } => (*round, 4),
        Phase::Answering { round, .. } => (*round, 5),
        Phase::Closing { .. } => (u64::MAX, 6),
        Phase::Over(_) => (u64::MAX, 7),
    }
}

/// The first step of a turn up the table, or away from its end.
fn step_back(phases: &[Phase]) -> Option<&[Phase]> {
    phases
        .windows(2)
        .find(|pair| place(&pair[1]) < place(&pair[0]))
}

impl Play {
    fn new(voices: usize, grants: usize, options: &TurnOptions, budget: &Budget) -> Self {
        Self::of(false, voices, grants, options, budget)
    }

    fn of(
        recalls: bool,
        voices: usize,
        grants: usize,
        options: &TurnOptions,
        budget: &Budget,
    ) -> Self {
        let names: Vec<Name> = (0..voices)
            .map(|n| Name::parse(&format!("v{n}")).unwrap())
            .collect();
        let thread = ThreadId::default();
        let granted: Vec<Granted> = (0..grants).map(granted).collect();
        let turn = Turn::new(1, vec![1], names.clone(), options, budget)
            .granting(granted.clone())
            .recalling(recalls);
        let appends = Vec::new();
        let drafts = Vec::new();
        let phases = Vec::new();
        let mut play = Self {
            thread: thread.clone(),
            turn,
            recalls,
            granted,
            appends,
            drafts,
            phases,
            joins: BTreeSet::new(),
            seq: 1,
        };
        play.append(vec![Draft::turn_started(&thread, 1, &[1], &names)]);
        play
    }

    fn append(&mut self, drafts: Vec<Draft>) {
        let mut events: Vec<Event> = drafts.iter().map(Draft::preview).collect();
        for event in &mut events {
            self.seq += 1;
            event.seq = self.seq;
            self.turn.apply(event);
        }
        self.appends.push(events);
        self.drafts.push(drafts);
        self.phases.push(self.turn.phase());
    }

    fn record(&self, who: &Who, purpose: &str, more: Value) -> Draft {
        let mut record = json!({ "purpose": purpose, "outcome": "answered" });
        record
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        Draft::call_record(&self.thread, 1, who, record)
    }

    /// Performs the steps of the machine until it has ended, and returns their number; `None` after
    /// 1,000 steps.
    fn run_to_the_end(&mut self, answers: &[Vec<Say>], silent: &BTreeSet<usize>) -> Option<usize> {
        let mut answers = answers.iter().cycle();
        for step in 0..1000 {
            match self.turn.next() {
                Next::Over => return Some(step),
                Next::Run(granted) => {
                    assert!(
                        !granted.started,
                        "the play leaves nothing that was started: {granted:?}"
                    );
                    let Grant {
                        approval,
                        call_id,
                        tool,
                        ..
                    } = &granted.grant;
                    let started = Started {
                        approval,
                        turn: 1,
                        call_id,
                        tool,
                        verdict: granted.verdict,
                    };
                    self.append(vec![Fact::ApprovalStarted(started).encode(&self.thread)]);
                    let call = Call {
                        turn: 1,
                        by: &Who::Decision,
                        tool,
                        call_id,
                    };
                    self.append(vec![
                        Draft::result(&self.thread, &call, json!("paid"), 0).of_approval(approval),
                    ]);
                }
                Next::Recall => {
                    let recalled = Recalled {
                        turn: 1,
                        text: "held",
                        statements: vec!["s"],
                    };
                    self.append(vec![Fact::Recalled(recalled).encode(&self.thread)]);
                }
                Next::Listen(names) => names
                    .iter()
                    .enumerate()
                    .for_each(|(n, name)| self.voice(name, silent.contains(&n))),
                Next::Answer(name, _) => {
                    let who = Who::Submodule(name.clone());
                    let record = self.record(&who, "answer", json!({ "last": true }));
                    self.append(vec![
                        record,
                        Draft::submodule_said(
                            &self.thread.clone(),
                            1,
                            &name,
                            When::InTime,
                            "because",
                        ),
                    ]);
                }
                Next::Decide { round, .. }
                    if self.joins.contains(&round) && !self.turn.was_joined_at(round) =>
                {
                    self.seq += 1;
                    let steered = Steered {
                        turn: 1,
                        round,
                        inputs: vec![(self.seq, self.seq)],
                        handled: self.seq,
                    };
                    self.append(vec![Fact::TurnSteered(steered).encode(&self.thread)]);
                }
                Next::Decide { round, repair } => {
                    self.decide(round, repair, answers.next().unwrap())
                }
                Next::Act(pending) => panic!("the play leaves nothing pending: {pending:?}"),
                Next::GiveUp(failure) => {
                    let failed = Draft::failure(&self.thread, Some(1), &Who::Decision, &failure);
                    let ended = Draft::turn_ended(&self.thread, 1, TurnOutcome::Failed, 1);
                    self.append(vec![failed, ended]);
                }
                Next::End(outcome) => {
                    self.append(vec![Draft::turn_ended(&self.thread.clone(), 1, outcome, 1)])
                }
            }
        }
        None
    }

    fn voice(&mut self, name: &Name, silent: bool) {
        let who = Who::Submodule(name.clone());
        if silent {
            let failure = Failure::new(FailureKind::Timeout, "too late");
            return self.append(vec![Draft::failure(
                &self.thread.clone(),
                Some(1),
                &who,
                &failure,
            )]);
        }
        let said = Draft::submodule_said(&self.thread, 1, name, When::InTime, "hm");
        self.append(vec![
            self.record(&who, "turn", json!({ "last": true })),
            said,
        ]);
    }

    fn decide(&mut self, round: u64, repair: bool, answer: &[Say]) {
        let purpose = if repair { "repair" } else { "decide" };
        if matches!(answer, [Say::Fail]) {
            let record = self.record(&Who::Decision, purpose, json!({ "outcome": "failed" }));
            let failure = Failure::new(FailureKind::Model, "500");
            return self.append(vec![
                record,
                Draft::failure(&self.thread.clone(), Some(1), &Who::Decision, &failure),
            ]);
        }
        let spoken: Vec<&Say> = answer
            .iter()
            .filter(|say| !matches!(say, Say::Words | Say::Unreadable | Say::Fail))
            .collect();
        let tool = |say: &Say| match say {
            Say::Reply => ("reply", false),
            Say::Ask(_) => ("ask", true),
            Say::Look => ("query_events", true),
            _ => ("nonsense", true),
        };
        let calls: Vec<Value> = spoken
            .iter()
            .enumerate()
            .map(|(n, say)| json!({ "id": format!("c{round}.{n}"), "tool": tool(say).0, "back": tool(say).1 }))
            .collect();
        let record = self.record(&Who::Decision, purpose, json!({ "calls": calls }));
        let mut first = vec![record];
        if spoken.is_empty() {
            first.push(Draft::decision_said(&self.thread, 1, "I say"));
        }
        if matches!(answer, [Say::Unreadable]) {
            let failure = Failure::new(FailureKind::Interpreter, "no such element");
            first.push(Draft::failure(&self.thread, Some(1), &Who::Core, &failure).unreadable());
        }
        self.append(first);
        for (n, say) in spoken.into_iter().enumerate() {
            let id = format!("c{round}.{n}");
            let (tool, _) = tool(say);
            let call = Call {
                turn: 1,
                by: &Who::Decision,
                tool,
                call_id: &id,
            };
            let thread = self.thread.clone();
            self.append(vec![Draft::action(
                &thread,
                1,
                &Who::Decision,
                tool,
                &id,
                &json!({}),
            )]);
            self.append(match say {
                Say::Reply => vec![Draft::reply(&thread, 1, &id, "hi", false)],
                Say::Look => vec![Draft::result(&thread, &call, json!([]), 0)],
                Say::Ask(n) => {
                    let name = Name::parse(&format!("v{n}")).unwrap();
                    let question = Draft::question(&thread, 1, &name, "why?").of_call(&id);
                    vec![question, Draft::result(&thread, &call, json!("asked"), 0)]
                }
                _ => vec![Draft::result_failed(
                    &thread,
                    &call,
                    &Failure::new(FailureKind::Tool, "no such tool"),
                    0,
                )],
            });
        }
    }

    /// The calls to run after a crash that kept the first `kept` appends, as the rows of requests say.
    fn left(&self, kept: usize) -> Vec<Granted> {
        let mut granted = self.granted.clone();
        for event in self.appends[..kept].iter().flatten() {
            match event.fact() {
                Fact::ApprovalStarted(it) => {
                    granted
                        .iter_mut()
                        .filter(|call| call.grant.approval == it.approval)
                        .for_each(|call| call.started = true);
                }
                Fact::Result(it) => {
                    granted.retain(|call| it.approval != Some(&call.grant.approval))
                }
                _ => {}
            }
        }
        granted
    }

    /// The machine after a crash that kept the first `kept` appends.
    fn resumed(&self, kept: usize, options: &TurnOptions, budget: &Budget) -> Turn {
        let mut events = self.appends[..kept].iter().flatten();
        let turn = Turn::begun_by(events.next().unwrap(), options, budget).unwrap();
        let mut turn = turn.granting(self.left(kept)).recalling(self.recalls);
        events.for_each(|event| turn.apply(event));
        turn
    }
}

/// A call that a person let run.
fn granted(number: usize) -> Granted {
    let arguments_sha256 = "hash".to_owned();
    let tool_version = "one".to_owned();
    let approval = format!("a{number}");
    let call_id = format!("g0.{number}");
    let tool = "pay".to_owned();
    let grant = Grant {
        approval,
        call_id,
        tool,
        arguments_sha256,
        tool_version,
    };
    Granted {
        grant,
        arguments: json!({}),
        verdict: 1,
        started: false,
    }
}

fn limits() -> (TurnOptions, Budget) {
    (
        TurnOptions {
            max_rounds: 4,
            max_tool_calls: 7,
            ..TurnOptions::default()
        },
        Budget {
            model_calls: 9,
            ..Budget::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn t4_49_whatever_is_answered_the_turn_ends(
        recalls: bool,
        voices in 0..4usize,
        grants in 0..3usize,
        answers in prop::collection::vec(say(), 1..8),
        silent in prop::collection::btree_set(0..4usize, 0..3),
        joins in prop::collection::btree_set(0..5u64, 0..4),
    ) {
        let (options, budget) = limits();
        let mut play = Play::of(recalls, voices, grants, &options, &budget);
        play.joins = joins;
        let steps = play.run_to_the_end(&answers, &silent);
        prop_assert!(steps.is_some(), "still going after 1,000 steps");
        let records = |module: &str| play.appends.iter().flatten().filter(|e| e.tag_value("call:") == Some(module)).count();
        prop_assert!(records("decision") <= 4 + 1, "rounds and one repair");
        let ends = play.appends.iter().flatten().filter(|e| e.has("turn") && e.has("ended")).count();
        prop_assert_eq!(ends, 1);
    }

    #[test]
    fn a_turn_that_is_read_from_a_store_goes_on_where_it_was_cut(
        recalls: bool,
        voices in 0..4usize,
        grants in 0..3usize,
        answers in prop::collection::vec(say(), 1..8),
        silent in prop::collection::btree_set(0..4usize, 0..3),
    ) {
        let (options, budget) = limits();
        let mut play = Play::of(recalls, voices, grants, &options, &budget);
        play.run_to_the_end(&answers, &silent);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let stored = runtime.block_on(next_by_store(&play, &options, &budget));
        let kept = (1..=play.appends.len()).map(|kept| play.resumed(kept, &options, &budget).next());
        prop_assert_eq!(stored, kept.collect::<Vec<_>>());
    }

    #[test]
    fn d4_54_after_a_crash_at_any_append_nothing_recorded_is_asked_again(
        recalls: bool,
        voices in 0..4usize,
        grants in 0..3usize,
        answers in prop::collection::vec(say(), 1..8),
        silent in prop::collection::btree_set(0..4usize, 0..3),
        joins in prop::collection::btree_set(0..5u64, 0..4),
    ) {
        let (options, budget) = limits();
        let mut play = Play::of(recalls, voices, grants, &options, &budget);
        play.joins = joins;
        play.run_to_the_end(&answers, &silent);
        for kept in 1..=play.appends.len() {
            let turn = play.resumed(kept, &options, &budget);
            let events: Vec<&Event> = play.appends[..kept].iter().flatten().collect();
            match turn.next() {
                Next::Run(granted) => {
                    let about = |e: &&&Event| e.payload.get("approval_id").and_then(Value::as_str) == Some(&granted.grant.approval);
                    let events: Vec<_> = events.iter().filter(about).collect();
                    prop_assert!(!events.iter().any(|e| e.has("result")), "it runs again: {granted:?}");
                    prop_assert_eq!(granted.started, events.iter().any(|e| e.has("started")), "{:?}", granted);
                },
                Next::Recall => prop_assert!(!events.iter().any(|e| e.has("recall")), "it recalls again"),
                Next::Listen(names) => for name in names {
                    let who = format!("submodule:{name}");
                    // About messages that joined it is asked anew.
                    let since = events.iter().rposition(|e| e.has("steered")).unwrap_or(0);
                    let heard = events[since..].iter().any(|e| e.tag_value("call:") == Some(&who) || (e.has("failure") && e.has(&who)));
                    prop_assert!(!heard, "{name} is asked again");
                },
                Next::Act(pending) => for call in pending {
                    let done = events.iter().any(|e| {
                        !e.has("action") && e.payload.get("call_id").and_then(Value::as_str) == Some(&call.call_id) && !e.has("question")
                    });
                    prop_assert!(!done, "{} is run again", call.call_id);
                    let begun = events.iter().any(|e| e.has("action") && e.payload["call_id"] == json!(call.call_id));
                    prop_assert_eq!(begun, call.begun, "{}", call.call_id);
                },
                Next::Decide { round, .. } => {
                    let recorded = events.iter().filter(|e| e.tag_value("call:") == Some("decision")).count();
                    prop_assert_eq!(round, recorded as u64);
                },
                Next::Over => prop_assert_eq!(kept, play.appends.len()),
                Next::Answer(..) | Next::GiveUp(_) | Next::End(_) => {}
            }
        }
    }
}

/// Returns the machine's next step after each append, from a log stored append by append, by a
/// store that is opened anew after each.
async fn next_by_store(play: &Play, options: &TurnOptions, budget: &Budget) -> Vec<Next> {
    let disk = Disk::default();
    let space = Space::default();
    let open = || store::memory(&disk, &Options::default(), ThreadRow::apply).unwrap();
    let mut next = Vec::new();
    let input = kit::stored::draft("main", "go", &["input", "type:message"]);
    let drafts = std::iter::once(vec![Draft {
        source: Source::User,
        ..input
    }])
    .chain(play.drafts.iter().cloned());
    for (stored, drafts) in drafts.enumerate() {
        let store = open();
        store.append(Append::free(&space, drafts)).await.unwrap();
        // As a process that was killed: nobody closes it.
        drop(store);
        if stored > 0 {
            let store = open();
            let query = Query {
                after: Some(1),
                show: Show::All,
                order: Order::Ascending,
                limit: 500,
                ..Query::default()
            };
            let mut events = store.events(&space, &query).await.unwrap().into_iter();
            let turn = Turn::begun_by(&events.next().unwrap(), options, budget).unwrap();
            let mut turn = turn.granting(play.left(stored)).recalling(play.recalls);
            events.for_each(|event| turn.apply(&event));
            next.push(turn.next());
            let row = store.thread(&space, &play.thread).await.unwrap().unwrap();
            assert_eq!(
                row.status == Status::Thinking,
                turn.next() != Next::Over,
                "the row says what the machine says"
            );
            assert_eq!(
                store.rebuild(true).await.unwrap().differences,
                Vec::<String>::new()
            );
        }
    }
    next
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_turn_moves_forward_along_the_table_of_phases_and_ends_as_it_closed(
        recalls: bool,
        voices in 0..4usize,
        grants in 0..3usize,
        answers in prop::collection::vec(say(), 1..8),
        silent in prop::collection::btree_set(0..4usize, 0..3),
        cancelled in 0..40usize,
    ) {
        let (options, budget) = limits();
        let mut play = Play::of(recalls, voices, grants, &options, &budget);
        play.run_to_the_end(&answers, &silent);
        prop_assert_eq!(step_back(&play.phases), None);
        let [.., Phase::Closing { outcome, .. }, Phase::Over(over)] = &play.phases[..] else {
            panic!("it does not close before it is over: {:?}", play.phases);
        };
        prop_assert_eq!(Some(*outcome), *over);
        // Somebody wants it to end, anywhere: it closes, and goes on to nothing but its end.
        let mut turn = play.resumed(1, &options, &budget);
        let mut phases = vec![turn.phase()];
        for (index, append) in play.appends.iter().enumerate().skip(1) {
            if index == cancelled {
                turn.apply(&Draft::cancel(&play.thread, 1).preview());
                phases.push(turn.phase());
                prop_assert_eq!(place(&turn.phase()).0, u64::MAX);
            }
            append.iter().for_each(|event| turn.apply(event));
            phases.push(turn.phase());
        }
        prop_assert_eq!(step_back(&phases), None);
    }

    // The check above goes red where a turn steps back.
    #[test]
    fn a_step_back_is_found(answers in prop::collection::vec(say(), 1..8), voices in 0..4usize) {
        let (options, budget) = limits();
        let mut play = Play::new(voices, 1, &options, &budget);
        play.run_to_the_end(&answers, &BTreeSet::new());
        prop_assume!(play.phases.len() > 1);
        play.phases.reverse();
        prop_assert!(step_back(&play.phases).is_some());
    }
}

#[test]
fn a_phase_says_how_far_the_turn_is() {
    let (options, budget) = limits();
    let mut play = Play::new(2, 0, &options, &budget);
    let mut said = vec![play.turn.phase().to_string()];
    let mut then = |play: &mut Play, drafts: Vec<Draft>| {
        play.append(drafts);
        said.push(play.turn.phase().to_string());
    };
    for n in 0..2 {
        let who = Who::Submodule(Name::parse(&format!("v{n}")).unwrap());
        let record = play.record(&who, "turn", json!({ "last": true }));
        then(&mut play, vec![record]);
    }
    let calls = json!([{ "id": "c0.0", "tool": "ask", "back": true }]);
    let record = play.record(&Who::Decision, "decide", json!({ "calls": calls }));
    then(&mut play, vec![record]);
    let name = Name::parse("v0").unwrap();
    let thread = play.thread.clone();
    let call = Call {
        turn: 1,
        by: &Who::Decision,
        tool: "ask",
        call_id: "c0.0",
    };
    let question = Draft::question(&thread, 1, &name, "why?").of_call("c0.0");
    then(
        &mut play,
        vec![question, Draft::result(&thread, &call, json!("asked"), 0)],
    );
    let record = play.record(&Who::Submodule(name), "answer", json!({ "last": true }));
    then(&mut play, vec![record]);
    let failure = Failure::new(FailureKind::Model, "500");
    then(
        &mut play,
        vec![Draft::failure(&thread, Some(1), &Who::Decision, &failure)],
    );
    then(
        &mut play,
        vec![Draft::turn_ended(&thread, 1, TurnOutcome::Failed, 1)],
    );
    let forward = [
        "listening for v0, v1",
        "listening for v1",
        "deciding, round 0",
        "acting, round 0: ask",
        "answering, round 0: v0",
        "deciding, round 1",
        "closing: failed",
        "over: failed",
    ];
    assert_eq!(said, forward);
}

#[test]
fn t4_41_words_without_a_tool_call_are_repaired_once_and_then_a_failure() {
    let (options, budget) = limits();
    let mut play = Play::new(0, 0, &options, &budget);
    assert_eq!(
        play.turn.next(),
        Next::Decide {
            round: 0,
            repair: false
        }
    );
    play.decide(0, false, &[Say::Words]);
    assert_eq!(
        play.turn.next(),
        Next::Decide {
            round: 1,
            repair: true
        }
    );
    play.decide(1, true, &[Say::Words]);
    assert!(
        matches!(play.turn.next(), Next::GiveUp(failure) if failure.kind == FailureKind::Interpreter)
    );
}

#[test]
fn a_repair_that_replies_ends_the_turn() {
    let (options, budget) = limits();
    let mut play = Play::new(0, 0, &options, &budget);
    play.decide(0, false, &[Say::Words]);
    play.decide(1, true, &[Say::Reply]);
    assert_eq!(play.turn.next(), Next::End(TurnOutcome::Done));
}

#[test]
fn what_belongs_to_another_turn_changes_nothing() {
    let (options, budget) = limits();
    let mut play = Play::new(1, 0, &options, &budget);
    let before = play.turn.next();
    let mut other = Draft::turn_ended(&play.thread, 7, TurnOutcome::Done, 1).preview();
    other.seq = 99;
    play.turn.apply(&other);
    let name = Name::parse("v0").unwrap();
    play.turn
        .apply(&Draft::submodule_said(&play.thread, 1, &name, When::FollowUp, "later").preview());
    assert_eq!(play.turn.next(), before);
}

#[test]
fn a_turn_that_is_taken_up_after_its_calls_were_cut_runs_those_recorded_and_no_more() {
    let (options, budget) = limits();
    let mut play = Play::new(0, 0, &options, &budget);
    let calls: Vec<Value> = (0..8)
        .map(|n| json!({ "id": format!("c0.{n}"), "tool": "query_events" }))
        .collect();
    let record = play.record(
        &Who::Decision,
        "decide",
        json!({ "calls": calls, "calls_made": 5_000 }),
    );
    let told = thinkd::mind::action::left_out(&Who::Decision, 5_000, 8, 7).unwrap();
    play.append(vec![
        record,
        Draft::failure(&play.thread, Some(1), &Who::Core, &told),
    ]);
    let call = |id: &'static str| Call {
        turn: 1,
        by: &Who::Decision,
        tool: "query_events",
        call_id: id,
    };
    play.append(vec![Draft::result(
        &play.thread,
        &call("c0.0"),
        json!([]),
        0,
    )]);
    let Next::Act(pending) = play.resumed(3, &options, &budget).next() else {
        panic!("the rest is to be run")
    };
    assert_eq!(
        pending.iter().map(|call| call.number).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5, 6, 7]
    );
    assert_eq!(play.resumed(3, &options, &budget).calls_made(), 8);
    for id in ["c0.1", "c0.2", "c0.3", "c0.4", "c0.5", "c0.6", "c0.7"] {
        play.append(vec![Draft::result(&play.thread, &call(id), json!([]), 0)]);
    }
    assert!(
        matches!(play.turn.next(), Next::GiveUp(failure) if failure.text.contains("turn.max_tool_calls"))
    );
}
