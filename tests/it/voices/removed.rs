//! A voice that is removed while it speaks: it is asked nothing more, and any text that it still
//! says is kept as late.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

/// Returns the texts of a voice, with their tags.
fn said_by<'a>(log: &'a [Value], name: &str) -> Vec<(&'a str, Vec<&'a str>)> {
    let tag = format!("submodule:{name}");
    let spoke = |e: &&Value| {
        has(e, &tag) && !has(e, "failure") && !has(e, "decision") && e["modality"] == "text"
    };
    log.iter()
        .filter(spoke)
        .map(|event| (said(event), tags(event)))
        .collect()
}

// D4.29: removed while its model thinks. `stays` is the control: it was asked the same, at the same time.
on_sqlite!(
    d4_29_what_a_voice_says_after_its_removal_is_late_and_nobody_asks_it_again,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let after = Gate::new();
        stub.on(
            |r| r.is_comment() && r.voice() == "gone",
            text("Still here.").held(&gate),
        );
        stub.on(
            |r| r.is_comment() && r.voice() == "stays",
            text("Me, too.").held(&gate),
        );
        stub.on(decision, reply("Fine.").held(&after));
        let app = Setup::new(medium, &stub)
            .voices(&["gone", "stays"])
            .start()
            .await;
        let mut socket = app.socket().await;
        socket.say("hello").await;
        stub.some(2, Request::is_comment).await;
        app.delete("/submodules/gone").await.expect(204);
        gate.open();
        stub.request(decision).await;
        let log = app.public_log().await;
        assert_eq!(
            said_by(&log, "gone"),
            [("Still here.", vec!["submodule:gone", "late"])],
            "{}",
            story(&log)
        );
        assert_eq!(
            said_by(&log, "stays"),
            [("Me, too.", vec!["submodule:stays"])]
        );
        after.open();
        socket.response().await;
        stub.request(|r| r.is_follow_up() && r.voice() == "stays")
            .await;
        socket.say("and again").await;
        stub.some(2, |r| r.is_follow_up() && r.voice() == "stays")
            .await;
        assert_eq!(stub.count(voice("gone")), 1, "it was called anew");
    }
);

// Removed between the decision and its own follow-up, at another server where there is one.
on_sqlite!(
    a_voice_that_is_removed_while_the_decision_is_made_hears_nothing_of_it,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(decision, reply("Fine.").held(&gate));
        let app = Setup::new(medium, &stub)
            .voices(&["gone", "stays"])
            .start()
            .await;
        let mut socket = app.socket().await;
        socket.say("hello").await;
        stub.request(decision).await;
        match app.admin() {
            Some(_) => app
                .beside()
                .await
                .delete("/submodules/gone")
                .await
                .expect(204),
            None => app.delete("/submodules/gone").await.expect(204),
        };
        gate.open();
        stub.request(|r| r.is_follow_up() && r.voice() == "stays")
            .await;
        socket.quiet(ms(200), |_| false).await;
        assert_eq!(stub.count(voice("gone")), 1, "it was called anew");
        assert_eq!(said_by(&app.public_log().await, "gone").len(), 1);
    }
);

// While a removed voice still follows up, or is asked by the decision, its words are late as well.
on_sqlite!(a_removed_voice_is_late_whatever_it_was_asked, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(
        decision,
        [
            call("ask", json!({ "submodule": "asked", "question": "Well?" })),
            reply("Fine."),
        ],
    );
    stub.on(|r| r.is_question(), text("An answer.").held(&gate));
    stub.on(
        |r| r.is_follow_up() && r.voice() == "follows",
        text("An afterthought.").held(&gate),
    );
    let app = Setup::new(medium, &stub)
        .voices(&["asked", "follows"])
        .start()
        .await;
    let mut socket = app.socket().await;
    socket.say("hello").await;
    stub.request(|r| r.is_question()).await;
    app.delete("/submodules/asked").await.expect(204);
    gate.open();
    socket.response().await;
    stub.request(|r| r.is_follow_up() && r.voice() == "follows")
        .await;
    let log = app.public_log().await;
    assert_eq!(
        said_by(&log, "asked").last().unwrap(),
        &("An answer.", vec!["submodule:asked", "late"])
    );
    assert_eq!(stub.count(|r| r.is_follow_up() && r.voice() == "asked"), 0);
});

// A voice that uses tools is asked again after each: a removed one is not, and its turn goes on without it.
on_sqlite!(a_removed_voice_uses_no_more_tools, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    let put = |key: &str| {
        call(
            "state_put",
            json!({ "key": key, "content": "x", "related_keys": [] }),
        )
    };
    stub.script(
        voice("gone"),
        [
            put("one"),
            put("two").held(&gate),
            put("three"),
            text("Done."),
        ],
    );
    let app = Setup::new(medium, &stub).voices(&["gone"]).start().await;
    let mut socket = app.socket().await;
    socket.say("hello").await;
    stub.nth(1, voice("gone")).await;
    app.delete("/submodules/gone").await.expect(204);
    gate.open();
    socket.response().await;
    assert_eq!(stub.count(voice("gone")), 2, "it was called anew");
    app.get("/state/one").await.expect(200);
    app.get("/state/two").await.expect_problem(404, "not-found");
    let log = app.public_log().await;
    let failure = one(&log, &["failure", "submodule:gone"]);
    assert!(said(failure).contains("removed"), "{failure}");
});
