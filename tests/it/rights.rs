//! Rights: the acts of each role through each door, on things of its own space, of another space,
//! and of none. And keys that come and go while the server runs.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use kit::*;

mod first;
mod keys;

const ROLES: [&str; 4] = ["viewer", "member", "operator", "admin"];

/// The right that an act needs, by the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Read,
    Speak,
    Shape,
    Judge,
    Oversee,
}

/// The contract's table. Written down again here on purpose: the test compares the server with it, not with itself.
fn may(needs: Needs) -> [bool; 4] {
    match needs {
        Needs::Read => [true; 4],
        Needs::Speak => [false, true, true, true],
        Needs::Shape | Needs::Judge => [false, false, true, true],
        Needs::Oversee => [false, false, false, true],
    }
}

/// The space of an act's object: its own, another one, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Own,
    Foreign,
    Absent,
}

/// One act through one door, by one role, and its response.
#[derive(Debug)]
struct Done {
    act: &'static str,
    needs: Needs,
    whose: Whose,
    role: usize,
    status: u16,
    slug: String,
}

/// Returns the acts that differ from the table: 403 for a role without the right, 2xx on an object
/// of its own space, 404 on another's or an absent one.
fn differences(all: &[Done], may: impl Fn(Needs) -> [bool; 4]) -> Vec<&Done> {
    let differs = |done: &&Done| {
        let expected = match (may(done.needs)[done.role], done.whose) {
            (false, _) => done.status == 403 && done.slug == "forbidden",
            (true, Whose::Own) => (200..300).contains(&done.status),
            (true, Whose::Foreign | Whose::Absent) => {
                done.status == 404 && done.slug == "not-found"
            }
        };
        !expected
    };
    all.iter().filter(differs).collect()
}

fn key(space: &str, role: &str) -> String {
    format!("the-key-of-{space}-{role}")
}

fn spaces() -> String {
    let entry = |space: &str, role: &str| {
        format!(
            "[[keys]]\nkey = \"{}\"\nspace = \"{space}\"\nrole = \"{role}\"\n",
            key(space, role)
        )
    };
    ["ours", "theirs"]
        .iter()
        .flat_map(|space| ROLES.map(|role| entry(space, role)))
        .collect()
}

async fn ask(app: &App, key: &str, method: &str, path: &str, body: Option<Value>) -> Reply {
    let request = app.request(method, path).bearer_auth(key);
    http::send(match body {
        Some(body) => request.json(&body),
        None => request,
    })
    .await
}

/// A sound as short as one can be, another one for each name.
fn sound(name: &str) -> Vec<u8> {
    [b"RIFF\x20\0\0\0WAVEfmt ", name.as_bytes()].concat()
}

/// The things of a space that an act can be about.
struct Things {
    thread: String,
    event: String,
    call: String,
    blob: String,
    submodule: String,
    approval: String,
    question: String,
    schedule: String,
    statement: String,
    framework: String,
    mission: String,
}

/// Makes one thing of each kind in a space.
async fn things(app: &App, space: &str, round: usize) -> Things {
    let operator = key(space, "operator");
    let label = format!("{space}-{round}");
    let ask = async |method, path: &str, body| ask(app, &operator, method, path, body).await;
    ask(
        "POST",
        "/threads",
        Some(json!({ "kind": "conversation", "label": label })),
    )
    .await
    .expect(201);
    let prompt = json!({ "name": label, "prompt": "Say hm." });
    ask("POST", "/submodules", Some(prompt)).await.expect(201);
    let never =
        json!({ "name": label, "when": { "kind": "every", "seconds": 1e9 }, "overlap": "queue" });
    ask("POST", "/schedules", Some(never)).await.expect(201);
    let said = json!({ "text": format!("of {space}") });
    ask(
        "POST",
        &format!("/threads/{label}/messages?wait=15"),
        Some(said),
    )
    .await
    .expect(200);
    let newest = async |of: &str| {
        let page = ask("GET", &format!("/events?limit=1&thread={label}{of}"), None)
            .await
            .expect(200);
        page["items"][0]["event_id"].as_str().unwrap().to_owned()
    };
    let approval = request(app, space, "approvals", &format!("{label}-propose")).await;
    let question = request(app, space, "questions", &format!("{label}-wonder")).await;
    let image = app
        .request("POST", "/blobs")
        .bearer_auth(&operator)
        .header("content-type", "audio/wav");
    let stored = http::send(image.body(sound(&format!("{space} {round}")))).await;
    let blob = stored.expect(201)["blob"].as_str().unwrap().to_owned();
    let claimed = ask(
        "POST",
        "/world-model",
        Some(json!({ "statement": format!("{label} is so.") })),
    )
    .await
    .expect(202);
    let framework = ask(
        "POST",
        "/frameworks",
        Some(json!({ "name": label, "purpose": "anything" })),
    )
    .await
    .expect(201);
    let mission = ask(
        "POST",
        "/threads",
        Some(json!({ "kind": "mission", "mission": label })),
    )
    .await
    .expect(201);
    Things {
        framework: framework["id"].as_str().unwrap().to_owned(),
        mission: mission["id"].as_str().unwrap().to_owned(),
        statement: claimed["id"].as_str().unwrap().to_owned(),
        event: newest("&tags=input").await,
        call: newest("&tags=debug").await,
        blob,
        submodule: label.clone(),
        schedule: label.clone(),
        thread: label,
        approval,
        question,
    }
}

/// Has a call proposed that waits for a person, or a question asked, in a thread of its own; its id.
async fn request(app: &App, space: &str, kind: &str, thread: &str) -> String {
    let operator = key(space, "operator");
    let said = json!({ "text": if kind == "approvals" { "propose" } else { "wonder" } });
    ask(
        app,
        &operator,
        "POST",
        &format!("/threads/{thread}/messages?wait=15"),
        Some(said),
    )
    .await;
    let open = ask(
        app,
        &operator,
        "GET",
        &format!("/{kind}?thread={thread}"),
        None,
    )
    .await
    .expect(200);
    let id = if kind == "approvals" {
        "approval_id"
    } else {
        "question_id"
    };
    open["items"][0][id]
        .as_str()
        .unwrap_or_else(|| panic!("nothing waits in {thread}: {open}"))
        .to_owned()
}

/// Names of things that are in no space.
fn absent() -> Things {
    Things {
        thread: "nobody".into(),
        event: "0193b6c2-7c2e-7aaa-8000-0123456789ab".into(),
        call: "0193b6c2-7c2e-7aaa-8000-0123456789ac".into(),
        blob: "0".repeat(64),
        submodule: "nobody".into(),
        approval: "0193b6c2-7c2e-7aaa-8000-0123456789ad".into(),
        question: "0193b6c2-7c2e-7aaa-8000-0123456789ae".into(),
        schedule: "nobody".into(),
        statement: "0193b6c2-7c2e-7aaa-8000-0123456789af".into(),
        framework: "0193b6c2-7c2e-7aaa-8000-0123456789b0".into(),
        mission: format!("missions.{}", "0".repeat(32)),
    }
}

/// Everything that can be done over HTTP and by socket, by every role of a space, to its own things and to others.
async fn everything(app: &App, round: usize) -> Vec<Done> {
    let ours = things(app, "ours", round).await;
    let theirs = things(app, "theirs", round).await;
    let absent = absent();
    let mut all = Vec::new();
    for (role, name) in ROLES.iter().enumerate() {
        for (whose, things) in [
            (Whose::Own, &ours),
            (Whose::Foreign, &theirs),
            (Whose::Absent, &absent),
        ] {
            for act in acts_on(things, &format!("new-{round}-{role}")) {
                if act.whose.is_some_and(|only| only != whose) {
                    continue;
                }
                // Whoever ends or removes something has one to end.
                let path = match (act.spent, whose) {
                    (Some(kind), Whose::Own) => {
                        fresh(app, kind, &act.path, &format!("spent-{round}-{role}")).await
                    }
                    _ => act.path.clone(),
                };
                let reply = ask(app, &key("ours", name), act.method, &path, act.body.clone()).await;
                let slug = reply.slug().to_owned();
                all.push(Done {
                    act: act.operation,
                    needs: act.needs,
                    whose,
                    role,
                    status: reply.status,
                    slug,
                });
            }
        }
        all.extend(by_socket(app, role, &ours, round).await);
        all.extend(by_stream(app, role).await);
    }
    all
}

/// One request.
struct Act {
    /// As the contract calls it: the method, and the address with its parameters' names.
    operation: &'static str,
    needs: Needs,
    method: &'static str,
    path: String,
    body: Option<Value>,
    /// The only owner of its object that the act can have; `None` if any.
    whose: Option<Whose>,
    /// The kind of thing that the act uses up.
    spent: Option<&'static str>,
}

fn act(operation: &'static str, needs: Needs, path: String) -> Act {
    let method = operation.split(' ').next().unwrap();
    Act {
        operation,
        needs,
        method,
        path,
        body: None,
        whose: None,
        spent: None,
    }
}

impl Act {
    fn with(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Restricts the act to one case of `Whose`: it has no object, or one that is absent here.
    fn only(mut self, whose: Whose) -> Self {
        self.whose = Some(whose);
        self
    }

    fn spends(mut self, kind: &'static str) -> Self {
        self.spent = Some(kind);
        self
    }
}

fn acts_on(things: &Things, fresh: &str) -> Vec<Act> {
    use Needs::{Judge, Oversee, Read, Shape, Speak};
    let Things {
        thread,
        event,
        call,
        blob,
        submodule,
        approval,
        question,
        schedule,
        statement,
        framework,
        mission,
    } = things;
    let run = "/pipelines/nobody/runs/0193b6c2-7c2e-7aaa-8000-0123456789ab";
    let text = json!({ "text": "hello" });
    vec![
        act("GET /events", Read, "/events?tags=debug".into()).only(Whose::Own),
        act("GET /events/{event_id}", Read, format!("/events/{event}")),
        act(
            "GET /prompt-views/{event_id}",
            Read,
            format!("/prompt-views/{call}"),
        ),
        act("GET /messages", Read, "/messages".into()).only(Whose::Own),
        act("GET /threads", Read, "/threads".into()).only(Whose::Own),
        act("GET /tools", Read, format!("/tools?thread={thread}")),
        act(
            "POST /tools/{name}/approve",
            Shape,
            "/tools/nothing/approve".into(),
        )
        .with(json!({ "sha256": "0".repeat(64) }))
        .only(Whose::Absent),
        act("POST /tools/approve", Shape, "/tools/approve".into())
            .with(json!({ "tools": [{ "name": "nothing", "sha256": "0".repeat(64) }] }))
            .only(Whose::Absent),
        act("GET /threads/{thread}", Read, format!("/threads/{thread}")),
        act(
            "GET /threads/{thread}/turns",
            Read,
            format!("/threads/{thread}/turns"),
        ),
        act("POST /threads", Speak, "/threads".into())
            .with(json!({ "kind": "conversation", "label": fresh }))
            .only(Whose::Own),
        act(
            "POST /threads/{thread}/messages",
            Speak,
            format!("/threads/{thread}/messages"),
        )
        .with(text)
        .only(Whose::Own),
        act(
            "DELETE /threads/{thread}/inputs/{event_id}",
            Speak,
            format!("/threads/{thread}/inputs/{event}"),
        )
        .only(Whose::Absent),
        act(
            "PATCH /threads/{thread}",
            Speak,
            format!("/threads/{thread}"),
        )
        .with(json!({ "title": "A title" })),
        act(
            "POST /threads/{thread}/title",
            Speak,
            "/threads/nothing/title".into(),
        )
        .only(Whose::Absent),
        act(
            "POST /threads/{thread}/fork",
            Speak,
            format!("/threads/{thread}/fork"),
        )
        .with(json!({})),
        act(
            "POST /threads/{thread}/cancel",
            Speak,
            format!("/threads/{thread}/cancel"),
        ),
        act(
            "POST /threads/{thread}/end",
            Speak,
            format!("/threads/{thread}/end"),
        )
        .spends("threads"),
        act(
            "GET /threads/{thread}/tasks",
            Read,
            format!("/threads/{mission}/tasks"),
        ),
        act(
            "GET /threads/{thread}/memory",
            Read,
            format!("/threads/{mission}/memory"),
        ),
        act(
            "GET /threads/{thread}/thoughts",
            Read,
            format!("/threads/{mission}/thoughts"),
        ),
        act(
            "GET /threads/{thread}/tasks/{task}",
            Read,
            format!("/threads/{mission}/tasks/t0"),
        )
        .only(Whose::Absent),
        act(
            "PATCH /threads/{thread}/tasks/{task}",
            Speak,
            format!("/threads/{mission}/tasks/t1"),
        )
        .with(json!({ "rank": 3 }))
        .only(Whose::Absent),
        act(
            "DELETE /threads/{thread}/tasks/{task}",
            Speak,
            format!("/threads/{mission}/tasks/t1"),
        )
        .only(Whose::Absent),
        act(
            "POST /threads/{thread}/pause",
            Speak,
            format!("/threads/{mission}/pause"),
        )
        .only(Whose::Absent),
        act(
            "POST /threads/{thread}/resume",
            Speak,
            format!("/threads/{mission}/resume"),
        )
        .only(Whose::Absent),
        act("GET /submodules", Read, "/submodules".into()).only(Whose::Own),
        act("POST /submodules", Shape, "/submodules".into())
            .with(json!({ "name": fresh, "prompt": "Say hm." }))
            .only(Whose::Own),
        act(
            "GET /submodules/{name}/figures",
            Read,
            format!("/submodules/{submodule}/figures"),
        ),
        act(
            "GET /submodules/{name}/versions",
            Read,
            format!("/submodules/{submodule}/versions"),
        ),
        act("GET /usage", Read, "/usage".into()).only(Whose::Own),
        act("GET /models", Read, "/models".into()).only(Whose::Own),
        act(
            "PATCH /submodules/{name}",
            Shape,
            format!("/submodules/{submodule}"),
        )
        .with(json!({ "prompt": "Say ho." })),
        act(
            "DELETE /submodules/{name}",
            Shape,
            format!("/submodules/{submodule}"),
        )
        .spends("submodules"),
        act("GET /approvals", Read, "/approvals".into()).only(Whose::Own),
        act(
            "GET /approvals/{id}",
            Read,
            format!("/approvals/{approval}"),
        ),
        act(
            "POST /approvals/{id}",
            Judge,
            format!("/approvals/{approval}"),
        )
        .with(json!({ "verdict": "reject" }))
        .spends("approvals"),
        act("GET /questions", Read, "/questions".into()).only(Whose::Own),
        act(
            "GET /questions/{id}",
            Read,
            format!("/questions/{question}"),
        ),
        act(
            "POST /questions/{id}",
            Speak,
            format!("/questions/{question}"),
        )
        .with(json!({ "text": "blue" }))
        .spends("questions"),
        act("GET /settings", Read, "/settings".into()).only(Whose::Own),
        act("PUT /settings", Shape, "/settings".into())
            .with(json!({ "settings": { "user_away": false } }))
            .only(Whose::Own),
        act("GET /schedules", Read, "/schedules".into()).only(Whose::Own),
        act(
            "GET /schedules/{name}",
            Read,
            format!("/schedules/{schedule}"),
        ),
        act("POST /schedules", Shape, "/schedules".into())
            .with(json!({ "name": fresh, "when": { "kind": "every", "seconds": 1e9 } }))
            .only(Whose::Own),
        act(
            "PATCH /schedules/{name}",
            Shape,
            format!("/schedules/{schedule}"),
        )
        .with(json!({ "note": "for now" })),
        act(
            "POST /schedules/{name}/run",
            Shape,
            format!("/schedules/{schedule}/run"),
        ),
        act(
            "DELETE /schedules/{name}",
            Shape,
            format!("/schedules/{schedule}"),
        )
        .spends("schedules"),
        act("GET /world-model", Read, "/world-model".into()).only(Whose::Own),
        act(
            "GET /world-model/{id}",
            Read,
            format!("/world-model/{statement}"),
        ),
        act("POST /world-model", Speak, "/world-model".into())
            .with(json!({ "statement": format!("{fresh} is so.") }))
            .only(Whose::Own),
        // Their own word; what others claimed is for operators.
        act(
            "POST /world-model/{id}/retract",
            Speak,
            format!("/world-model/{statement}/retract"),
        )
        .with(json!({ "reason": "in jest" }))
        .spends("world-model"),
        act(
            "GET /world-model/graph",
            Read,
            "/world-model/graph?entity=nobody".into(),
        )
        .only(Whose::Absent),
        act("GET /world-model/audit", Read, "/world-model/audit".into()).only(Whose::Own),
        act(
            "GET /world-model/entities",
            Read,
            "/world-model/entities".into(),
        )
        .only(Whose::Own),
        act(
            "POST /world-model/entities/merge",
            Shape,
            "/world-model/entities/merge".into(),
        )
        .with(json!({ "names": [fresh, format!("{fresh} too")], "reason": "one" }))
        .only(Whose::Own),
        act(
            "POST /world-model/entities/unmerge",
            Shape,
            "/world-model/entities/unmerge".into(),
        )
        .with(json!({ "name": fresh, "reason": "two" }))
        .only(Whose::Own),
        act("GET /frameworks", Read, "/frameworks".into()).only(Whose::Own),
        act(
            "GET /frameworks/{id}",
            Read,
            format!("/frameworks/{framework}"),
        ),
        act("POST /frameworks", Shape, "/frameworks".into())
            .with(json!({ "name": fresh, "purpose": "anything" }))
            .only(Whose::Own),
        act(
            "PATCH /frameworks/{id}",
            Shape,
            format!("/frameworks/{framework}"),
        )
        .with(json!({ "name": "renamed" })),
        act(
            "POST /frameworks/{id}/outcomes",
            Speak,
            format!("/frameworks/{framework}/outcomes"),
        )
        .with(json!({ "with": true, "worked": true, "task": "this" })),
        act(
            "DELETE /frameworks/{id}",
            Shape,
            format!("/frameworks/{framework}"),
        )
        .spends("frameworks"),
        act("GET /self", Read, format!("/self?thread={thread}")),
        act("GET /recall", Read, "/recall?q=anything".into()).only(Whose::Own),
        act("GET /state", Read, "/state".into()).only(Whose::Own),
        act("GET /state/{key}", Read, "/state/nobody".into()).only(Whose::Absent),
        act("GET /pipelines", Read, "/pipelines".into()).only(Whose::Own),
        act("POST /pipelines/{name}", Speak, "/pipelines/nobody".into())
            .with(json!({ "input": 1 }))
            .only(Whose::Absent),
        act(
            "GET /pipelines/{name}/runs",
            Read,
            "/pipelines/nobody/runs".into(),
        )
        .only(Whose::Absent),
        act("GET /pipelines/{name}/runs/{run}", Read, run.into()).only(Whose::Absent),
        act(
            "POST /pipelines/{name}/runs/{run}/cancel",
            Speak,
            format!("{run}/cancel"),
        )
        .only(Whose::Absent),
        act("GET /blobs/{sha256}", Read, format!("/blobs/{blob}")),
        act("GET /metadata", Read, "/metadata".into()).only(Whose::Own),
        act("GET /metrics", Oversee, "/metrics".into()).only(Whose::Own),
        act("GET /servers", Oversee, "/servers".into()).only(Whose::Own),
        act("GET /readyz", Oversee, "/readyz?full=true".into()).only(Whose::Own),
    ]
}

/// Makes a thing to be used up; the path that names it in the place of the other one.
async fn fresh(app: &App, kind: &str, path: &str, label: &str) -> String {
    if ["approvals", "questions"].contains(&kind) {
        return format!(
            "/{kind}/{}",
            request(app, "ours", kind, &format!("{label}-{kind}")).await
        );
    }
    if kind == "world-model" {
        let body = Some(json!({ "statement": format!("My {label} is so.") }));
        let claimed = ask(app, &key("ours", "operator"), "POST", "/world-model", body)
            .await
            .expect(202);
        return format!("/world-model/{}/retract", claimed["id"].as_str().unwrap());
    }
    if kind == "frameworks" {
        let body = Some(json!({ "name": label, "purpose": "anything" }));
        let made = ask(app, &key("ours", "operator"), "POST", "/frameworks", body)
            .await
            .expect(201);
        return format!("/frameworks/{}", made["id"].as_str().unwrap());
    }
    let body = match kind {
        "threads" => json!({ "kind": "conversation", "label": label }),
        "schedules" => json!({ "name": label, "when": { "kind": "every", "seconds": 1e9 } }),
        _ => json!({ "name": label, "prompt": "Say hm." }),
    };
    ask(
        app,
        &key("ours", "operator"),
        "POST",
        &format!("/{kind}"),
        Some(body),
    )
    .await
    .expect(201);
    let rest = path
        .splitn(4, '/')
        .nth(3)
        .map_or(String::new(), |rest| format!("/{rest}"));
    format!("/{kind}/{label}{rest}")
}

/// The doors that are no request with an answer to its end: an upload, and the live stream.
async fn by_stream(app: &App, role: usize) -> Vec<Done> {
    let key = key("ours", ROLES[role]);
    let image = app
        .request("POST", "/blobs")
        .bearer_auth(&key)
        .header("content-type", "audio/wav");
    let stored = http::send(image.body(sound("any"))).await;
    let stream = app
        .request("GET", "/events/stream")
        .bearer_auth(&key)
        .send()
        .await
        .unwrap();
    let done = |act, needs, status, slug: &str| Done {
        act,
        needs,
        whose: Whose::Own,
        role,
        status,
        slug: slug.to_owned(),
    };
    vec![
        done("POST /blobs", Needs::Speak, stored.status, stored.slug()),
        done(
            "GET /events/stream",
            Needs::Read,
            stream.status().as_u16(),
            "",
        ),
    ]
}

/// The same acts as frames. An acknowledgement counts as 200.
async fn by_socket(app: &App, role: usize, ours: &Things, round: usize) -> Vec<Done> {
    let key = format!("Bearer {}", key("ours", ROLES[role]));
    let mut socket = Socket::connect_with(
        &app.url("/ws").replace("http", "ws"),
        &[("authorization", &key)],
    )
    .await;
    socket.of_type("hello").await;
    let mut requests = Vec::new();
    for (number, kind) in ["approvals", "approvals", "approvals", "questions"]
        .into_iter()
        .enumerate()
    {
        requests.push(
            request(
                app,
                "ours",
                kind,
                &format!("frames-{round}-{role}-{number}"),
            )
            .await,
        );
    }
    let frames = [
        (
            "subscribe",
            Needs::Read,
            json!({ "type": "subscribe", "after": 0 }),
        ),
        ("unsubscribe", Needs::Read, json!({ "type": "unsubscribe" })),
        (
            "message",
            Needs::Speak,
            json!({ "type": "message", "text": "hello", "thread": ours.thread }),
        ),
        (
            "sensory",
            Needs::Speak,
            json!({ "type": "sensory", "text": "rain", "thread": ours.thread }),
        ),
        (
            "trigger",
            Needs::Speak,
            json!({ "type": "trigger", "event": format!("bell-{round}"), "thread": ours.thread }),
        ),
        (
            "approve",
            Needs::Judge,
            json!({ "type": "approve", "approval": requests[0] }),
        ),
        (
            "deny",
            Needs::Judge,
            json!({ "type": "deny", "approval": requests[1] }),
        ),
        (
            "respond",
            Needs::Judge,
            json!({ "type": "respond", "approval": requests[2], "text": "done" }),
        ),
        (
            "answer",
            Needs::Speak,
            json!({ "type": "answer", "question": requests[3], "text": "blue" }),
        ),
        (
            "fork",
            Needs::Speak,
            json!({ "type": "fork", "of": ours.thread }),
        ),
        (
            "cancel",
            Needs::Speak,
            json!({ "type": "cancel", "thread": ours.thread }),
        ),
    ];
    let mut all = Vec::new();
    for (act, needs, frame) in frames {
        let answer = socket.ask(frame).await;
        let problem = &answer["problem"];
        let slug = problem["type"]
            .as_str()
            .and_then(|kind| kind.rsplit('/').next())
            .unwrap_or_default();
        let status = problem["status"]
            .as_u64()
            .and_then(|status| u16::try_from(status).ok())
            .unwrap_or(200);
        all.push(Done {
            act,
            needs,
            whose: Whose::Own,
            role,
            status,
            slug: slug.to_owned(),
        });
    }
    all
}

// D4.58, T4.68: every right, by every role, through every door, to what is its own, another space's and nobody's; before and after a restart.
on_both!(
    d4_58_every_role_may_do_what_the_table_says_and_nothing_else,
    |medium| {
        let stub = Stub::start().await;
        stub.on_each(
        |_| true,
        |request| match request.last_user() {
            _ if request.says("waits for a person") || !request.is_decision() => reply("hi"),
            said if said.contains("propose") => {
                call("state_put", json!({ "key": "k", "content": "c", "related_keys": [] }))
            }
            said if said.contains("wonder") && !request.says("question to the user") => {
                let none = Value::Null;
                call(
                    "ask_user",
                    json!({ "question": "Which?", "choices": none, "schema": none, "who": none, "expires_s": none }),
                )
            }
            _ => reply("hi"),
        },
    );
        let approval = "[tools]\napproval = [\"state_put\"]\n";
        let mut app = Setup::new(medium, &stub)
            .file("thinkd.toml", &(spaces() + approval))
            .start_bare()
            .await;
        for round in 0..2 {
            let all = everything(&app, round).await;
            assert!(
                differences(&all, may).is_empty(),
                "{:#?}",
                differences(&all, may)
            );
            // The control: with any right flipped for any role the comparison fails.
            for needs in [
                Needs::Read,
                Needs::Speak,
                Needs::Shape,
                Needs::Judge,
                Needs::Oversee,
            ] {
                for role in 0..ROLES.len() {
                    let flipped = |asked: Needs| {
                        let mut table = may(asked);
                        table[role] ^= asked == needs;
                        table
                    };
                    assert!(
                        !differences(&all, flipped).is_empty(),
                        "{needs:?} of {} is not asked for",
                        ROLES[role]
                    );
                }
            }
            // Nothing that the contract offers is left out.
            let asked: BTreeSet<&str> = all.iter().map(|done| done.act).collect();
            let missing: Vec<String> = offered()
                .into_iter()
                .filter(|offered| !asked.contains(offered.as_str()))
                .collect();
            assert!(missing.is_empty(), "{missing:?}");
            app.restart().await;
        }
    }
);

/// The operations of the contract, as `METHOD /address`.
fn offered() -> Vec<String> {
    let contract: Value = serde_json::from_str(include_str!("../../openapi/openapi.json")).unwrap();
    let operations = contract["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            methods
                .as_object()
                .unwrap()
                .keys()
                .map(move |method| format!("{} {path}", method.to_uppercase()))
        });
    // Open to everybody.
    operations
        .filter(|operation| operation != "GET /livez")
        .collect()
}
