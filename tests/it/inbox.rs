//! Requests that wait for people, in the terminal: `thinkd inbox`, and the commands of `thinkd
//! chat`. The real program against a real server.

use serde_json::{Value, json};
use thinkd_event::draft::Draft;
use thinkd_event::fact::Fact;
use thinkd_event::fact::question::Question;
use thinkd_log::appended::Append;
use thinkd_words::id::{Space, ThreadId};

use kit::command::{Typist, client, ended, err, has_script, out, plain, thinkd};
use kit::*;

/// Returns a server with notes that wait for a person.
fn setup(stub: &Stub) -> Setup {
    setup_on(Medium::sqlite(), stub)
}

fn setup_on(medium: Medium, stub: &Stub) -> Setup {
    Setup::new(medium, stub).file("thinkd.toml", "[tools]\napproval = [\"state_put\"]\n")
}

fn note(content: &str) -> Answer {
    call(
        "state_put",
        json!({ "key": "plan", "content": content, "related_keys": [] }),
    )
}

fn question(text: &str) -> Value {
    json!({ "question": text, "choices": null, "schema": null, "who": null, "expires_s": null })
}

/// Has a model make this call in the thread; returns the id of the new request that then waits.
async fn asked(app: &App, stub: &Stub, thread: &str, asks: Answer) -> String {
    let ids = async || -> Vec<String> {
        let all = [
            app.pages("/approvals?").await,
            app.pages("/questions?").await,
        ]
        .concat();
        let id = |it: &Value| {
            it["approval_id"]
                .as_str()
                .or(it["question_id"].as_str())
                .unwrap()
                .to_owned()
        };
        all.iter().map(id).collect()
    };
    let before = ids().await;
    stub.script(at(thread), [asks, reply("I have asked.")]);
    app.tell_in(thread, "go on").await;
    ids()
        .await
        .into_iter()
        .find(|id| !before.contains(id))
        .expect("nothing waits")
}

/// Returns the output of `thinkd inbox` with these arguments, as the user ann.
async fn inbox(app: &App, arguments: &[&str]) -> String {
    out(&ended(
        &mut thinkd(app, &[&["inbox", "--user", "ann"], arguments].concat()),
        "",
    )
    .await)
}

/// Returns the message of a `thinkd inbox` that fails.
async fn refused(app: &App, arguments: &[&str]) -> String {
    let said = ended(&mut thinkd(app, &[&["inbox"], arguments].concat()), "").await;
    assert_eq!(said.status.code(), Some(1), "{arguments:?}: {}", out(&said));
    err(&said)
}

fn end(id: &str) -> &str {
    &id[id.len() - 8..]
}

async fn output(app: &App, id: &str) -> Value {
    let call_id = app.event(id).await["payload"]["call_id"].clone();
    app.until_some("a result", async || {
        let log = app.public_log().await;
        let thread = app.event(id).await["thread"].clone();
        let is_it = |it: &&Value| it["payload"]["call_id"] == call_id && it["thread"] == thread;
        if let Some(result) = with(&log, &["result"]).into_iter().find(is_it) {
            return Some(result["payload"].clone());
        }
        None
    })
    .await
}

async fn verdict(app: &App, id: &str) -> Value {
    let log = app.public_log().await;
    let of = |it: &&Value| {
        it["payload"]["approval_id"] == id && !has(it, "pending") && !has(it, "result")
    };
    with(&log, &["approval"])
        .into_iter()
        .find(of)
        .unwrap_or_else(|| panic!("{}", story(&log)))["payload"]
        .clone()
}

#[tokio::test]
async fn the_inbox_lists_what_waits_and_takes_every_verdict() {
    let stub = Stub::start().await;
    let app = setup(&stub).start().await;
    assert_eq!(inbox(&app, &[]).await, "nothing waits for a person\n");
    let mut ids = Vec::new();
    for thread in ["a", "b", "c", "d"] {
        ids.push(asked(&app, &stub, thread, note(&format!("note of {thread}"))).await);
    }
    let day = asked(&app, &stub, "e", call("ask_user", question("Which day?"))).await;
    let listed = inbox(&app, &[]).await;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 5, "{listed}");
    let beginning = format!("{}  approval  a: state_put {{", end(&ids[0]));
    assert!(
        lines[0].starts_with(&beginning) && lines[0].contains("note of a"),
        "{listed}"
    );
    assert!(lines[0].contains(" ago, expires in 6 d)"), "{listed}");
    assert!(
        lines[4].starts_with(&format!("{}  question  e: Which day? (", end(&day))),
        "{listed}"
    );
    assert_eq!(inbox(&app, &["--thread", "b"]).await.lines().count(), 1);

    let shown = inbox(&app, &["show", &ids[0]]).await;
    assert!(
        shown.contains(&ids[0]) && shown.contains("  \"content\": \"note of a\""),
        "{shown}"
    );
    // By the end of its id, by its beginning, in capitals, whole.
    assert_eq!(
        inbox(&app, &["approve", end(&ids[0]), "--reason", "go on"])
            .await
            .lines()
            .count(),
        1
    );
    let other = json!({ "key": "plan", "content": "mine", "related_keys": [] });
    std::fs::write(app.folder().join("mine.json"), other.to_string()).unwrap();
    inbox(
        &app,
        &["approve", &ids[1][..23], "--arguments", "@mine.json"],
    )
    .await;
    inbox(
        &app,
        &[
            "reject",
            &end(&ids[2]).to_uppercase(),
            "--reason",
            "not now",
        ],
    )
    .await;
    inbox(&app, &["respond", &ids[3], "--it is noted--"]).await;
    assert_eq!(
        inbox(&app, &["answer", end(&day), "Monday"]).await,
        "answered: Which day? in e\n"
    );
    for (id, reason) in [
        (&ids[0], "go on"),
        (&ids[1], ""),
        (&ids[2], "not now"),
        (&ids[3], "--it is noted--"),
    ] {
        let said = verdict(&app, id).await;
        assert_eq!(
            (&said["by"], &said["reason"]),
            (&json!("ann"), &json!(reason))
        );
    }
    for id in &ids[..2] {
        assert_eq!(
            output(&app, id).await["output"],
            json!({ "stored": "plan" })
        );
    }
    assert_eq!(verdict(&app, &ids[1]).await["arguments"], other);
    assert!(output(&app, &ids[2]).await.to_string().contains("not now"));
    assert_eq!(output(&app, &ids[3]).await["output"], "--it is noted--");
    assert_eq!(output(&app, &day).await["output"], "Monday");
    assert_eq!(inbox(&app, &[]).await, "nothing waits for a person\n");
}

#[tokio::test]
async fn an_answer_with_a_schema_is_json_in_the_inbox() {
    let stub = Stub::start().await;
    let app = setup(&stub).start().await;
    let mut asks = question("How many?");
    asks["schema"] = json!("{\"type\":\"integer\",\"maximum\":9}");
    let id = asked(&app, &stub, "main", call("ask_user", asks)).await;
    assert!(
        inbox(&app, &["show", end(&id)])
            .await
            .contains("\"maximum\": 9")
    );
    assert!(
        refused(&app, &["answer", end(&id), "three"])
            .await
            .contains("is JSON, as its schema says")
    );
    assert!(
        refused(&app, &["answer", end(&id), "10"])
            .await
            .contains("422")
    );
    inbox(&app, &["answer", end(&id), "3"]).await;
    assert_eq!(output(&app, &id).await["output"], 3);
}

#[tokio::test]
async fn what_the_inbox_cannot_do_it_says_in_a_sentence_and_leaves_what_waits() {
    let stub = Stub::start().await;
    let app = setup(&stub).start().await;
    let id = asked(&app, &stub, "a", note("one")).await;
    let day = asked(&app, &stub, "b", call("ask_user", question("Which day?"))).await;
    std::fs::write(app.folder().join("text"), "no JSON").unwrap();
    for (arguments, why) in [
        (
            &["approve", "0bad0bad0bad"][..],
            "nothing that waits has an id like \"0bad0bad0bad\"; `thinkd inbox` lists",
        ),
        (
            &["show", "0bad0bad0bad"],
            "nothing that waits has an id like",
        ),
        (&["approve", "\u{1b}[31m-x"], "\\u{1b}"),
        (&["approve", "12"], "too short"),
        // Times only: what waits since the same minute begins the same.
        (&["approve", &id[..8]], "nothing that waits has an id like"),
        (&["approve", &day], "is a question: it takes an answer"),
        (
            &["answer", end(&id), "yes"],
            "is an approval: approve it, reject it, or respond to it",
        ),
        (
            &["approve", &id, "--arguments", "{"],
            "--arguments: this is not JSON",
        ),
        (&["approve", &id, "--arguments", "[1]"], "are a JSON object"),
        (
            &["approve", &id, "--arguments", "@nowhere"],
            "nowhere cannot be read",
        ),
        (
            &["approve", &id, "--arguments", "@text"],
            "this is not JSON",
        ),
        (&["approve", &id, "--arguments", "{\"key\":1}"], "422"),
        (
            &["approve", &id, "--arguments", "{\"key\":1e400}"],
            "the number 1e400 cannot be kept digit by digit",
        ),
        (
            &[
                "approve",
                &id,
                "--arguments",
                "{\"key\":0.30000000000000000001}",
            ],
            "the number 0.30000000000000000001 cannot be kept digit by digit",
        ),
        (&["approve", &id, "--user", "a:b"], "cannot be a name"),
        (&["--url", "http://127.0.0.1:9"], "no thinkd answers"),
    ] {
        let said = refused(&app, arguments).await;
        assert!(
            said.contains(why) && !said.contains('\u{1b}'),
            "{arguments:?}: {said}"
        );
    }
    assert_eq!(
        inbox(&app, &[]).await.lines().count(),
        2,
        "nothing was settled by that"
    );
    inbox(&app, &["approve", &id]).await;
    let said = refused(&app, &["reject", &id]).await;
    assert!(
        said.contains("409") && said.contains("granted by ann"),
        "{said}"
    );
}

#[tokio::test]
async fn the_inbox_shows_its_key_and_says_who_may_not() {
    let stub = Stub::start().await;
    let keys = ["operator", "viewer"]
        .map(|role| format!("[[keys]]\nkey = \"the-secret-of-the-{role}\"\nrole = \"{role}\"\n"));
    let file = format!("{}\n[tools]\napproval = [\"state_put\"]\n", keys.concat());
    let mut app = Setup::new(Medium::sqlite(), &stub)
        .file("thinkd.toml", &file)
        .start_bare()
        .await;
    app.authorize("Bearer the-secret-of-the-operator");
    let id = asked(&app, &stub, "main", note("one")).await;
    // The configuration beside it has the operator's key: what it is without one is asked from elsewhere.
    let elsewhere = async |arguments: &[&str], token: &str| {
        let folder = app.folder().join("elsewhere");
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = thinkd(&app, &[&["inbox"], arguments].concat());
        let said = ended(command.current_dir(folder).env("THINKD_TOKEN", token), "").await;
        let all = format!("{}{}", String::from_utf8_lossy(&said.stdout), err(&said));
        assert!(!all.contains("the-secret"), "{all}");
        (said.status.code(), all)
    };
    let (code, said) = elsewhere(&[], "wrong-and-long-enough").await;
    assert!(
        code == Some(1) && said.contains("401") && said.contains("THINKD_TOKEN"),
        "{said}"
    );
    let (code, said) = elsewhere(
        &["approve", &id, "--user", "ann"],
        "the-secret-of-the-viewer",
    )
    .await;
    assert!(code == Some(1) && said.contains("403"), "{said}");
    let (code, said) = elsewhere(
        &["approve", &id, "--user", "ann"],
        "the-secret-of-the-operator",
    )
    .await;
    assert_eq!(
        (code, said.as_str()),
        (
            Some(0),
            "granted: state_put {\"content\":\"one\",\"key\":\"plan\",\"related_keys\":[]} in main\n"
        )
    );
    assert_eq!(verdict(&app, &id).await["by"], "ann");
}

// SECURITY: people approve what they see.
#[tokio::test]
async fn the_inbox_names_each_character_that_nobody_sees() {
    let stub = Stub::start().await;
    let app = setup(&stub).start().await;
    let hidden = "\u{e0041}\u{200b}\u{200d}\u{fe0f}\u{feff}\u{3164}\u{ad}\u{2060}\u{34f}\u{180e}\u{2800}\u{202e}\u{2028}\u{9b}";
    let content = format!("Be kind{hidden}.");
    let arguments = json!({ "key": "plan", "content": content, "related_keys": [] });
    let id = asked(&app, &stub, "main", call("state_put", arguments)).await;
    let shown = inbox(&app, &["show", end(&id)]).await;
    let listed = inbox(&app, &[]).await;
    for c in hidden.chars() {
        let named = c.escape_default().to_string();
        assert!(shown.contains(&named), "{named} in {shown}");
        assert!(
            !shown.contains(c) && !listed.contains(c),
            "{named} in {shown}{listed}"
        );
    }
}

#[tokio::test]
async fn the_inbox_shows_a_change_as_a_diff_in_colours_on_a_terminal() {
    let stub = Stub::start().await;
    let app = setup(&stub).voices(&["owl"]).start().await;
    let arguments = json!({ "name": "owl", "prompt": "Doubt it.", "diff": null });
    let id = asked(&app, &stub, "main", call("propose_submodule", arguments)).await;
    let shown = inbox(&app, &["show", end(&id)]).await;
    assert!(
        shown.contains("\n-You are the voice owl.") && shown.contains("\n+Doubt it."),
        "{shown}"
    );
    if !has_script() {
        return;
    }
    for (environment, coloured) in [("", true), ("NO_COLOR=1", false)] {
        let line = format!("{environment} {} inbox show {}", kit::program(), end(&id));
        let shown = ended(
            client(&app, "script", &["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh"),
            "",
        )
        .await;
        let shown = out(&shown);
        assert!(plain(&shown).contains("\n+Doubt it."), "{shown}");
        assert_eq!(
            shown.contains("\u{1b}[32m+Doubt it."),
            coloured,
            "{shown:?}"
        );
        assert_eq!(shown.contains("\u{1b}[31m-You are"), coloured, "{shown:?}");
    }
}

#[tokio::test]
async fn a_chat_shows_what_waits_and_only_its_commands_are_verdicts() {
    if !has_script() {
        return;
    }
    let stub = Stub::start().await;
    let app = setup(&stub).start().await;
    let before = asked(&app, &stub, "main", note("one")).await;
    let mut typist = Typist::sit_down_in(&app, "stty cols 200 rows 40; NO_COLOR=1", "--user ann");
    // What waited before it was opened, and what comes.
    typist.sees(&format!("/approve {}", end(&before))).await;
    let change = json!({ "name": "owl", "prompt": "Doubt it.", "diff": null });
    let owl = asked(&app, &stub, "main", call("propose_submodule", change)).await;
    typist.sees("approval: propose_submodule").await;
    typist.sees("+Doubt it.").await;
    typist.sees(&format!("/approve {}", end(&owl))).await;
    for words in ["yes", "approve", &format!("approve {}", end(&owl))] {
        typist.types(&format!("{words}\r")).await;
        typist.sees(&format!("ok: {words}")).await;
    }
    assert_eq!(
        app.pages("/approvals?").await.len(),
        2,
        "what is merely said is no verdict"
    );
    typist.types(&format!("/approve {}\r", end(&owl))).await;
    typist.sees("(granted: propose_submodule").await;
    typist
        .types(&format!("/reject {} not like this\r", end(&before)))
        .await;
    typist.sees("(denied: state_put").await;
    assert_eq!(
        output(&app, &owl).await["output"],
        json!({ "created": "owl" })
    );
    let said = verdict(&app, &before).await;
    assert_eq!(
        (&said["by"], &said["reason"]),
        (&json!("ann"), &json!("not like this"))
    );
    typist.types("/inbox\r").await;
    typist.sees("(nothing waits for a person here").await;
    for (typed, told) in [
        ("/approve 0bad0bad0bad", "nothing that waits has an id like"),
        ("/approve", "/approve takes an ID"),
        ("/approve 0bad0bad0bad now", "takes an ID and nothing else"),
        ("/answer 0bad0bad0bad", "/answer takes an ID and a text"),
    ] {
        typist.types(&format!("{typed}\r")).await;
        typist.sees(told).await;
    }
    typist.types("/quit\r").await;
    assert!(
        within("the end of the chat", typist.child.wait())
            .await
            .unwrap()
            .success()
    );
}

#[tokio::test]
async fn a_chat_shows_questions_and_answers_them() {
    if !has_script() {
        return;
    }
    let stub = Stub::start().await;
    let app = setup(&stub).start().await;
    let mut typist = Typist::sit_down_in(&app, "stty cols 200 rows 40; NO_COLOR=1", "--user ann");
    typist.sees("> ").await;
    let mut asks = question("Which day?");
    asks["choices"] = json!(["Monday", "Friday"]);
    let day = asked(&app, &stub, "main", call("ask_user", asks)).await;
    typist.sees("question: Which day?").await;
    typist.sees("one of: Monday, Friday").await;
    typist.sees(&format!("/answer {}", end(&day))).await;
    typist
        .types(&format!("/answer {} Friday\r", end(&day)))
        .await;
    typist.sees("(answered: Which day?").await;
    assert_eq!(output(&app, &day).await["output"], "Friday");
    let note = asked(&app, &stub, "main", note("one")).await;
    typist.sees(&format!("/respond {}", end(&note))).await;
    typist
        .types(&format!("/respond {} it is noted already\r", end(&note)))
        .await;
    typist.sees("(answered: state_put").await;
    assert_eq!(output(&app, &note).await["output"], "it is noted already");
    // Through a pipe it is shown beside the replies, and commands are words.
    stub.script(
        at("side"),
        [call("ask_user", question("Which year?"))
            .and("reply", json!({ "text": "I have asked." }))],
    );
    let said = ended(&mut thinkd(&app, &["chat", "--thread", "side"]), "go on").await;
    assert_eq!(out(&said), "I have asked.\n");
    assert!(
        err(&said).contains("question: Which year?"),
        "{}",
        err(&said)
    );
}

/// A question with this id, as a turn of before has asked it.
fn asked_before(id: &str) -> Draft {
    let question = Question {
        question: id,
        turn: 1,
        call_id: "c0.0.0",
        text: "Which?",
        choices: Vec::new(),
        schema: None,
        who: Vec::new(),
        expires: "2096-11-28T04:25:00.000000Z",
        server: None,
        trial: None,
    };
    Fact::Question(question)
        .encode(&ThreadId::default())
        .with_id(id.parse().unwrap())
}

// Ids that end the same are named by all of them, and what names two settles none. What does not fit a page comes on the next.
#[tokio::test]
async fn what_ends_the_same_is_told_apart_and_nothing_is_left_out() {
    let stub = Stub::start().await;
    let medium = Medium::sqlite();
    let store = stored::open(&medium).await;
    let twins = [
        "0193a1b2-5c3d-7e4f-8a9b-0c1d2e3f4a5b",
        "0193a1b2-5c3e-7e4f-8a9b-0c1d2e3f4a5b",
    ];
    let others = (0..501).map(|number| format!("0193a1b2-6c3d-7e4f-8a9b-{number:012x}"));
    let drafts = twins
        .into_iter()
        .map(str::to_owned)
        .chain(others)
        .map(|id| asked_before(&id))
        .collect();
    store
        .append(Append::free(&Space::default(), drafts))
        .await
        .unwrap();
    store.close().await;
    drop(store);
    let app = setup_on(medium, &stub).start().await;
    let listed = inbox(&app, &[]).await;
    assert_eq!(
        listed.lines().count(),
        503,
        "{}",
        listed.lines().next().unwrap_or_default()
    );
    for (line, id) in listed.lines().zip(twins) {
        assert!(line.starts_with(&format!("{id}  question")), "{line}");
    }
    let said = refused(&app, &["answer", end(twins[0]), "red"]).await;
    assert!(
        said.contains("names 2 of those that wait") && said.contains(twins[1]),
        "{said}"
    );
    inbox(&app, &["answer", twins[1], "red"]).await;
    assert_eq!(inbox(&app, &[]).await.lines().count(), 502);
}
