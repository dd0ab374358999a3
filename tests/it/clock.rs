//! The clock of prompts: each entry names its zone, which a space may set. Text that models have
//! seen stays as it was, and every recorded call is rebuilt byte for byte.

use serde_json::{Value, json};
use thinkd_event::draft::Draft;
use thinkd_words::text::sha256;
use thinkd_words::time::Timestamp;

use kit::*;

async fn set_zone(app: &App, zone: Value) -> Reply {
    let change = json!({ "settings": { "time_zone": zone } });
    http::send(app.request("PUT", "/settings").json(&change)).await
}

/// The lines of a prompt's transcript that hold these words.
fn line(stub: &Stub, words: &str) -> String {
    let request = stub.requests().pop().unwrap();
    let text = request.text();
    let found = text.lines().find(|line| line.ends_with(words));
    found
        .unwrap_or_else(|| panic!("{words:?} is not in {text}"))
        .to_owned()
}

/// The time of an event as a prompt in this zone shows it.
fn shown(event: &Value, zone: &str) -> String {
    let at = Timestamp::parse(event["ts"].as_str().unwrap()).unwrap();
    let at = jiff::Timestamp::from_microsecond(at.micros()).unwrap();
    let local = at.in_tz(zone).unwrap().datetime();
    format!(
        "{} {:02}:{:02} {zone}",
        local.date(),
        local.hour(),
        local.minute()
    )
}

async fn records(app: &App) -> Vec<Value> {
    with(&app.log().await, &["call:decision"])
        .into_iter()
        .cloned()
        .collect()
}

async fn is_exact(app: &App, record: &Value) -> bool {
    let id = record["event_id"].as_str().unwrap();
    let view = app.get(&format!("/prompt-views/{id}")).await.expect(200);
    view["exact"] == true
}

on_both!(
    an_entry_names_the_zone_that_was_set_when_it_came,
    |medium| {
        let stub = Stub::start().await;
        stub.on(any, reply("hello"));
        let mut app = App::start(medium, &stub).await;
        app.tell("first words").await;
        let first = line(&stub, "first words");
        assert!(first.contains(" UTC] user: "), "{first}");
        set_zone(&app, json!("Asia/Kathmandu")).await.expect(200);
        app.tell("second words").await;
        assert_eq!(
            line(&stub, "first words"),
            first,
            "what was seen stays as it was"
        );
        let second = line(&stub, "second words");
        set_zone(&app, json!("America/St_Johns")).await.expect(200);
        app.tell("third words").await;
        let third = line(&stub, "third words");
        let log = app.log().await;
        for (line, words, zone) in [
            (&second, "second words", "Asia/Kathmandu"),
            (&third, "third words", "America/St_Johns"),
        ] {
            let event = log.iter().find(|event| said(event) == words).unwrap();
            let expected = format!("[{}] user", shown(event, zone));
            assert!(line.contains(&expected), "{line} has no {expected}");
        }
        set_zone(&app, json!("UTC")).await.expect(200);
        app.tell("fourth words").await;
        assert_eq!(line(&stub, "second words"), second);
        assert!(line(&stub, "fourth words").contains(" UTC] user"));
        app.restart().await;
        app.tell("fifth words").await;
        assert_eq!(line(&stub, "third words"), third, "after a restart, too");
        let records = records(&app).await;
        assert!(records.len() >= 5);
        for record in &records {
            assert!(is_exact(&app, record).await, "{record}");
        }
    }
);

on_both!(
    a_call_of_a_renderer_that_named_no_zone_is_rebuilt,
    |medium| {
        let stub = Stub::start().await;
        stub.on(any, reply("hello"));
        let mut app = App::start(medium, &stub).await;
        app.tell("old words").await;
        let record = records(&app).await.remove(0);
        assert_eq!(record["payload"]["view"]["renderer"], 4);
        // As the version before sent it, and recorded it.
        let sent = stub.all(decision).remove(0);
        let sent = String::from_utf8(sent.bytes.to_vec()).unwrap();
        assert!(sent.contains(" UTC] user"));
        let new = sha256(sent.as_bytes());
        let old = sha256(sent.replace(" UTC] ", "] ").as_bytes());
        assert_eq!(record["payload"]["request_sha256"], new.as_str());
        let mut payload = record["payload"].clone();
        payload["view"]["renderer"] = json!(3);
        payload["request_sha256"] = json!(old);
        let read = |member: &str| record[member].clone();
        let draft = Draft {
            source: serde_json::from_value(read("source")).unwrap(),
            modality: serde_json::from_value(read("modality")).unwrap(),
            payload: serde_json::from_value(payload).unwrap(),
            ..stored::draft("main", "", &tags(&record))
        };
        assert!(app.stop().await.success());
        let store = stored::open_at(app.database()).await;
        stored::append(&store, draft).await;
        store.close().await;
        drop(store);
        app.start_again().await;
        set_zone(&app, json!("Europe/Berlin")).await.expect(200);
        assert!(is_exact(&app, &record).await);
    }
);

#[tokio::test]
async fn what_is_no_zone_of_the_database_is_refused() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    for wrong in [
        json!("Europe/Berlim"),
        json!("CET+1"),
        json!(""),
        json!("+02:00"),
        json!(2),
        Value::Null,
        json!("../etc/passwd"),
    ] {
        let refused = set_zone(&app, wrong.clone()).await;
        let problem = refused.expect_problem(400, "invalid-frame");
        let said = problem.to_string();
        assert!(
            said.contains("IANA") && said.contains("/settings/time_zone"),
            "{wrong}: {said}"
        );
    }
    let set = set_zone(&app, json!("Europe/Berlin")).await.expect(200);
    assert_eq!(set["settings"]["time_zone"], "Europe/Berlin");
}
