//! The role is asked before anything of a request is read: a client without the right is told so for any request, and the server reads
//! none of it.

use futures_util::future::join_all;

use super::*;

/// Bodies of no operation, with their content types.
const BODIES: [(&str, &str); 5] = [
    ("", ""),
    ("application/json", "{\"text\": "),
    ("application/json", "[1]"),
    ("application/json", "{\"nobody\": \"knows\", \"id\": 7}"),
    ("text/plain", "hello"),
];

/// Uploads at a time, the bytes of each, and the bytes of memory that they may cost together.
const UPLOADS: usize = 12;
const UPLOADED: usize = 40 << 20;
const COST_MAX: usize = 16 << 20;

/// Returns the operations of the contract with the right that each needs, and an address of each.
fn operations() -> Vec<(&'static str, Needs, String)> {
    let acts = acts_on(&absent(), "new").into_iter();
    let mut all: Vec<_> = acts
        .map(|act| (act.operation, act.needs, act.path))
        .collect();
    all.push(("POST /blobs", Needs::Speak, "/blobs".into()));
    all.push(("GET /events/stream", Needs::Read, "/events/stream".into()));
    all
}

/// The roles that may not do it.
fn lacking(needs: Needs) -> impl Iterator<Item = &'static str> {
    let may = may(needs);
    ROLES
        .into_iter()
        .zip(may)
        .filter(|(_, may)| !may)
        .map(|(role, _)| role)
}

// Every operation of the contract, by every role that may not do it, with bodies, addresses and parameters that are none.
on_both!(the_role_is_asked_before_the_request_is_read, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub)
        .file("thinkd.toml", &spaces())
        .start_bare()
        .await;
    let operations = operations();
    let known: BTreeSet<&str> = operations.iter().map(|(name, ..)| *name).collect();
    let offered = offered();
    let missing: Vec<&String> = offered
        .iter()
        .filter(|offered| !known.contains(offered.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let mut wrong = Vec::new();
    let mut asked = 0;
    for (operation, needs, path) in &operations {
        let (method, pattern) = operation.split_once(' ').unwrap();
        // The address as the contract has it, with braces: no id is like that.
        for path in [
            path.as_str(),
            &pattern.replace('{', "%7B").replace('}', "%7D"),
        ] {
            for query in ["", "nobody=knows&nobody=cares"] {
                // Without `full` it is open to everybody.
                let mark = if path.contains('?') { "&" } else { "?" };
                let full = if *operation == "GET /readyz" {
                    "full=true&"
                } else {
                    ""
                };
                let path = format!("{path}{mark}{full}{query}");
                if path.matches("full=").count() > 1 {
                    continue;
                }
                for (role, (kind, body)) in
                    lacking(*needs).flat_map(|role| BODIES.map(|body| (role, body)))
                {
                    let mut request = app.request(method, &path).bearer_auth(key("ours", role));
                    if !kind.is_empty() {
                        request = request.header("content-type", kind);
                    }
                    let reply = http::send(request.body(body)).await;
                    asked += 1;
                    if reply.status != 403 || reply.slug() != "forbidden" {
                        wrong.push(format!(
                            "{role}: {method} {path} {kind} {body:?}: {} {}",
                            reply.status,
                            reply.slug()
                        ));
                    }
                }
            }
        }
    }
    assert!(asked > 500, "{asked}");
    assert!(wrong.is_empty(), "{} of {asked}: {wrong:#?}", wrong.len());
});

// The same of frames: as soon as a frame says what it is, the role is asked, and nothing else of the frame is judged.
on_both!(the_role_is_asked_before_a_frame_is_judged, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub)
        .file("thinkd.toml", &spaces())
        .start_bare()
        .await;
    let kinds = [
        ("message", Needs::Speak),
        ("sensory", Needs::Speak),
        ("trigger", Needs::Speak),
        ("answer", Needs::Speak),
        ("fork", Needs::Speak),
        ("cancel", Needs::Speak),
        ("approve", Needs::Judge),
        ("deny", Needs::Judge),
        ("respond", Needs::Judge),
    ];
    // The other frames of the contract need no more than to be in.
    let open = ["auth", "ping", "subscribe", "unsubscribe"];
    let known: BTreeSet<String> = kinds
        .iter()
        .map(|(kind, _)| *kind)
        .chain(open)
        .map(str::to_owned)
        .collect();
    assert_eq!(known, frames());
    let mut wrong = Vec::new();
    for (kind, needs) in kinds {
        for role in lacking(needs) {
            let shown = format!("Bearer {}", key("ours", role));
            let url = app.url("/ws").replace("http", "ws");
            let mut socket = Socket::connect_with(&url, &[("authorization", &shown)]).await;
            socket.of_type("hello").await;
            for rest in [
                json!({}),
                json!({ "nobody": "knows" }),
                json!({ "thread": 7, "approval": [], "question": {}, "text": null, "event": 1 }),
                json!({ "thread": "\u{0}", "event_id": "none", "text": "" }),
            ] {
                let mut frame = rest.clone();
                frame["type"] = json!(kind);
                let answer = socket.ask(frame).await;
                if answer["problem"]["status"] != 403 {
                    wrong.push(format!("{role}: {kind} {rest}: {answer}"));
                }
            }
            // A frame that does not say what it is, is a message.
            if kind == "message" {
                let answer = socket.ask(json!({ "nobody": "knows" })).await;
                assert_eq!(answer["problem"]["status"], 403, "{answer}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
});

/// The frames that clients send, as the contract has it.
fn frames() -> BTreeSet<String> {
    let contract = kit::schema::asyncapi();
    let operations = contract["operations"].as_object().unwrap().values();
    operations
        .filter(|operation| operation["action"] == "receive")
        .map(|operation| operation["messages"][0]["$ref"].as_str().unwrap())
        .map(|name| name.rsplit('/').next().unwrap().to_owned())
        .collect()
}

/// The most memory that a process has held so far, in bytes.
fn peak(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().split_whitespace().next().unwrap();
    kilobytes.parse::<usize>().unwrap() << 10
}

// What somebody sends who may only read is not held: twelve uploads at a time cost next to nothing.
#[tokio::test]
async fn an_upload_of_who_may_only_read_costs_no_memory() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .file("thinkd.toml", &spaces())
        .start_bare()
        .await;
    let viewer = key("ours", "viewer");
    ask(&app, &viewer, "GET", "/metadata", None)
        .await
        .expect(200);
    let before = peak(app.pid());
    let body = bytes::Bytes::from(vec![0; UPLOADED]);
    let uploads = (0..UPLOADS).map(|_| {
        let upload = app
            .request("POST", "/blobs")
            .bearer_auth(&viewer)
            .header("content-type", "audio/wav");
        http::send(upload.body(body.clone()))
    });
    for reply in join_all(uploads).await {
        reply.expect_problem(403, "forbidden");
    }
    let cost = peak(app.pid()) - before;
    assert!(cost < COST_MAX, "{} MiB", cost >> 20);
}
