//! The commands beside serving: chat, events, healthcheck, rebuild, the contracts. The real program against a real server.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use kit::command::*;
use kit::*;

#[tokio::test]
async fn a_chat_through_a_pipe_prints_a_reply_a_line_and_ends() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .voices(&["owl"])
        .start()
        .await;
    let said = ended(
        &mut thinkd(&app, &["chat", "--user", "ann"]),
        "one\n\ntwo\nthree",
    )
    .await;
    assert_eq!(out(&said), "ok: one\nok: two\nok: three\n");
    let log = app.public_log().await;
    let inputs = with(&log, &["input"]);
    assert!(
        inputs.iter().all(|input| input["payload"]["user"] == "ann"),
        "{}",
        story(&log)
    );
    // What it thinks is said beside: the replies alone are the output.
    let said = ended(
        &mut thinkd(&app, &["chat", "--thoughts", "--thread", "side"]),
        "four",
    )
    .await;
    assert_eq!(out(&said), "ok: four\n");
    assert!(err(&said).contains("owl: owl: noted."), "{}", err(&said));
}

#[tokio::test]
async fn a_chat_shows_nothing_of_other_threads_and_nothing_twice_however_late_it_subscribes() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    let (relay, held) = holding_relay(app.address.clone()).await;
    let mut chat = thinkd(&app, &["chat", "--thread", "side"]);
    let said = tokio::spawn(async move {
        let chat = chat.env("THINKD_URL", format!("http://{relay}"));
        ended(chat, "four").await
    });
    let release = within("the chat's subscription", held).await.unwrap();
    app.tell_in("main", "not yours").await;
    app.tell_in("side", "yours").await;
    release.send(()).unwrap();
    assert_eq!(
        out(&within("the chat", said).await.unwrap()),
        "ok: yours\nok: four\n"
    );
}

/// Passes one connection on, and holds back everything that the client sends after the server's
/// hello until it is released.
async fn holding_relay(to: String) -> (String, oneshot::Receiver<oneshot::Sender<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (holds, held) = oneshot::channel();
    let (release, released) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let (client, _) = listener.accept().await.unwrap();
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = TcpStream::connect(to).await.unwrap().into_split();
        let (greeted, mut hello) = oneshot::channel();
        tokio::spawn(async move {
            let mut all = Vec::new();
            let mut piece = [0; 4096];
            let mut greeted = Some(greeted);
            while let Ok(length @ 1..) = from_server.read(&mut piece).await {
                all.extend_from_slice(&piece[..length]);
                to_client.write_all(&piece[..length]).await.unwrap();
                if String::from_utf8_lossy(&all).contains("\"hello\"") {
                    greeted.take().map(|greeted| greeted.send(()));
                }
            }
        });
        let mut piece = [0; 4096];
        let mut gate = Some((holds, release, released));
        while let Ok(length @ 1..) = from_client.read(&mut piece).await {
            if hello.try_recv().is_ok() {
                let (holds, release, released) = gate.take().expect("there is one hello");
                holds.send(release).unwrap();
                released.await.unwrap();
            }
            to_server.write_all(&piece[..length]).await.unwrap();
        }
    });
    (address, held)
}

#[tokio::test]
async fn a_chat_through_a_pipe_says_when_something_was_not_answered() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    stub.on(decision, status(400));
    let said = ended(&mut thinkd(&app, &["chat"]), "one").await;
    assert_eq!(said.status.code(), Some(1));
    assert!(err(&said).contains("failure"), "{}", err(&said));
}

// What fails on the way to an answer is said, and is no failure of the chat.
#[tokio::test]
async fn a_chat_through_a_pipe_succeeds_when_all_was_answered_in_the_end() {
    let stub = Stub::start().await;
    stub.script(decision, [call("state_get", json!({ "kee": 1 }))]);
    let app = App::start(Medium::sqlite(), &stub).await;
    let said = ended(&mut thinkd(&app, &["chat"]), "one").await;
    assert_eq!(out(&said), "ok: one\n");
    assert!(err(&said).contains("state_get"), "{}", err(&said));
}

#[tokio::test]
async fn a_chat_writes_out_control_characters() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    stub.on(
        decision,
        reply("red \u{1b}[31m\u{7}\u{202e} and\ntwo lines"),
    );
    let said = ended(&mut thinkd(&app, &["chat"]), "one").await;
    assert_eq!(
        out(&said),
        "red \\u{1b}[31m\\u{7}\\u{202e} and\ntwo lines\n"
    );
    let listed = out(&ended(&mut thinkd(&app, &["events"]), "").await);
    assert!(
        listed.contains("red \\u{1b}[31m\\u{7}\\u{202e} and\\ntwo lines"),
        "{listed}"
    );
}

#[tokio::test]
async fn a_chat_authenticates_and_says_when_it_may_not() {
    let stub = Stub::start().await;
    let mut app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TOKEN", "a-good-long-token")
        .start_bare()
        .await;
    app.authorize("Bearer a-good-long-token");
    for arguments in [
        &["chat", "--token", "a-good-long-token"][..],
        &["chat", "--token", "a-good-long-token", "--user", "ann"],
    ] {
        assert_eq!(
            out(&ended(&mut thinkd(&app, arguments), "one").await),
            "ok: one\n",
            "{arguments:?}"
        );
    }
    let by_environment = ended(
        thinkd(&app, &["chat"]).env("THINKD_TOKEN", "a-good-long-token"),
        "one",
    )
    .await;
    assert_eq!(out(&by_environment), "ok: one\n");
    for arguments in [
        &["chat"][..],
        &["chat", "--token", "wrong"],
        &["chat", "--token", "wrong", "--user", "ann"],
        &["events", "--token", "wrong"],
    ] {
        let refused = ended(&mut thinkd(&app, arguments), "one").await;
        assert_eq!(refused.status.code(), Some(1), "{arguments:?}");
        let said = err(&refused);
        assert!(
            said.contains("401") && said.contains("token") && said.contains("THINKD_TOKEN"),
            "{arguments:?}: {said}"
        );
        assert!(!said.contains("no thinkd answers"), "{arguments:?}: {said}");
    }
}

// Nothing is promised before the server has answered.
#[tokio::test]
async fn a_chat_that_cannot_connect_shows_nothing_but_why() {
    if !has_script() {
        return;
    }
    let stub = Stub::start().await;
    let mut app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TOKEN", "a-good-long-token")
        .start_bare()
        .await;
    app.authorize("Bearer a-good-long-token");
    for (arguments, why) in [
        ("--token wrong", "the token is wrong"),
        ("--token wrong --user ann", "the token is wrong"),
        ("", "wants a token"),
        ("--url http://127.0.0.1:9", "no thinkd answers"),
    ] {
        let mut typist = Typist::sit_down(&app, arguments);
        let before = typist.sees(why).await;
        assert!(
            !before.contains("/help") && !before.contains("> "),
            "{arguments}: {before:?}"
        );
        assert_eq!(
            within("its end", typist.child.wait()).await.unwrap().code(),
            Some(1)
        );
    }
    let mut typist = Typist::sit_down(&app, "--token a-good-long-token");
    assert!(
        typist.sees("> ").await.contains("/help"),
        "control: a header where there is a connection"
    );
}

const MARKDOWN: &str = "# The *plan*\n\nSome **bold** words and `code`, and so many more words that they need several rows.\n\n\
    1. first\n2. second, which goes on and on and on until it needs a row of its own\n   - inner\n\n> quoted\n\n\
    ```sh\nls   -l\n```\n\n[a link](http://example.org) &#27;[31m";

#[tokio::test]
async fn a_chat_opens_with_what_was_said_wrapped_and_rendered() {
    if !has_script() {
        return;
    }
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    for n in 0..5 {
        app.tell(&format!("earlier {n}")).await;
    }
    stub.on(decision, reply(MARKDOWN));
    app.tell(
        "what is the plan, dear mind, in a few words that are long enough to need another row?",
    )
    .await;
    let mut typist = Typist::sit_down_in(&app, "stty cols 40 rows 30; NO_COLOR=1", "");
    let seen = typist.sees("\\u{1b}[31m").await;
    let seen = plain(&seen);
    let opening = [
        "user: what is the plan, dear mind, in a",
        "  few words that are long enough to",
        "  need another row?",
        "agent: The plan",
        "",
        "  Some bold words and code, and so many",
        "  more words that they need several",
        "  rows.",
        "",
        "  1. first",
        "  2. second, which goes on and on and",
        "     on until it needs a row of its own",
        "     • inner",
        "",
        "  │ quoted",
        "",
        "      sh",
        "      ls   -l",
        "",
        "  a link (http://example.org)",
    ];
    assert!(seen.contains(&opening.join("\n")), "{seen}");
    assert!(
        seen.contains("earlier 4") && !seen.contains("earlier 2"),
        "the last exchanges: {seen}"
    );
    // In colours where they are wanted: the same words.
    let mut typist = Typist::sit_down_in(&app, "stty cols 40 rows 30;", "");
    let seen = typist.sees("\\u{1b}[31m").await;
    assert!(
        seen.contains("\u{1b}[1mbold\u{1b}[0m") && seen.contains("\u{1b}[36mcode\u{1b}[0m"),
        "{seen:?}"
    );
    assert!(plain(&seen).contains(&opening.join("\n")), "{seen}");
    typist.types("/history 12\r").await;
    typist.sees("earlier 1").await;
    typist.types("/quit\r").await;
    assert!(
        within("the end of the chat", typist.child.wait())
            .await
            .unwrap()
            .success()
    );
}

#[tokio::test]
async fn a_chat_says_who_has_spoken_while_the_mind_thinks_and_why_it_said_what_it_said() {
    if !has_script() {
        return;
    }
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(decision, [reply("Here I am, at last.").held(&gate)]);
    let app = Setup::new(Medium::sqlite(), &stub)
        .voices(&["owl", "cat"])
        .start()
        .await;
    let mut typist = Typist::sit_down_in(&app, "stty cols 60 rows 30; NO_COLOR=1", "");
    let mut socket = app.socket().await;
    typist.sees("> ").await;
    typist.types("hello\r").await;
    typist.sees("thinking… ").await;
    let first = typist.seconds(" have spoken, ").await;
    // A second may be drawn twice, and a slow machine skips one.
    while typist.seconds(" have spoken, ").await <= first {}
    gate.open();
    typist.sees("agent: ").await;
    typist.sees("at last.").await;
    socket.turn_ended().await;
    typist.types("/voices\r").await;
    typist
        .sees("  owl: You are the voice owl. Say what owl has to say.")
        .await;
    typist.types("/why\r").await;
    typist.sees("system: ").await;
    typist.sees("user: hello").await;
    typist.sees("voice owl: owl: noted.").await;
    typist.sees("stub saw this, with the tools ").await;
    let after = typist.sees("> ").await;
    assert!(!after.contains("thinking"), "{after:?}");
}

// A call and what came of it are one line; each event has its place in one.
#[tokio::test]
async fn a_call_and_its_result_are_one_line_of_the_log() {
    let stub = Stub::start().await;
    let gate = Gate::new();
    let look = || call("state_get", json!({ "key": "name" }));
    stub.script(
        decision,
        [
            look(),
            reply("one"),
            look().saying("Once more."),
            reply("two").held(&gate),
        ],
    );
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TURN__FOLLOW_UP", false)
        .start()
        .await;
    app.tell("hello").await;
    let listed = out(&ended(&mut thinkd(&app, &["events", "--all"]), "").await);
    let lines = Vec::from_iter(listed.lines());
    let found = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    assert_eq!(found(" ⇒ "), 1, "{listed}");
    assert_eq!(
        found("decision → state_get: {\"key\":\"name\"} ⇒ "),
        1,
        "{listed}"
    );
    assert_eq!(
        (found("reply: one"), found("{\"text\"")),
        (1, 0),
        "{listed}"
    );
    let is_short = |line: &&&str| {
        line.as_bytes()[2] == b':' && line.as_bytes()[5] == b':' && line.as_bytes()[8] == b' '
    };
    assert_eq!(
        lines.iter().filter(is_short).count(),
        lines.len(),
        "a day's times are short: {listed}"
    );
    assert!(
        !listed.contains('\u{1b}'),
        "no colours through a pipe: {listed}"
    );
    // A call alone, and one whose result is not asked for, have lines of their own.
    let calls = out(&ended(&mut thinkd(&app, &["events", "--tags", "action"]), "").await);
    assert_eq!(calls.lines().count(), 2, "{calls}");
    // Followed live: the same.
    let mut child = thinkd(&app, &["events", "--all", "--follow", "-n", "1"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    within("a line", lines.next_line()).await.unwrap();
    let mut socket = app.socket().await;
    socket.say("again").await;
    within("the call and its result", async {
        while !lines
            .next_line()
            .await
            .unwrap()
            .unwrap()
            .contains("decision → state_get: {\"key\":\"name\"} ⇒ ")
        {}
    })
    .await;
    gate.open();
    within("the reply", async {
        while !lines
            .next_line()
            .await
            .unwrap()
            .unwrap()
            .ends_with("reply: two")
        {}
    })
    .await;
}

#[tokio::test]
async fn the_log_is_coloured_on_a_terminal_that_wants_it() {
    if !has_script() {
        return;
    }
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    app.tell("hello").await;
    for (environment, coloured) in [("", true), ("NO_COLOR=1", false)] {
        let line = format!("{environment} {} events", kit::program());
        let shown = ended(
            client(&app, "script", &["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh"),
            "",
        )
        .await;
        assert!(
            plain(&out(&shown)).contains("reply: ok: hello"),
            "{}",
            out(&shown)
        );
        assert_eq!(out(&shown).contains('\u{1b}'), coloured, "{}", out(&shown));
    }
}

#[tokio::test]
async fn a_chat_in_a_terminal_streams_above_the_line_that_is_being_typed() {
    if !has_script() {
        return;
    }
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(
        decision,
        [reply("The first half, and the second half.").paused(6, &gate)],
    );
    let mut app = Setup::new(Medium::sqlite(), &stub)
        .voices(&["owl"])
        .start()
        .await;
    // The same address when it comes back.
    let address = app.address.clone();
    app.set_env("THINKD_LISTEN", &address);
    let mut typist = Typist::sit_down_in(&app, "NO_COLOR=1", "");
    typist.sees("> ").await;
    typist.types("hello\r").await;
    typist.sees("T").await;
    typist.types("half typed").await;
    typist.sees("half typed").await;
    gate.open();
    typist.sees("second half.").await;
    // The line is drawn again, whole, below what grew.
    typist.sees("half typed").await;
    typist.types("\u{15}/thoughts\r").await;
    typist.sees("(remarks are shown)").await;
    typist.types("again\r").await;
    typist.sees("owl: owl: noted.").await;
    typist.sees("ok: again").await;
    // A lost connection is told, and found again; what was said meanwhile is said then.
    app.kill();
    typist.sees("(connection lost").await;
    typist.types("meanwhile\r").await;
    app.start_again().await;
    typist.sees("(connected again)").await;
    typist.sees("ok: meanwhile").await;
    typist.types("/nonsense\r").await;
    typist.sees("/nonsense is not known here").await;
    typist.types("/quit\r").await;
    let status = within("the end of the chat", typist.child.wait())
        .await
        .unwrap();
    assert!(status.success());
    let log = app.public_log().await;
    assert_eq!(
        with(&log, &["input"]).len(),
        3,
        "each thing is said once: {}",
        story(&log)
    );
}

// Lines that come faster than they are read, as a paste does in a terminal that does not say that it is one.
#[tokio::test]
async fn a_chat_steers_the_turn_that_runs() {
    if !has_script() {
        return;
    }
    let stub = Stub::start().await;
    let gate = Gate::new();
    let looks = call("state_get", json!({ "key": "nothing" })).held(&gate);
    stub.script(decision, [looks, reply("Both."), reply("On.")]);
    let app = Setup::new(Medium::sqlite(), &stub)
        .voices(&[])
        .start()
        .await;
    let mut typist = Typist::sit_down_in(&app, "NO_COLOR=1", "");
    typist.sees("> ").await;
    typist.types("/help\r").await;
    typist.sees("/steer TEXT").await;
    typist.types("/steer\r").await;
    typist.sees("(/steer takes the words)").await;
    typist.types("one\r").await;
    stub.request(decision).await;
    typist.types("/steer two\r").await;
    within("the second message", async {
        while with(&app.public_log().await, &["input"]).len() < 2 {
            tokio::time::sleep(ms(10)).await;
        }
    })
    .await;
    gate.open();
    typist.sees("Both.").await;
    assert!(stub.nth(1, decision).await.says("two"));
    // Where no turn runs it is a message like any other.
    typist.types("/steer three\r").await;
    typist.sees("On.").await;
    typist.types("/quit\r").await;
    let ended = within("the end of the chat", typist.child.wait()).await;
    assert!(ended.unwrap().success());
    let log = app.public_log().await;
    assert_eq!(with(&log, &["turn", "steered"]).len(), 1, "{}", story(&log));
    assert_eq!(with(&log, &["input"]).len(), 3, "{}", story(&log));
}

#[tokio::test]
async fn lines_pasted_into_a_chat_are_all_said() {
    if !has_script() {
        return;
    }
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    let mut typist = Typist::sit_down(&app, "");
    typist.sees("> ").await;
    let lines: Vec<String> = (0..60)
        .map(|n| format!("line {n} of what was copied elsewhere"))
        .collect();
    // Three breaths: some of it finds the editor reading, some the terminal as it was.
    for part in lines.chunks(20) {
        typist.types(&(part.join("\r") + "\r")).await;
        // A breath is time.
        tokio::time::sleep(ms(30)).await;
    }
    let inputs = async || {
        let log = app.public_log().await;
        with(&log, &["input"])
            .into_iter()
            .map(|event| said(event).to_owned())
            .collect::<Vec<_>>()
    };
    app.until("every line", async || inputs().await.len() >= lines.len())
        .await;
    assert_eq!(inputs().await, lines, "each once, in order");
    typist.types("/quit\r").await;
    assert!(
        within("the end of the chat", typist.child.wait())
            .await
            .unwrap()
            .success()
    );
}

// D4.11 D4.26: the list, rendered as lines, says who said what, in which order.
#[tokio::test]
async fn d4_11_the_log_reads_as_lines() {
    let stub = Stub::start().await;
    // Without follow-ups the log is at rest once the reply is there: it is read several times below, and compared.
    let setup = Setup::new(Medium::sqlite(), &stub)
        .voices(&["owl"])
        .env("THINKD_TURN__FOLLOW_UP", false);
    let app = setup.start().await;
    app.tell("hello").await;
    let talk = out(&ended(&mut thinkd(&app, &["events"]), "").await);
    let said = ["user: hello", "reply: ok: hello"].map(|words| talk.contains(words));
    assert_eq!((talk.lines().count(), said), (2, [true; 2]), "{talk}");
    let all = ["events", "--limit", "500", "--all"];
    let listed = out(&ended(&mut thinkd(&app, &all), "").await);
    let position = |what: &str| {
        let found = listed.lines().position(|line| line.contains(what));
        found.unwrap_or_else(|| panic!("{what:?} is not in\n{listed}"))
    };
    let steps = [
        "main user: hello",
        "turn 1 started",
        "owl: owl: noted.",
        "reply: ok: hello",
        "turn 1 ended: done",
    ];
    assert!(steps.map(position).is_sorted(), "{listed}");
    let calls = with(&app.public_log().await, &["action"]).len();
    assert_eq!(
        listed.lines().count() + calls,
        app.public_log().await.len(),
        "one line an event, none for a call: {listed}"
    );
    assert!(!listed.contains("asked the model"));
    let all = out(&ended(
        &mut thinkd(&app, &["events", "--limit", "500", "--debug"]),
        "",
    )
    .await);
    assert!(all.contains("decision asked the model"), "{all}");
    assert_eq!(all.lines().count() + calls, app.log().await.len());
    // As JSON it is the log itself.
    let json = out(&ended(
        &mut thinkd(&app, &["events", "--limit", "500", "--json"]),
        "",
    )
    .await);
    let events: Vec<Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events, app.public_log().await);
    // Filters are the server's.
    let inputs = out(&ended(
        &mut thinkd(&app, &["events", "--tags", "input,response"]),
        "",
    )
    .await);
    assert_eq!(inputs.lines().count(), 2, "{inputs}");
    let newest = out(&ended(
        &mut thinkd(&app, &["events", "-n", "1", "--tags", "response"]),
        "",
    )
    .await);
    assert!(newest.contains("reply: ok: hello"), "{newest}");
    let refused = ended(&mut thinkd(&app, &["events", "--thread", "No Thread"]), "").await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("400"), "{}", err(&refused));
}

// D4.26
#[tokio::test]
async fn d4_26_events_follow_shows_what_comes_and_goes_on_over_a_restart() {
    let stub = Stub::start().await;
    let mut app = App::start(Medium::sqlite(), &stub).await;
    let address = app.address.clone();
    app.set_env("THINKD_LISTEN", &address);
    app.tell("before").await;
    let mut child = thinkd(&app, &["events", "--follow", "--tags", "input,response"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async || within("a line", lines.next_line()).await.unwrap().unwrap();
    assert!(next().await.ends_with("user: before"));
    assert!(next().await.ends_with("reply: ok: before"));
    app.tell("during").await;
    assert!(next().await.ends_with("user: during"));
    assert!(next().await.ends_with("reply: ok: during"));
    app.restart().await;
    app.tell("after").await;
    assert!(next().await.ends_with("user: after"));
    assert!(next().await.ends_with("reply: ok: after"));
}

// A server that stops refuses streams until it is gone: that ends nothing.
#[tokio::test]
async fn events_follow_asks_again_where_a_server_that_stops_refuses() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let refused = ("503 Service Unavailable", "");
    let asked = tokio::spawn(async move {
        for (status, body) in [("200 OK", "{\"items\":[],\"next\":null}"), refused, refused] {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream
                .write_all(format!("{head}{body}").as_bytes())
                .await
                .unwrap();
        }
    });
    let _child = thinkd(&app, &["events", "--follow", "--url", &url])
        .spawn()
        .unwrap();
    within("another try", asked).await.unwrap();
}

#[tokio::test]
async fn healthcheck_says_whether_the_configured_server_is_ready() {
    let stub = Stub::start().await;
    let mut app = App::start(Medium::sqlite(), &stub).await;
    let address = app.address.clone();
    let healthy = ended(
        thinkd(&app, &["healthcheck"]).env("THINKD_LISTEN", &address),
        "",
    )
    .await;
    assert_eq!(healthy.status.code(), Some(0), "{}", err(&healthy));
    app.kill();
    let gone = ended(
        thinkd(&app, &["healthcheck"]).env("THINKD_LISTEN", &address),
        "",
    )
    .await;
    assert_eq!(gone.status.code(), Some(1));
    assert!(err(&gone).contains("nothing listens"), "{}", err(&gone));
}

#[tokio::test]
async fn a_first_start_says_where_it_is_what_it_uses_and_how_to_say_hello() {
    let app = Setup::offline(Medium::sqlite()).start_bare().await;
    let said = app.output();
    for word in [
        &format!("listens on http://{}", app.address),
        app.database(),
        "offline model",
        " chat --url http://",
    ] {
        assert!(said.contains(word), "{word:?} is not in {said}");
    }
    // The one command works, and the offline model answers and says what it is.
    let answer = out(&ended(&mut thinkd(&app, &["chat"]), "hello").await);
    assert!(answer.contains("offline"), "{answer}");
}

#[tokio::test]
async fn a_server_on_all_addresses_says_so_and_where_it_is_to_be_found_from_here() {
    let setup = Setup::offline(Medium::sqlite())
        .env("THINKD_LISTEN", "0.0.0.0:0")
        .env("THINKD_TOKEN", "a-long-enough-token");
    let app = setup.start_bare().await;
    let port = app.address.rsplit(':').next().unwrap();
    let said = app.output();
    for words in [
        &format!("listens on http://0.0.0.0:{port}"),
        "every address",
        &format!("http://127.0.0.1:{port}"),
    ] {
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
    assert!(
        said.contains(&format!("chat --url http://127.0.0.1:{port}")),
        "{said}"
    );
}

#[tokio::test]
async fn no_secret_is_logged_however_much_is() {
    let stub = Stub::start().await;
    let setup = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_LOG__LEVEL", "trace")
        .env("THINKD_LOG__FORMAT", "json");
    let setup = setup
        .env("OPENAI_API_KEY", "canary-api-key")
        .env("THINKD_TOKEN", "canary-token-long");
    let mut app = setup.start_bare().await;
    app.authorize("Bearer canary-token-long");
    app.tell("hello").await;
    stub.on(any, status(401));
    app.post("/threads/main/messages?wait=15", json!({ "text": "again" }))
        .await;
    app.authorize("Bearer canary-token-wrong");
    app.get("/events")
        .await
        .expect_problem(401, "unauthenticated");
    assert_eq!(app.stop().await.code(), Some(0));
    let said = app.output();
    assert!(said.lines().count() > 5, "it was to be talkative: {said}");
    for line in said.lines() {
        assert!(
            !line.contains("canary-api-key") && !line.contains("canary-token-long"),
            "{line}"
        );
        let parsed: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(parsed["level"].is_string());
    }
}

#[tokio::test]
async fn a_signal_ends_the_server_in_order_with_exit_code_0() {
    let stub = Stub::start().await;
    let mut app = App::start(Medium::sqlite(), &stub).await;
    let mut socket = app.socket().await;
    app.terminate();
    assert_eq!(socket.closed().await, Some(1001));
    assert_eq!(app.ended().await.code(), Some(0));
}

#[tokio::test]
async fn a_database_that_is_in_use_is_left_alone() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    for arguments in [&["serve"][..], &["rebuild"], &["rebuild", "--check"]] {
        let mut command = thinkd(&app, arguments);
        let refused = ended(
            command
                .env("DATABASE_URL", app.database())
                .env("THINKD_LISTEN", "127.0.0.1:0"),
            "",
        )
        .await;
        assert_eq!(refused.status.code(), Some(1), "{arguments:?}");
        assert!(
            err(&refused).contains("another thinkd has this database open"),
            "{arguments:?}: {}",
            err(&refused)
        );
        assert!(
            err(&refused).contains("stop that one, or give this one another database"),
            "{}",
            err(&refused)
        );
    }
    app.tell("still there").await;
}

// A check that makes its subject passes on any database that is misspelt.
#[tokio::test]
async fn a_rebuild_of_no_database_says_so_and_makes_none() {
    let folder = Medium::sqlite();
    for arguments in [&["rebuild", "--check"][..], &["rebuild"]] {
        let url = [("DATABASE_URL", "sqlite://nothere.db")];
        let (code, said) = kit::app::ran(folder.folder(), &url, arguments).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("there is no database nothere.db"), "{said}");
    }
    let left = std::fs::read_dir(folder.folder()).unwrap().count();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_thread_that_is_none_and_a_number_or_time_that_is_none_are_said() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    app.tell("hello").await;
    for (arguments, code, says) in [
        (&["events", "--thread", "nope"][..], 1, "nope"),
        (&["inbox", "--thread", "nope"], 1, "nope"),
        (
            &["events", "--tags", "nosuch"],
            0,
            "no such event is in the log",
        ),
        (&["events", "-n", "x"], 2, "a whole number is expected"),
        (
            &["recall", "--at", "yesterday", "owls"],
            2,
            "such as 2026-12-01T09:00:00+01:00",
        ),
    ] {
        let ran = ended(&mut thinkd(&app, arguments), "").await;
        assert_eq!(
            ran.status.code(),
            Some(code),
            "{arguments:?}: {}",
            err(&ran)
        );
        assert!(err(&ran).contains(says), "{arguments:?}: {}", err(&ran));
    }
    let shown = ended(&mut thinkd(&app, &["events", "--thread", "main"]), "").await;
    assert!(out(&shown).contains("hello"), "control");
}

// D4.23
on_both!(rebuild_finds_rows_as_the_log_says, |medium| {
    let stub = Stub::start().await;
    let mut app = Setup::new(medium, &stub)
        .voices(&["owl", "cat"])
        .start()
        .await;
    app.tell("hello").await;
    app.conversation(json!({ "label": "side" })).await;
    app.delete("/submodules/cat").await.expect(204);
    assert_eq!(app.stop().await.code(), Some(0));
    let database = app.database().to_owned();
    let checked = ended(
        thinkd(&app, &["rebuild", "--check"]).env("DATABASE_URL", &database),
        "",
    )
    .await;
    assert!(
        out(&checked).contains("everything was what the log says"),
        "{}",
        out(&checked)
    );
    let rebuilt = ended(
        thinkd(&app, &["rebuild"]).env("DATABASE_URL", &database),
        "",
    )
    .await;
    assert!(out(&rebuilt).contains("events read"));
    app.start_again().await;
    let listed = app.get("/submodules").await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    app.tell("and goes on").await;
});

// D4.23
on_both!(
    d4_23_a_backup_is_the_log_and_a_restored_one_has_a_new_epoch,
    |medium| {
        let stub = Stub::start().await;
        let mut app = App::start(medium, &stub).await;
        app.tell("hello").await;
        let log = app.log().await;
        let mut socket = app.raw_socket().await;
        let epoch = socket.of_type("hello").await["epoch"].clone();
        // While the server runs.
        let file = app.folder().join("log.backup");
        let file = file.to_str().unwrap();
        let database = app.database().to_owned();
        let made = ended(
            thinkd(&app, &["backup", file]).env("DATABASE_URL", &database),
            "",
        )
        .await;
        assert!(
            out(&made).contains(&format!("{} events copied", log.len())),
            "{}",
            out(&made)
        );
        let again = ended(
            thinkd(&app, &["backup", file]).env("DATABASE_URL", &database),
            "",
        )
        .await;
        assert_eq!(again.status.code(), Some(1), "a backup is not overwritten");
        let full = ended(
            thinkd(&app, &["restore", file]).env("DATABASE_URL", &database),
            "",
        )
        .await;
        assert_eq!(full.status.code(), Some(1), "a database is not overwritten");
        assert_eq!(app.stop().await.code(), Some(0));
        // A backup of either database makes a new one of the other kind, too.
        let restored = format!("sqlite://{}/restored.db", app.folder().display());
        let made = ended(
            thinkd(&app, &["restore", file]).env("DATABASE_URL", &restored),
            "",
        )
        .await;
        assert!(
            out(&made).contains(&format!("{} events restored", log.len())),
            "{}",
            out(&made)
        );
        app.set_env("DATABASE_URL", &restored);
        app.start_again().await;
        assert_eq!(app.log().await, log);
        let mut socket = app.raw_socket().await;
        assert_ne!(socket.of_type("hello").await["epoch"], epoch);
        app.tell("and goes on").await;
    }
);

#[tokio::test]
async fn d4_01_the_contracts_can_be_printed_without_a_server() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    let openapi: Value =
        serde_json::from_str(&out(&ended(&mut thinkd(&app, &["openapi"]), "").await)).unwrap();
    assert_eq!(openapi, app.get("/openapi.json").await.expect(200));
    let asyncapi = out(&ended(&mut thinkd(&app, &["asyncapi"]), "").await);
    assert!(asyncapi.starts_with("asyncapi: 3.1"), "{asyncapi}");
}

#[tokio::test]
async fn a_refusal_is_one_sentence_and_one_remedy() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TOKEN", "right")
        .start_bare()
        .await;
    let commands: [&[&str]; 5] = [
        &["chat"],
        &["events"],
        &["events", "--follow"],
        &["inbox"],
        &["recall", "owls"],
    ];
    let ways: [(&[&str], &str); 3] = [
        (
            &[],
            "wants a token (401): give it with --token, or in THINKD_TOKEN\n",
        ),
        (
            &["--token", "wrong"],
            "refused it (401). Give the right one with --token, or in THINKD_TOKEN\n",
        ),
        (
            &["--url", "http://127.0.0.1:9"],
            "thinkd: no thinkd answers at http://127.0.0.1:9 (Connection refused): start one with `thinkd`, or name \
             another with --url\n",
        ),
    ];
    for command in commands {
        for (way, words) in ways {
            let arguments = [command, way].concat();
            let mut refused = thinkd(&app, &arguments);
            let refused = ended(refused.env_remove("THINKD_TOKEN"), "").await;
            assert_eq!(refused.status.code(), Some(1), "{arguments:?}");
            let said = err(&refused);
            assert!(said.ends_with(words), "{arguments:?}: {said}");
            assert!(!said.contains("redentials"), "{arguments:?}: {said}");
            assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        }
    }
}

#[tokio::test]
async fn help_is_a_command_as_well_as_a_flag() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    for (command, flag) in [
        (&["help"][..], &["--help"][..]),
        (&["help", "mission"], &["mission", "--help"]),
    ] {
        let [command, flag] = [
            ended(&mut thinkd(&app, command), "").await,
            ended(&mut thinkd(&app, flag), "").await,
        ];
        assert_eq!(out(&command), out(&flag));
    }
}

// What it prints is what the server would start with: what that refuses is refused here, too, and by the doctor.
#[tokio::test]
async fn a_configuration_that_the_server_refuses_is_printed_and_refused() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    for (name, value, why) in [
        (
            "THINKD_LIMITS__JSON_DEPTH",
            "200",
            "limits.json_depth has to be 100 or less",
        ),
        ("THINKD_TOOLS__CONVERSATION", "nope", "nope"),
        ("THINKD_PROMPTS", "nowhere", "nowhere"),
    ] {
        let mut said = Vec::new();
        for command in ["config", "serve", "doctor"] {
            let mut command = thinkd(&app, &[command]);
            said.push(
                ended(
                    command.env(name, value).env("THINKD_LISTEN", "127.0.0.1:0"),
                    "",
                )
                .await,
            );
        }
        let [config, serve, doctor] = &said[..] else {
            unreachable!()
        };
        assert_eq!(
            (config.status.code(), serve.status.code()),
            (Some(2), Some(2)),
            "{name}: {}",
            err(serve)
        );
        assert!(
            err(config).contains(why) && err(serve).contains(why),
            "{}{}",
            err(config),
            err(serve)
        );
        assert!(
            String::from_utf8_lossy(&config.stdout).contains("[limits]"),
            "it is printed all the same"
        );
        assert!(!doctor.status.success() && String::from_utf8_lossy(&doctor.stdout).contains(why));
    }
}

// What models and users wrote steers no terminal, as JSON neither; and it is the same JSON as for a program.
#[tokio::test]
async fn json_on_a_terminal_steers_it_not() {
    if !has_script() {
        return;
    }
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    let text = "\u{9b}31mred\u{85} \u{202e}back\u{2028}\u{7f} é語🦉";
    app.post("/threads/main/messages?wait=15", json!({ "text": text }))
        .await
        .expect(200);
    let arguments = ["events", "--limit", "500", "--json"];
    let plain = out(&ended(&mut thinkd(&app, &arguments), "").await);
    assert!(plain.contains("\u{9b}31m"), "{plain}");
    let line = format!("{} {}", kit::program(), arguments.join(" "));
    let mut script = client(&app, "script", &["-qec", &line, "/dev/null"]);
    let shown = out(&ended(script.env("SHELL", "/bin/sh"), "").await);
    let odd = |c: &char| c.is_control() && !"\r\n".contains(*c) || "\u{202e}\u{2028}".contains(*c);
    assert!(!shown.chars().any(|c| odd(&c)), "{shown:?}");
    assert!(
        shown.contains("\\u009b31m") && shown.contains("é語🦉"),
        "{shown}"
    );
    let values = |text: &str| -> Vec<Value> {
        let lines = text.lines().filter(|line| line.starts_with('{'));
        lines
            .map(|line| serde_json::from_str(line.trim()).unwrap())
            .collect()
    };
    assert_eq!(values(&plain), values(&shown));
}
