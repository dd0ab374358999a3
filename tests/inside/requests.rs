//! Requests to people without a server around them. Every state that one finds after a crash, or in
//! the midst of a race, is written into the log, and the code that settles requests is called
//! directly.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use thinkd::event::condition::{Condition, RequestState};
use thinkd::event::draft::{Draft, InputKind, Part};
use thinkd::event::envelope::{Event, TurnOutcome};
use thinkd::event::fact::Fact;
use thinkd::event::fact::approval::{Pending, Started};
use thinkd::event::fact::question::Question;
use thinkd::event::fact::set::{Change, SettingValue, Thread};
use thinkd::event::request::{FromClient, Said};
use thinkd::log::appended::{Append, Appended};
use thinkd::log::kernel::Store;
use thinkd::log::query::{Order, Query, Show};
use thinkd::model::offline::Offline;
use thinkd::model::prompt::Prompts;
use thinkd::recall::finder::Recall;
use thinkd::runtime::ground::Ground;
use thinkd::runtime::handle::Runtime;
use thinkd::runtime::options::Options;
use thinkd::runtime::refused::Refused;
use thinkd::runtime::requests::{Reply, Requests};
use thinkd::runtime::turns::input::{Inbox, Input, InputContent};
use thinkd::session::kinds::Kinds;
use thinkd::thread::history;
use thinkd::tools::approval::{Rules, hash_of};
use thinkd::tools::catalogue::{self, Chosen};
use thinkd::tools::gate::version_of;
use thinkd::tools::supplies::Supplies;
use thinkd::tools::tool::{CallSite, Output, SoFar};
use thinkd::tools::toolbox::Tools;
use thinkd::words::failure::{Failure, Who};
use thinkd::words::id::{self, Space, ThreadId};
use thinkd::words::setting::Setting;
use thinkd::words::time::{Timestamp, now};
use tokio_util::sync::CancellationToken;

use kit::*;

mod gate;

/// The tool with calls that wait.
const TOOL: &str = "state_put";

/// A store, its tools, and the code that settles requests. Nothing runs on its own.
struct Bench {
    store: Arc<dyn Store>,
    tools: Arc<Tools>,
    ground: Ground,
    requests: Requests,
}

fn thread(name: &str) -> ThreadId {
    ThreadId::parse(name).unwrap()
}

fn in_seconds(seconds: i64) -> Timestamp {
    Timestamp::from_micros(now().micros() + seconds * 1_000_000)
}

fn arguments() -> Value {
    json!({ "key": "k", "content": "c", "related_keys": [] })
}

impl Bench {
    async fn on(medium: &Medium) -> Self {
        let store = stored::open(medium).await;
        let prompts = Arc::new(Prompts::load(None).unwrap());
        // Nobody looks for anything but those who are told.
        let scan = Duration::from_secs(600);
        let options = Options {
            scan,
            default_submodules: false,
            ..Options::default()
        };
        let approvals = Arc::new(Rules {
            tools: vec![TOOL.to_owned()],
            open_max: 2,
            ..Rules::default()
        });
        let budget = Arc::new(options.budget.clone());
        let limits = options.tool_limits;
        let recall = Arc::new(Recall::new(store.clone(), Default::default(), 1.0));
        let code = Default::default();
        let supplies = Supplies {
            store: store.clone(),
            prompts,
            budget,
            approvals,
            limits,
            recall,
            code,
            mission: thinkd::runtime::mission::Options::default().budget(),
        };
        let tools = Arc::new(
            catalogue::built_in()
                .tools(&supplies, &Chosen::default())
                .unwrap(),
        );
        let model = Arc::new(Offline::new());
        let ground = Ground::new(
            supplies,
            tools.clone(),
            model,
            history::Options::default(),
            options,
        );
        let all = CancellationToken::new();
        let requests = Requests {
            store: store.clone(),
            tools: tools.clone(),
            on_stored: Arc::new(|_, _| {}),
            all,
            output_bytes: 65_536,
        };
        Self {
            store,
            tools,
            ground,
            requests,
        }
    }

    async fn append(&self, drafts: Vec<Draft>) -> Vec<Event> {
        let appended = self
            .store
            .append(Append::free(&Space::default(), drafts))
            .await
            .unwrap();
        let Appended::Stored(placed) = appended else {
            panic!("nobody holds a lease")
        };
        placed
            .iter()
            .map(|placed| placed.shown.event.clone())
            .collect()
    }

    /// Returns the event, as a draft, of a call that waits in a thread.
    fn call(&self, name: &str, expires: Timestamp) -> Draft {
        let id = id::fresh();
        let arguments = arguments();
        let pending = Pending {
            approval: &id.to_string(),
            turn: 1,
            call_id: "c1.0.0",
            tool: TOOL,
            arguments: &arguments,
            arguments_sha256: &hash_of(&arguments),
            tool_version: &version_of(
                self.tools
                    .conversation
                    .now(&Space::default())
                    .get(TOOL)
                    .unwrap()
                    .spec(),
            ),
            diff: None,
            expires: &expires.to_string(),
        };
        Fact::ApprovalPending(pending)
            .encode(&thread(name))
            .with_id(id)
    }

    /// Has a call wait; its id.
    async fn waits(&self, name: &str) -> String {
        self.append(vec![self.call(name, in_seconds(60))]).await[0]
            .event_id
            .to_string()
    }

    /// Has a call granted that waited; its id, and the verdict's event.
    async fn granted(&self, name: &str) -> (String, Event) {
        let id = self.waits(name).await;
        self.requests
            .decide(&Space::default(), &id, Said::Approve(None), "", "ada")
            .await
            .unwrap();
        (id, self.log(name).await.pop().unwrap())
    }

    async fn decide(&self, id: &str, said: Said) -> Result<&'static str, Refused> {
        self.requests
            .decide(&Space::default(), id, said, "", "ada")
            .await
    }

    async fn tidy(&self, name: &str) {
        self.requests
            .tidy(&Space::default(), &thread(name))
            .await
            .unwrap();
    }

    /// Returns the states of the requests of a thread.
    async fn states(&self, name: &str) -> Vec<RequestState> {
        let rows = self
            .store
            .requests_of(&Space::default(), &thread(name))
            .await
            .unwrap();
        rows.into_iter().map(|row| row.state).collect()
    }

    async fn log(&self, name: &str) -> Vec<Event> {
        let thread = Some(thread(name));
        let show = Show::All;
        let order = Order::Ascending;
        let query = Query {
            thread,
            show,
            order,
            limit: 500,
            ..Query::default()
        };
        self.store.events(&Space::default(), &query).await.unwrap()
    }

    /// Returns the results in a thread: the kind of each failure (empty where it is none), and the
    /// text.
    async fn results(&self, name: &str) -> Vec<(String, String)> {
        let text = |event: &Event, key: &str| {
            event
                .payload
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or("")
                .to_owned()
        };
        let log = self.log(name).await;
        log.iter()
            .filter(|it| it.has("result"))
            .map(|it| (text(it, "kind"), text(it, "text")))
            .collect()
    }
}

fn asks(name: &str, expires: Timestamp) -> Draft {
    let id = id::fresh();
    let question = Question {
        question: &id.to_string(),
        turn: 1,
        call_id: "c1.0.0",
        text: "Which?",
        choices: Vec::new(),
        schema: None,
        who: Vec::new(),
        expires: &expires.to_string(),
        server: None,
        trial: None,
    };
    Fact::Question(question).encode(&thread(name)).with_id(id)
}

fn ended(name: &str) -> Draft {
    let change = Thread {
        status: Some("stopped"),
        reason: Some("enough"),
        ..Thread::default()
    };
    Draft::set_thread(&thread(name), change)
}

fn away(is: bool) -> Draft {
    let change = Change::Setting(SettingValue {
        value: json!(is),
        by: None,
    });
    Draft::set(&ThreadId::default(), Setting::UserAway.as_str(), change)
}

fn words(text: &str) -> Reply {
    Reply {
        text: text.to_owned(),
        value: None,
    }
}

// Whoever was first is the only one, however many look at the same open request at the same moment.
on_both!(of_all_who_settle_a_request_at_once_one_does, |medium| {
    let bench = Bench::on(&medium).await;
    for round in 0..8 {
        let name = format!("t{round}");
        let space = Space::default();
        let id = bench.waits(&name).await;
        let said = || {
            [
                Said::Approve(None),
                Said::Approve(None),
                Said::Reject,
                Said::Respond("no".to_owned()),
            ]
        };
        let decided = join_all(
            said()
                .into_iter()
                .chain(said())
                .map(|said| bench.decide(&id, said)),
        )
        .await;
        assert_eq!(
            decided.iter().filter(|it| it.is_ok()).count(),
            1,
            "{decided:?}"
        );
        assert!(
            decided
                .iter()
                .all(|it| matches!(it, Ok(_) | Err(Refused::Settled(_)))),
            "{decided:?}"
        );
        let verdicts = bench
            .log(&name)
            .await
            .iter()
            .filter(|it| it.has("approval") && !it.has("pending"))
            .count();
        assert_eq!(verdicts, 1, "round {round}");
        let name = format!("q{round}");
        let id = bench.append(vec![asks(&name, in_seconds(60))]).await[0]
            .event_id
            .to_string();
        let answered =
            join_all((0..6).map(|_| bench.requests.answer(&space, &id, words("red"), None))).await;
        assert_eq!(
            answered.iter().filter(|it| it.is_ok()).count(),
            1,
            "{answered:?}"
        );
        assert_eq!(bench.results(&name).await.len(), 1, "round {round}");
    }
    bench.store.close().await;
});

// A time limit that has passed is one, also while nobody has come to write that down.
on_both!(
    what_is_due_is_open_no_more_although_its_timer_has_not_fired,
    |medium| {
        let bench = Bench::on(&medium).await;
        let call = bench.append(vec![bench.call("a", in_seconds(-1))]).await[0]
            .event_id
            .to_string();
        for said in [
            Said::Approve(None),
            Said::Reject,
            Said::Respond("no".to_owned()),
        ] {
            let refused = bench.decide(&call, said).await;
            assert!(
                matches!(&refused, Err(Refused::Settled(why)) if why.contains("has expired")),
                "{refused:?}"
            );
        }
        let question = bench.append(vec![asks("b", in_seconds(-1))]).await[0]
            .event_id
            .to_string();
        let refused = bench
            .requests
            .answer(&Space::default(), &question, words("red"), None)
            .await;
        assert!(
            matches!(&refused, Err(Refused::Settled(why)) if why.contains("has expired")),
            "{refused:?}"
        );
        assert_eq!(
            bench.states("a").await,
            [RequestState::Approval],
            "its timer has its result to write"
        );
        bench.store.close().await;
    }
);

// Nobody has come yet to withdraw what waits in a thread that has ended: who comes to settle it does that instead.
on_both!(
    what_waits_in_a_thread_that_has_ended_cannot_be_settled,
    |medium| {
        let bench = Bench::on(&medium).await;
        for (name, said) in [
            ("a", Said::Approve(None)),
            ("b", Said::Reject),
            ("c", Said::Respond("no".to_owned())),
        ] {
            let id = bench.waits(name).await;
            bench.append(vec![ended(name)]).await;
            let refused = bench.decide(&id, said).await;
            assert!(
                matches!(&refused, Err(Refused::Settled(why)) if why.contains("withdrawn")),
                "{name}: {refused:?}"
            );
            assert_eq!(bench.states(name).await, []);
        }
        bench.store.close().await;
    }
);

// The thread ends between the look at a request and the verdict: there is no grant behind its end.
on_both!(no_call_is_granted_behind_the_end_of_its_thread, |medium| {
    let bench = Bench::on(&medium).await;
    for round in 0..12 {
        let name = format!("t{round}");
        let id = bench.waits(&name).await;
        let (decided, _) = tokio::join!(
            bench.decide(&id, Said::Approve(None)),
            bench.append(vec![ended(&name)])
        );
        let log = bench.log(&name).await;
        let at = |is: &dyn Fn(&Event) -> bool| log.iter().find(|it| is(it)).map(|it| it.seq);
        let granted = at(&|it| it.has("granted"));
        let end = at(&Event::ends_thread).unwrap();
        assert_eq!(
            granted.is_some(),
            decided.is_ok(),
            "round {round}: {decided:?}"
        );
        assert!(
            granted.is_none_or(|granted| granted < end),
            "round {round}: {granted:?} stands behind {end}"
        );
    }
    bench.store.close().await;
});

// Granted calls that no turn will run any more have a result that says what is known; those that one will run are left alone.
on_both!(
    granted_calls_that_nobody_comes_to_have_one_result,
    |medium| {
        let bench = Bench::on(&medium).await;
        let space = Space::default();
        for (name, has_started, ends) in [
            ("a", false, true),
            ("b", true, true),
            ("c", false, false),
            ("d", true, false),
            ("e", false, false),
        ] {
            let (id, verdict) = bench.granted(name).await;
            if has_started {
                let started = Started {
                    approval: &id,
                    turn: 2,
                    call_id: "c1.0.0",
                    tool: TOOL,
                    verdict: verdict.seq,
                };
                bench
                    .append(vec![Fact::ApprovalStarted(started).encode(&thread(name))])
                    .await;
            }
            bench.tidy(name).await;
            assert_eq!(bench.results(name).await, [], "{name}: a turn is to run it");
            if name == "e" {
                continue;
            }
            let over = Draft::turn_ended(&thread(name), 2, TurnOutcome::Failed, verdict.seq);
            bench
                .append(vec![if ends { ended(name) } else { over }])
                .await;
            let owner = thread(name);
            join_all((0..4).map(|_| bench.requests.tidy(&space, &owner))).await;
            let results = bench.results(name).await;
            let [(kind, text)] = &results[..] else {
                panic!("{name}: not one result: {results:?}")
            };
            assert_eq!(kind == "outcome_unknown", has_started, "{name}: {text}");
            let why = if ends {
                "the thread ended"
            } else {
                "its turn was over"
            };
            assert!(
                text.starts_with(why) && (has_started || text.contains("it was not run")),
                "{name}: {text}"
            );
            assert_eq!(bench.states(name).await, [], "{name}");
        }
        assert_eq!(bench.states("e").await, [RequestState::Granted]);
        bench.store.close().await;
    }
);

// Whoever left it may not have lived to settle it: a start does.
on_both!(a_start_settles_what_nobody_came_to, |medium| {
    let bench = Bench::on(&medium).await;
    bench.waits("a").await;
    bench.append(vec![asks("b", in_seconds(60))]).await;
    let (_, verdict) = bench.granted("c").await;
    bench
        .append(vec![
            ended("a"),
            ended("b"),
            Draft::turn_ended(&thread("c"), 2, TurnOutcome::Failed, verdict.seq),
        ])
        .await;
    bench.waits("open").await;
    let tidying = tokio::spawn(bench.requests.clone().keep_tidy());
    for name in ["a", "b", "c"] {
        polled("the results", async || bench.states(name).await.is_empty()).await;
    }
    bench.requests.all.cancel();
    tidying.await.unwrap();
    assert_eq!(
        bench.states("open").await,
        [RequestState::Approval],
        "what is open stays open"
    );
    // People went, and nobody lived to answer for them.
    bench
        .append(vec![asks("d", in_seconds(60)), away(true)])
        .await;
    let tidying = tokio::spawn(bench.requests.clone().keep_tidy());
    tidying.await.unwrap();
    assert_eq!(
        (bench.states("d").await, bench.states("open").await.len()),
        (vec![], 1)
    );
    bench.store.close().await;
});

// More questions than are looked at together; what waits for a yes is never answered by it.
on_both!(all_open_questions_are_answered_when_people_go, |medium| {
    let bench = Bench::on(&medium).await;
    let space = Space::default();
    bench.waits("call").await;
    bench
        .append(
            (0..520)
                .map(|number| asks(&format!("q{number}"), in_seconds(60)))
                .collect(),
        )
        .await;
    bench.requests.answer_away(&space).await.unwrap();
    let left = async |state| {
        bench
            .store
            .requests(&space, state, 0, 1000)
            .await
            .unwrap()
            .len()
    };
    assert_eq!(
        (
            left(RequestState::Question).await,
            left(RequestState::Approval).await
        ),
        (0, 1)
    );
    bench.store.close().await;
});

// What was asked while people went, or while its thread ended, was too late for whoever settled the rest.
on_both!(
    what_is_asked_too_late_is_settled_behind_its_event,
    |medium| {
        let bench = Bench::on(&medium).await;
        bench
            .append(vec![stored::draft("z", "there", &["state"]), ended("z")])
            .await;
        bench.waits("z").await;
        bench
            .requests
            .answer_if_away(&Space::default(), &thread("z"))
            .await
            .unwrap();
        assert_eq!(bench.states("z").await, []);
        // The same by whoever is told of every event.
        let runtime = Runtime::start(bench.ground.clone(), Kinds::new(&bench.ground).all());
        let tell = bench.ground.waker.on_stored();
        let settled = async |name: &str, event: &Event| {
            tell(&Space::default(), event);
            polled("its result", async || bench.states(name).await.is_empty()).await;
        };
        bench
            .append(vec![stored::draft("a", "there", &["state"]), ended("a")])
            .await;
        let late = bench.append(vec![bench.call("a", in_seconds(60))]).await;
        settled("a", &late[0]).await;
        bench.append(vec![away(true)]).await;
        let late = bench.append(vec![asks("b", in_seconds(60))]).await;
        settled("b", &late[0]).await;
        assert!(bench.log("b").await.iter().any(|it| it.has("away")));
        bench.append(vec![away(false)]).await;
        // A turn that was cancelled, wherever it ran: what waits in its thread is withdrawn.
        bench.waits("c").await;
        bench.append(vec![asks("c", in_seconds(60))]).await;
        let over = bench
            .append(vec![Draft::turn_ended(
                &thread("c"),
                2,
                TurnOutcome::Cancelled,
                0,
            )])
            .await;
        settled("c", &over[0]).await;
        let log = bench.log("c").await;
        let withdrawn: Vec<&Event> = log.iter().filter(|it| it.has("withdrawn")).collect();
        assert!(
            withdrawn.len() == 2 && withdrawn.iter().all(|it| !it.wakes()),
            "nobody is to act on it: {withdrawn:?}"
        );
        // One that failed leaves what is open, and not what it was to run.
        let (_, verdict) = bench.granted("d").await;
        let over = bench
            .append(vec![Draft::turn_ended(
                &thread("d"),
                2,
                TurnOutcome::Failed,
                verdict.seq,
            )])
            .await;
        settled("d", &over[0]).await;
        bench.waits("e").await;
        let over = bench.append(vec![ended("e")]).await;
        settled("e", &over[0]).await;
        runtime.drain(ms(0)).await;
        bench.store.close().await;
    }
);

// Messages that come at once while a question is open: one is its answer, the others are what they say.
on_both!(
    of_messages_at_once_one_is_the_answer_and_none_is_lost,
    |medium| {
        let bench = Bench::on(&medium).await;
        let inbox = Inbox::new(&bench.ground);
        let say = |name: &str, text: &str| {
            let space = Space::default();
            let thread = thread(name);
            let content =
                InputContent::Parts(InputKind::Message, vec![Part::Text(text.to_owned())]);
            inbox.submit(Input {
                policy: None,
                space,
                thread,
                user: None,
                event_id: None,
                content,
                client: FromClient::default(),
            })
        };
        for name in ["idle", "busy"] {
            bench
                .append(vec![stored::draft(name, "there", &["state"])])
                .await;
            if name == "busy" {
                say(name, "hello").await.unwrap();
            }
            bench.append(vec![asks(name, in_seconds(60))]).await;
            let said = join_all((0..5).map(|_| say(name, "red"))).await;
            assert!(said.iter().all(Result::is_ok), "{name}: {said:?}");
            assert_eq!(
                bench.results(name).await.len(),
                1,
                "{name}: one is the answer"
            );
            let log = bench.log(name).await;
            assert_eq!(
                log.iter()
                    .filter(|it| it.has("input") && it.text() == "red")
                    .count(),
                5,
                "{name}"
            );
            assert_eq!(
                log.iter()
                    .filter(|it| it.has("input") && it.has("answer"))
                    .count(),
                1,
                "{name}"
            );
        }
        bench.store.close().await;
    }
);

// What ends a request takes its time limit along: one that is left fires for nothing, again and again.
on_both!(what_is_settled_leaves_no_time_limit_behind, |medium| {
    let bench = Bench::on(&medium).await;
    let space = Space::default();
    let inbox = Inbox::new(&bench.ground);
    for (name, said) in [
        ("a", Said::Approve(None)),
        ("b", Said::Reject),
        ("c", Said::Respond("no".to_owned())),
    ] {
        let id = bench.waits(name).await;
        bench.decide(&id, said).await.unwrap();
    }
    let question = bench.append(vec![asks("d", in_seconds(60))]).await[0]
        .event_id
        .to_string();
    let due = async || {
        bench
            .store
            .due(&space, in_seconds(1000), 10)
            .await
            .unwrap()
            .len()
    };
    assert_eq!(due().await, 1, "control: an open one has its time limit");
    bench
        .requests
        .answer(&space, &question, words("red"), None)
        .await
        .unwrap();
    bench.append(vec![asks("e", in_seconds(60))]).await;
    let content = InputContent::Parts(InputKind::Message, vec![Part::Text("red".to_owned())]);
    inbox
        .submit(Input {
            policy: None,
            space: space.clone(),
            thread: thread("e"),
            user: None,
            event_id: None,
            content,
            client: FromClient::default(),
        })
        .await
        .unwrap();
    assert_eq!((bench.states("e").await, due().await), (vec![], 0));
    bench.store.close().await;
});

// What waits in one space is nothing in another, whoever knows its id.
on_both!(requests_are_of_one_space, |medium| {
    let bench = Bench::on(&medium).await;
    let theirs = Space::parse("theirs").unwrap();
    let id = bench.waits("a").await;
    let decided = bench
        .requests
        .decide(&theirs, &id, Said::Reject, "", "eve")
        .await;
    assert!(matches!(decided, Err(Refused::NotFound(_))), "{decided:?}");
    let answered = bench
        .requests
        .answer(&theirs, &id, words("red"), None)
        .await;
    assert!(
        matches!(answered, Err(Refused::NotFound(_))),
        "{answered:?}"
    );
    assert_eq!(bench.store.request(&theirs, &id).await.unwrap(), None);
    assert_eq!(
        bench
            .store
            .requests(&theirs, RequestState::Approval, 0, 10)
            .await
            .unwrap(),
        []
    );
    // What is no question is none here, either.
    let answered = bench
        .requests
        .answer(&Space::default(), &id, words("red"), None)
        .await;
    assert!(
        matches!(answered, Err(Refused::NotFound(_))),
        "{answered:?}"
    );
    assert_eq!(bench.states("a").await, [RequestState::Approval]);
    bench.store.close().await;
});
