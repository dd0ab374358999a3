//! One sender's order on a socket when the store fails under a pipeline of frames. Every `on_both!` is two `#[tokio::test]`s, one a
//! database.

use serde_json::{Value, json};

use kit::faults::execute;
use kit::*;

/// From now on the database takes nothing that says this.
async fn refuse(app: &App, text: &str) {
    let when = format!("new.payload like '%\"{text}\"%'");
    let sql = if app.is_postgres() {
        format!(
            "create or replace function refuse() returns trigger language plpgsql as $$ begin \
             raise exception 'no room' using errcode = '53100'; end $$; \
             create trigger refuse before insert on events for each row when ({when}) execute function refuse()"
        )
    } else {
        format!(
            "create trigger refuse before insert on events when {when} begin select raise(abort, 'no room'); end"
        )
    };
    execute(app, &sql).await;
}

/// From now on it takes everything.
async fn take(app: &App) {
    execute(
        app,
        if app.is_postgres() {
            "drop trigger refuse on events"
        } else {
            "drop trigger refuse"
        },
    )
    .await;
}

fn message(number: usize) -> Value {
    let id = thinkd_words::id::fresh().to_string();
    json!({ "type": "message", "id": id, "event_id": id, "text": format!("no {number}") })
}

async fn answer(socket: &mut Socket, frame: &Value) -> Value {
    let of_it =
        |f: &Value| f["id"] == frame["id"] && (f["type"] == "ack" || f["type"] == "problem");
    socket.wait("an answer", of_it).await
}

async fn inputs(app: &App) -> Vec<String> {
    with(&app.public_log().await, &["input"])
        .iter()
        .map(|event| said(event).to_owned())
        .collect()
}

on_both!(
    d4_8_what_stands_behind_a_refused_frame_is_stored_behind_it,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        refuse(&app, "no 3").await;
        let frames: Vec<Value> = (1..=12).map(message).collect();
        for frame in &frames {
            socket.send(frame.clone()).await;
        }
        let mut refused = Vec::new();
        for frame in &frames {
            let answer = answer(&mut socket, frame).await;
            if answer["type"] == "problem" {
                assert_eq!(
                    answer["problem"]["type"], "/problems/unavailable",
                    "{answer}"
                );
                refused.push(frame.clone());
            }
        }
        assert_eq!(
            refused,
            frames[2..],
            "the third, and all that stand behind it"
        );
        take(&app).await;
        for frame in &refused {
            socket.send(frame.clone()).await;
        }
        for frame in &refused {
            assert_eq!(answer(&mut socket, frame).await["type"], "ack");
        }
        let wanted: Vec<String> = (1..=12).map(|number| format!("no {number}")).collect();
        assert_eq!(inputs(&app).await, wanted, "in the sender's order");
        // Another socket is another sender.
        let mut other = app.socket().await;
        refuse(&app, "no 13").await;
        assert_eq!(socket.ask(message(13)).await["type"], "problem");
        assert_eq!(other.ask(message(14)).await["type"], "ack");
        take(&app).await;
    }
);

on_both!(
    d4_8_a_sender_that_does_not_send_again_is_not_kept_out,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        refuse(&app, "no 1").await;
        // Nobody could know a frame without an id again: whoever has been told may go on at once.
        let bare = json!({ "type": "message", "text": "no 1" });
        assert_eq!(
            socket.ask(bare).await["problem"]["type"],
            "/problems/unavailable"
        );
        assert_eq!(
            socket.ask(json!({ "type": "message", "text": "on" })).await["type"],
            "ack"
        );
        // One that could be is waited for, for a while; what is no input is not held up.
        assert_eq!(socket.ask(message(1)).await["type"], "problem");
        assert_eq!(
            socket.ask(message(2)).await["type"],
            "problem",
            "the first one is not there yet"
        );
        assert_eq!(socket.ask(json!({ "type": "ping" })).await["type"], "ack");
        let later = message(2);
        polled("the end of the wait", async || {
            socket.ask(later.clone()).await["type"] == "ack"
        })
        .await;
        assert_eq!(inputs(&app).await, ["on", "no 2"]);
    }
);
