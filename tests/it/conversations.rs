//! Lists of conversations: titles, the first and the last line, threads that are put aside.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

on_sqlite!(
    a_list_has_the_first_and_the_last_line_of_each_thread,
    |medium| {
        let stub = Stub::start().await;
        stub.on_each(decision, |request| {
            reply(&format!("ok: {}", request.last_user()))
        });
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        app.tell_in("a", &format!("one {}", "x".repeat(400))).await;
        app.tell_in("a", "two").await;
        app.conversation(json!({ "label": "b" })).await;
        let page = app.get("/threads?lines=true").await.expect(200);
        let [a, b] = [&page["items"][0], &page["items"][1]];
        let first = a["first"]["text"].as_str().unwrap();
        assert!(first.starts_with("one xxx") && first.chars().count() == 200);
        assert_eq!(
            (&a["first"]["by"], &a["last"]["by"]),
            (&json!("person"), &json!("mind"))
        );
        assert_eq!(a["last"]["text"], "ok: two");
        let before = a["last"]["seq"].as_i64().unwrap() - 1;
        let path = format!("/events?after={before}&order=asc&limit=1");
        let last = app.get(&path).await.expect(200)["items"][0].clone();
        assert_eq!(said(&last), "ok: two");
        assert_eq!(
            (b.get("first"), b.get("last")),
            (None, None),
            "nothing was said"
        );
        let plain = app.get("/threads").await.expect(200);
        assert_eq!(plain["items"][0].get("first"), None);
        app.get("/threads?lines=true&limit=101")
            .await
            .expect_problem(400, "invalid-parameter");
    }
);

on_sqlite!(
    a_person_gives_a_thread_a_title_and_puts_it_aside,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, reply("ok"));
        let mut app = Setup::new(medium, &stub).voices(&[]).start().await;
        app.tell_in("a", "one").await;
        let changed = app
            .patch("/threads/a", json!({ "title": "Clocks", "archived": true }))
            .await
            .expect(200);
        assert_eq!(
            (&changed["title"], &changed["archived"]),
            (&json!("Clocks"), &json!(true))
        );
        let head = app.log().await.len();
        app.patch("/threads/a", json!({ "title": "Clocks", "archived": true }))
            .await
            .expect(200);
        assert_eq!(app.log().await.len(), head, "the same again stores nothing");
        // A rebuild folds the same rows.
        app.restart().await;
        let row = app.get("/threads/a").await.expect(200);
        assert_eq!(
            (&row["title"], &row["archived"]),
            (&json!("Clocks"), &json!(true))
        );
        // A message takes it up again.
        app.tell_in("a", "two").await;
        let row = app.get("/threads/a").await.expect(200);
        assert_eq!(
            (&row["title"], &row["archived"]),
            (&json!("Clocks"), &json!(false))
        );
        let bare = app
            .patch("/threads/a", json!({ "title": null }))
            .await
            .expect(200);
        assert_eq!(bare["title"], Value::Null);
    }
);

on_sqlite!(
    a_change_of_a_thread_that_cannot_be_is_refused_by_name,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, reply("ok"));
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        app.tell_in("a", "one").await;
        let below = json!({ "label": "worker", "parent": "a", "kind": "process" });
        let below = app.post("/threads", below).await.expect(201);
        let below = below["id"].as_str().unwrap();
        let before = app.log().await.len();
        for (path, body, status, slug) in [
            (
                "/threads/none".to_owned(),
                json!({ "title": "x" }),
                404,
                "not-found",
            ),
            (
                "/threads/a".to_owned(),
                json!({ "title": "" }),
                400,
                "invalid-frame",
            ),
            (
                "/threads/a".to_owned(),
                json!({ "title": "x".repeat(201) }),
                400,
                "text-too-large",
            ),
            (
                "/threads/a".to_owned(),
                json!({ "title": "two\nlines" }),
                400,
                "invalid-frame",
            ),
            (
                "/threads/a".to_owned(),
                json!({ "name": "x" }),
                400,
                "unknown-member",
            ),
            (
                format!("/threads/{below}"),
                json!({ "archived": true }),
                422,
                "unprocessable",
            ),
        ] {
            app.patch(&path, body).await.expect_problem(status, slug);
        }
        assert_eq!(app.log().await.len(), before);
    }
);

on_sqlite!(
    a_title_is_made_by_the_ordinary_model_and_its_cost_is_counted,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, reply("Time is a river."));
        stub.on(any, text("\"Rivers of time\"\n").usage(30, 4, 0));
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        app.tell_in("a", "what is time?").await;
        let made = app.post("/threads/a/title", json!({})).await.expect(200);
        assert_eq!(made["title"], "Rivers of time");
        assert_eq!(
            app.get("/threads/a").await.expect(200)["title"],
            "Rivers of time"
        );
        let asked = stub.nth(1, any).await;
        assert!(asked.says("what is time?") && asked.says("Time is a river."));
        let usage = app.get("/usage?by=purpose").await.expect(200);
        assert!(usage.to_string().contains("\"title\""), "{usage}");
        // The title is no part of the conversation.
        assert_eq!(
            app.get("/messages?thread=a")
                .await
                .expect(200)
                .as_array()
                .unwrap()
                .len(),
            2
        );
        app.conversation(json!({ "label": "empty" })).await;
        app.post("/threads/empty/title", json!({}))
            .await
            .expect_problem(422, "unprocessable");
        stub.clear();
        stub.on(any, status(401));
        app.post("/threads/a/title", json!({}))
            .await
            .expect_problem(502, "model-failed");
        assert_eq!(
            app.get("/threads/a").await.expect(200)["title"],
            "Rivers of time"
        );
    }
);
