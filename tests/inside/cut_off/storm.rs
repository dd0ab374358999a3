//! A storm of cancels, interruptions, ends of threads and kills over turns that call tools: each action has exactly one result.
//! `THINKD_TEST_CUT_OFF_CALLS` says how many calls it lasts for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// So many threads at once.
const THREADS: usize = 12;
/// So many things happen to each of them between two kills.
const STEPS: usize = 6;

fn wanted() -> usize {
    let wanted = std::env::var("THINKD_TEST_CUT_OFF_CALLS");
    wanted.map_or(200, |wanted| wanted.parse().unwrap())
}

/// A small random number generator (xorshift), so that a run can be repeated as far as machines can.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// The answer to a decision: calls of every kind, of which the last hangs, or a reply.
fn answer(request: &Request) -> Answer {
    let at = request.index;
    let said = |number: usize| json!({ "text": format!("{at}.{number}") });
    let put = json!({ "key": format!("k{at}"), "content": "c", "related_keys": [] });
    match at % 5 {
        0 => call("mcp__it__pay", said(0))
            .and("mcp__it__pay", said(1))
            .and("mcp__it__hang", said(2))
            .and("mcp__it__pay", said(3)),
        1 => call("mcp__it__look", said(0))
            .and("state_put", put)
            .and("mcp__it__pay", said(1))
            .and("mcp__it__stare", said(2)),
        2 => call("mcp__it__hang", said(0)).and("mcp__it__hang", said(1)),
        3 => call("state_put", put)
            .and("mcp__it__pay", said(0))
            .and("mcp__it__look", said(1)),
        _ => reply("Enough."),
    }
}

async fn server() -> ToolServer {
    let only_looks = |name: &str| {
        let mut look = tool(name, "Looks.");
        look["annotations"] = json!({ "readOnlyHint": true });
        look
    };
    let acts = [tool("pay", "Pays."), tool("hang", "Hangs.")];
    let looks = [only_looks("look"), only_looks("stare")];
    let server = ToolServer::start(acts.into_iter().chain(looks).collect()).await;
    server.does("hang", Does::Hangs);
    server.does("stare", Does::Hangs);
    server
}

/// One thread of the storm: it is spoken to, and its turn is cut off in one way or another.
async fn gust(app: &App, number: usize, mut random: Random, ended: &AtomicUsize) {
    for _ in 0..STEPS {
        let generation = ended.load(Ordering::Relaxed);
        let thread = format!("t{number}-{generation}");
        let messages = format!("/threads/{thread}/messages");
        let say = || app.post_raw(&messages, json!({ "text": "go" }));
        say().await;
        // Anywhere in what it does.
        faults::sometime(ms(random.below(60))).await;
        match random.below(8) {
            0..=2 => {
                app.post_raw(&format!("/threads/{thread}/cancel"), json!({}))
                    .await
            }
            3..=5 => say().await,
            6 => {
                ended.fetch_add(1, Ordering::Relaxed);
                app.post_raw(&format!("/threads/{thread}/end"), json!({}))
                    .await;
            }
            _ => {}
        }
    }
}

/// Waits until no turn runs: those that hang are cancelled.
async fn calm(app: &App) {
    app.until("calm", async || {
        let rows = app.pages("/threads?").await;
        let busy: Vec<_> = rows
            .iter()
            .filter(|row| row["status"] == "thinking")
            .collect();
        for row in &busy {
            let path = format!("/threads/{}/cancel", row["id"].as_str().unwrap());
            app.post_raw(&path, json!({})).await;
        }
        busy.is_empty()
    })
    .await;
}

on_both!(no_call_of_a_storm_is_without_one_result, |medium| {
    let server = server().await;
    let stub = Stub::start().await;
    stub.on_each(decision, answer);
    let mut app = setup(medium, &stub, &server)
        .env("THINKD_TURN__POLICY", "interrupt")
        .start()
        .await;
    let url = app.database().to_owned();
    let mut random = Random(0x5eed_0000_0000_0007);
    // How many threads of each have ended: the next one has another name.
    let ended: [AtomicUsize; THREADS] = std::array::from_fn(|_| AtomicUsize::new(0));
    let mut kills = 0;
    loop {
        let gusts = (0..THREADS).map(|number| {
            let seed = random.below(u64::MAX - 1) + 1;
            gust(&app, number, Random(seed), &ended[number])
        });
        futures_util::future::join_all(gusts).await;
        app.kill();
        kills += 1;
        let calls = oracle::calls(&url).await.unwrap();
        assert_eq!(calls.faults(), Vec::<String>::new());
        app.start_again().await;
        if calls.over() >= wanted() {
            break;
        }
    }
    calm(&app).await;
    app.kill();
    let calls = oracle::calls(&url).await.unwrap();
    let over = calls.over();
    let faults = calls.faults();
    println!(
        "{over} calls of turns that ended, {} ends of threads, {kills} kills: {} without exactly one result",
        ended
            .iter()
            .map(|it| it.load(Ordering::Relaxed))
            .sum::<usize>(),
        faults.len()
    );
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(calls.open(), 0, "no turn is left open");
    // What reaches outside is not done twice.
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    for call in server.heard("tools/call") {
        if matches!(call["params"]["name"].as_str(), Some("pay" | "hang")) {
            *made
                .entry(call["params"]["arguments"]["text"].to_string())
                .or_default() += 1;
        }
    }
    let twice: Vec<_> = made.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "made twice: {twice:?}");
});
