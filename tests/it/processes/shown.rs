//! The row of a thread and its status hints: the waiting input, the work, the ends, the input put
//! aside.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

/// The statuses of a thread that a socket was shown, in order.
fn statuses(socket: &Socket, thread: &str) -> Vec<String> {
    let of = |frame: &&Value| frame["type"] == "status" && frame["thread"] == thread;
    socket
        .seen
        .iter()
        .filter(of)
        .map(|frame| frame["status"].as_str().unwrap().to_owned())
        .collect()
}

// What a turn is about does not wait any more: neither for who looks, nor for the limit of what may wait.
on_sqlite!(what_is_in_work_does_not_count_as_waiting, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(at("main"), reply("Done.").held(&gate));
    let app = Setup::new(medium, &stub)
        .voices(&["a"])
        .env("THINKD_LIMITS__WAITING_INPUTS", 2)
        .start()
        .await;
    let mut socket = app.socket().await;
    let queued = async || app.get("/threads/main").await.expect(200)["queued"].clone();
    app.say_in("main", "one").await;
    stub.request(at("main")).await;
    assert_eq!(queued().await, 0, "it is in work");
    app.say_in("main", "two").await;
    app.say_in("main", "three").await;
    assert_eq!(queued().await, 2);
    let refused = app
        .post("/threads/main/messages", json!({ "text": "four" }))
        .await;
    refused.expect_problem(429, "queue-full");
    gate.open();
    turn_over(&mut socket, "main", 2).await;
    assert_eq!(queued().await, 0);
});

// The same at another server, as soon as the turn's beginning is in the log.
#[tokio::test]
async fn what_another_server_works_on_does_not_count_as_waiting_postgres() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(at("main"), reply("Done.").held(&gate));
    let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    let other = app.beside().await;
    app.say_in("main", "one").await;
    stub.request(at("main")).await;
    assert_eq!(other.get("/threads/main").await.expect(200)["queued"], 0);
    other.say_in("main", "two").await;
    assert_eq!(other.get("/threads/main").await.expect(200)["queued"], 1);
    gate.open();
}

// Who follows the statuses alone knows that a thread has ended, also when its end cut off its work.
on_sqlite!(the_last_status_of_an_ended_thread_is_its_end, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(at("busy"), asleep().held(&gate));
    stub.on(at("talk"), reply("Done.").held(&gate));
    stub.on(at("done"), call("terminate", json!({ "reason": "enough" })));
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["busy", "done"]).await;
    for thread in ["busy", "talk"] {
        app.say_in(thread, "go").await;
        stub.request(at(thread)).await;
        app.post(&format!("/threads/{thread}/end"), json!({}))
            .await
            .expect(200);
        turn_over(&mut socket, thread, 1).await;
    }
    app.say_in("done", "go").await;
    turn_over(&mut socket, "done", 1).await;
    socket.quiet(ms(300), |_| false).await;
    for (thread, last) in [("busy", "stopped"), ("talk", "stopped"), ("done", "done")] {
        let statuses = statuses(&socket, thread);
        assert_eq!(
            statuses.last().map(String::as_str),
            Some(last),
            "{thread}: {statuses:?}"
        );
    }
});

// A subthread that was put aside and is at work again is not aside: it takes a place until it sleeps and makes room again.
on_sqlite!(a_subthread_that_works_again_is_not_archived, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    let spawn = |label: &str| {
        let arguments = json!({ "label": label, "prompt": null, "payload": "begin" });
        call("spawn_thread", arguments)
    };
    stub.script(at("p"), [spawn("a"), asleep(), spawn("b"), asleep()]);
    stub.script(at("p.a"), [asleep(), asleep().held(&gate)]);
    stub.on(Request::is_decision, asleep());
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_BUDGET__SUBTHREADS", 1)
        .start()
        .await;
    let mut socket = app.socket().await;
    processes(&app, &["p"]).await;
    for (turn, child) in [(1, "p.a"), (2, "p.b")] {
        app.say_in("p", "one more").await;
        turn_over(&mut socket, "p", turn).await;
        turn_over(&mut socket, child, 1).await;
    }
    let archived = async |thread: &str| {
        app.get(&format!("/threads/{thread}")).await.expect(200)["archived"].clone()
    };
    assert_eq!(
        (archived("p.a").await, archived("p.b").await),
        (json!(true), json!(false))
    );
    app.say_in("p.a", "still there?").await;
    stub.nth(1, at("p.a")).await;
    assert_eq!(archived("p.a").await, false);
    assert_eq!(
        app.get("/threads/p").await.expect(200)["budget"]["subthreads"],
        2,
        "both count"
    );
    gate.open();
    turn_over(&mut socket, "p.a", 2).await;
    assert_eq!(archived("p.a").await, false, "nobody put it aside again");
    for (thread, left) in [("p.a", 1), ("p.b", 0)] {
        app.post(&format!("/threads/{thread}/end"), json!({}))
            .await
            .expect(200);
        assert_eq!(
            app.get("/threads/p").await.expect(200)["budget"]["subthreads"],
            left
        );
    }
    rows_are_what_the_log_says(&mut app).await;
});

// A name means one thread: which of two is meant nobody could say.
on_sqlite!(two_contacts_of_one_name_are_refused, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    processes(&app, &["x", "y"]).await;
    let named =
        |name: &str, thread: &str| json!({ "name": name, "thread": thread, "description": "d" });
    let refused = [
        json!([
            named("friend", "x"),
            named("other", "y"),
            named("friend", "y")
        ]),
        json!([named("friend", "x"), named("friend", "x")]),
        json!([named("self", "x")]),
        json!([named("parent", "x")]),
    ];
    for contacts in refused {
        let last = contacts.as_array().unwrap().len() - 1;
        let body = json!({ "label": "p", "kind": "process", "contacts": contacts });
        let problem = app
            .post("/threads", body)
            .await
            .expect_problem(422, "unprocessable");
        assert_eq!(
            problem["errors"][0]["pointer"],
            format!("/contacts/{last}/name"),
            "{problem}"
        );
    }
    app.get("/threads/p").await.expect_problem(404, "not-found");
    app.process(
        "p",
        json!({ "contacts": [named("friend", "x"), named("other", "x")] }),
    )
    .await;
});

// What a thread waits for and is reminded of is seen from outside, and a list can be asked for some of the threads alone.
on_sqlite!(
    what_is_open_in_a_thread_is_shown_and_lists_take_filters,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let gather =
            json!({ "items": ["one", "two"], "prompt": null, "gather": true, "timeout_s": 600 });
        let watch = json!({ "kind": "input", "from": null, "note": "look up" });
        let open = call("fan_out", gather)
            .and("set_timer", json!({ "after_s": 60, "note": "tea" }))
            .and("watch", watch);
        stub.script(at("p"), [open, asleep()]);
        stub.on(
            |r: &Request| r.is_decision() && r.thread.ends_with("-0"),
            call("terminate", json!({ "reason": "here" })),
        );
        stub.on(
            |r: &Request| r.is_decision() && r.thread.ends_with("-1"),
            asleep().held(&gate),
        );
        stub.on(at("q"), status(400));
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["p", "p-2", "q"]).await;
        app.say_in("p", "go").await;
        turn_over(&mut socket, "p", 1).await;
        socket
            .event("the first part", |e| {
                e["thread"] == "p" && has(e, "thread-ended")
            })
            .await;
        app.say_in("q", "go").await;
        turn_over(&mut socket, "q", 1).await;
        let thread = app.get("/threads/p").await.expect(200);
        let gathering = &thread["gatherings"][0];
        assert_eq!(
            (&gathering["back"], &gathering["of"]),
            (&json!(1), &json!(2)),
            "{thread}"
        );
        assert!(
            gathering["until"]
                .as_str()
                .is_some_and(|until| until.ends_with('Z')),
            "{thread}"
        );
        let timers = thread["timers"].as_array().unwrap();
        assert_eq!(
            (timers.len(), &timers[0]["note"]),
            (1, &json!("tea")),
            "{thread}"
        );
        assert_eq!(
            (
                &thread["watches"][0]["kind"],
                &thread["watches"][0]["raised"]
            ),
            (&json!("input"), &json!(false))
        );
        let ids = async |query: &str| {
            let threads = app.pages(&format!("/threads?{query}&")).await;
            threads
                .iter()
                .map(|thread| thread["id"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let all = ids("").await;
        // "-" comes before ".".
        let first = &all[2];
        let second = &all[3];
        assert!(
            all.len() == 5 && all[1] == "p-2" && first.ends_with("-0") && second.ends_with("-1"),
            "{all:?}"
        );
        assert_eq!(ids("parent=p").await, [first.as_str(), second]);
        assert_eq!(ids("subtree=p").await, ["p", first, second]);
        assert_eq!(ids("subtree=p&status=done").await, [first.as_str()]);
        assert_eq!(ids("status=thinking").await, [second.as_str()]);
        assert_eq!(ids("stuck=true").await, ["q"]);
        assert_eq!(ids("kind=conversation").await, Vec::<String>::new());
        let first = app.get("/threads?kind=process&limit=1").await.expect(200);
        let next = app
            .get(&format!(
                "/threads?kind=process&limit=1&cursor={}",
                first["next"].as_str().unwrap()
            ))
            .await
            .expect(200);
        assert_eq!(
            (&first["items"][0]["id"], &next["items"][0]["id"]),
            (&json!("p"), &json!("p-2")),
            "{all:?}"
        );
        for wrong in [
            "status=asleep",
            "kind=cat",
            "stuck=maybe",
            "parent=A",
            "subtree=.",
        ] {
            let refused = app.get(&format!("/threads?{wrong}")).await;
            assert_eq!(refused.status, 400, "{wrong}: {}", refused.text);
        }
        gate.open();
        rows_are_what_the_log_says(&mut app).await;
    }
);

// One request looks at so many threads and no more, however few of them are what is asked for: the rest are a page of their own.
on_sqlite!(
    a_list_of_few_among_many_threads_is_looked_for_page_by_page,
    |medium| {
        let stub = Stub::start().await;
        stored::processes(&medium, (0..2500).map(|n| format!("t{n:04}"))).await;
        let app = App::start(medium, &stub).await;
        for id in ["t0000", "t2400"] {
            app.post(&format!("/threads/{id}/end"), json!({}))
                .await
                .expect(200);
        }
        let ids = |page: &Value| -> Vec<String> {
            page["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row["id"].as_str().unwrap().to_owned())
                .collect()
        };
        let after = |page: &Value| page["next"].as_str().map(|next| format!("&cursor={next}"));
        let first = app.get("/threads?status=stopped").await.expect(200);
        assert_eq!(ids(&first), ["t0000"], "not all of them are looked at");
        let second = app
            .get(&format!(
                "/threads?status=stopped{}",
                after(&first).unwrap()
            ))
            .await
            .expect(200);
        assert_eq!(
            (ids(&second), after(&second)),
            (vec!["t2400".to_owned()], None)
        );
        let none = app.get("/threads?status=failed").await.expect(200);
        assert_eq!(ids(&none), Vec::<String>::new());
        let end = app
            .get(&format!("/threads?status=failed{}", after(&none).unwrap()))
            .await
            .expect(200);
        assert_eq!((ids(&end), after(&end)), (Vec::new(), None));
        // All of them are found once.
        assert_eq!(app.pages("/threads?status=idle&").await.len(), 2498);
        assert_eq!(app.pages("/threads?").await.len(), 2500);
    }
);

// Nothing waits for a thread that will have no turn any more.
on_sqlite!(nothing_waits_for_an_ended_thread, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(at("talk"), reply("Done.").held(&gate));
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    app.say_in("talk", "one").await;
    stub.request(at("talk")).await;
    app.say_in("talk", "two").await;
    assert_eq!(
        app.get("/threads/talk").await.expect(200)["queued"],
        1,
        "control: as long as it lives"
    );
    let ended = app.post("/threads/talk/end", json!({})).await.expect(200);
    assert_eq!(ended["queued"], 0, "{ended}");
    turn_over(&mut socket, "talk", 1).await;
    assert_eq!(app.get("/threads/talk").await.expect(200)["queued"], 0);
    socket.quiet(ms(300), |_| false).await;
    let last = socket
        .seen
        .iter()
        .rfind(|frame| frame["type"] == "status" && frame["thread"] == "talk")
        .unwrap();
    assert_eq!(
        (&last["status"], &last["queued"]),
        (&json!("stopped"), &json!(0))
    );
});

// Of a message and an end at the same time one is first: what comes behind the end is refused, and not acknowledged for nobody.
on_sqlite!(
    no_message_is_stored_behind_the_end_of_its_thread,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        for round in 0..12 {
            let thread = format!("talk-{round}");
            app.tell_in(&thread, "hello").await;
            let say = |n: usize| {
                app.request("POST", &format!("/threads/{thread}/messages"))
                    .json(&json!({ "text": format!("{n}") }))
            };
            let end = app.request("POST", &format!("/threads/{thread}/end"));
            let says: Vec<_> = (0..24).map(|n| tokio::spawn(http::send(say(n)))).collect();
            tokio::spawn(http::send(end)).await.unwrap().expect(200);
            let mut stored = 1;
            for said in says {
                let reply = said.await.unwrap();
                stored += usize::from(reply.status == 202);
                assert!(
                    reply.status == 202 || (reply.status, reply.slug()) == (409, "thread-ended"),
                    "{}",
                    reply.text
                );
            }
            let log = app
                .pages(&format!("/events?order=asc&thread={thread}&"))
                .await;
            let end = seq(one(&log, &["set:thread"]));
            let inputs = with(&log, &["input"]);
            assert_eq!(
                inputs.len(),
                stored,
                "what is acknowledged is there, and nothing else"
            );
            assert!(
                inputs.iter().all(|input| seq(input) < end),
                "round {round}: {}",
                story(&log)
            );
        }
    }
);
