//! Rounds over all spaces: however much one of them has to be done, another's turn comes.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use thinkd_event::draft::Draft;
use thinkd_log::appended::Append;
use thinkd_log::options::Options;
use thinkd_log::store;
use thinkd_log::thread_row::ThreadRow;
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::time::{Timestamp, now};

use super::*;

fn thread(name: &str) -> ThreadId {
    ThreadId::parse(name).unwrap()
}

/// A server that starts on a log with these events, many in an append.
async fn logged(medium: &Medium, events: Vec<(&str, Vec<Draft>)>) {
    let store = store::open(medium.url(), Options::default(), ThreadRow::apply)
        .await
        .unwrap();
    for (space, drafts) in events {
        for some in drafts.chunks(400) {
            store
                .append(Append::free(&Space::parse(space).unwrap(), some.to_vec()))
                .await
                .unwrap();
        }
    }
    store.close().await;
}

fn timer(name: &str, due: Timestamp) -> Draft {
    Draft::changed(
        &thread("main"),
        "timer",
        name,
        json!({ "due": due, "note": "wake up" }),
    )
}

on_both!(
    a_tenants_timer_is_fired_while_another_has_thousands_due,
    |medium| {
        let stub = Stub::start().await;
        stub.on(|request| request.is_decision(), reply("never").never());
        let past = |micros: i64| Timestamp::from_micros(now().micros() - 10_000_000 + micros);
        let many = (0..4000)
            .map(|number| timer(&format!("t-{number}"), past(number)))
            .collect();
        logged(
            &medium,
            vec![("a", many), ("b", vec![timer("one", past(9000))])],
        )
        .await;
        let app = tenants(medium, &stub).start_bare().await;
        let fired = |tenant: Tenant<'_>| {
            let request = tenant.request("GET", "/events?order=asc&tags=timer&limit=500");
            async move {
                http::send(request).await.expect(200)["items"]
                    .as_array()
                    .unwrap()
                    .clone()
            }
        };
        let mut socket = b(&app).socket().await;
        let fired_of_b = socket
            .until_some("B's timer", async || {
                let mut all = fired(b(&app)).await.into_iter();
                all.find(|event| !has(event, "set:timer"))
            })
            .await;
        // All of A's in the end; those that came before B's are a few appends' worth.
        let path = |more: &str| format!("/events?thread=main&tags=timer&limit=1{more}");
        let newest = |more: String| {
            let request = a(&app).request("GET", &path(&more));
            async move {
                http::send(request).await.expect(200)["items"]
                    .as_array()
                    .unwrap()
                    .first()
                    .cloned()
            }
        };
        a(&app)
            .socket()
            .await
            .until("A's timers", async || {
                newest(String::new())
                    .await
                    .is_some_and(|event| seq(&event) >= 8000)
            })
            .await;
        let before = format!("&before_ts={}", fired_of_b["ts"].as_str().unwrap());
        let last = newest(before)
            .await
            .map_or(4000, |event| seq(&event).max(4000));
        assert!(
            last - 4000 <= 4 * 256,
            "{} of A's timers were fired before the one of B",
            last - 4000
        );
    }
);

on_both!(
    a_tenants_thread_is_found_while_another_has_hundreds_waiting,
    |medium| {
        let stub = Stub::start().await;
        let hanging =
            |request: &Request| request.is_decision() && request.thread.starts_with("hang");
        stub.on(hanging, reply("never").never());
        let input = |name: &str| {
            let draft = Draft::input(
                &thread(name),
                thinkd_event::draft::InputKind::Message,
                vec![thinkd_event::draft::Part::Text("hello".into())],
                None,
                thinkd_words::id::fresh(),
            );
            draft.into_iter().next().unwrap()
        };
        let many = (0..900)
            .map(|number| input(&format!("hang-{number}")))
            .collect();
        logged(&medium, vec![("a", many), ("b", vec![input("main")])]).await;
        let setup = tenants(medium, &stub).env("THINKD_TEST_RUNTIME__WORKERS", 8);
        let app = setup
            .env("THINKD_TEST_RUNTIME__SCAN_MS", 100)
            .start_bare()
            .await;
        stub.request(at("main")).await;
        stub.some(6, hanging).await;
        drop(app);
    }
);

/// Makes reads of the contacts of a space's threads slow from now on.
async fn slow_contacts(medium: &Medium, space: &str) {
    let slow = match medium.is_postgres() {
        true => "pg_sleep(1) is not null",
        false => {
            "(with recursive n (i) as (select 1 union all select i + 1 from n where i < 2000000) select count(*) from n) > 0"
        }
    };
    for text in [
        "alter table contacts rename to all_contacts".to_owned(),
        format!(
            "create view contacts as select * from all_contacts where space <> '{space}' or {slow}"
        ),
    ] {
        stored::execute(medium.url(), &text).await;
    }
}

// After a start all waits are looked at: those of one space do not wait until another's have been.
on_both!(
    a_tenants_waits_are_looked_at_while_that_takes_long_for_another,
    |medium| {
        let stub = Stub::start().await;
        stub.on(|request| request.is_decision(), reply("I see."));
        let wait = |name: &str| {
            let waiting = json!({ "waiting": { "from": "c", "name": "c" }, "seen": 1_000_000 });
            Draft::changed(&thread(name), "wait", name, waiting)
        };
        let contact = |name: &str| {
            Draft::changed(
                &thread(name),
                "contact",
                "c",
                json!({ "thread": "c", "description": "it" }),
            )
        };
        let names: Vec<String> = (0..60).map(|number| format!("t-{number}")).collect();
        let of_a = names
            .iter()
            .flat_map(|name| [contact(name), wait(name)])
            .collect();
        logged(&medium, vec![("a", of_a), ("b", vec![wait("lost")])]).await;
        slow_contacts(&medium, "a").await;
        let app = tenants(medium, &stub).start_bare().await;
        let mut socket = b(&app).socket().await;
        socket
            .until("what B's thread is told", async || {
                b(&app)
                    .get("/events?tags=system-thread-error&limit=1")
                    .await
                    .expect(200)["items"]
                    != json!([])
            })
            .await;
    }
);
