//! Summaries that cannot be made, or are cut off: recorded ones are not made again, failures are
//! bounded and reported, and nothing waits for them.

use super::*;

on_sqlite!(
    a_summary_that_was_killed_is_made_again_and_what_is_recorded_is_not,
    |medium| {
        let stub = Stub::start().await;
        stub.script(summing, [text("read 1")]);
        stub.script(summing, [text("never").never()]);
        stub.on_each(summing, read);
        let mut app = sums_up(medium, &stub).start().await;
        talk(&app, 0..12).await;
        summed_up(&app, "main", 30).await;
        talk(&app, 12..22).await;
        stub.nth(1, summing).await;
        app.restart().await;
        let log = summed_up(&app, "main", 60).await;
        let made = summaries(&log, "main");
        assert_eq!(made.len(), 2, "{}", story(&log));
        let asked: Vec<Vec<i64>> = stub
            .all(summing)
            .iter()
            .map(|request| request.seqs())
            .collect();
        assert!(
            asked.len() == 3 && asked[1] == asked[2] && asked[0] != asked[1],
            "only what was cut off is asked again: {asked:?}"
        );
        let records = app.log().await;
        assert_eq!(with(&records, &["debug", "call:summary"]).len(), 2);
        envelope::check_log(&records);
        rows_are_what_the_log_says(&mut app).await;
    }
);

#[tokio::test]
async fn of_two_servers_one_sums_up_and_when_it_dies_the_other_does() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    stub.script(summing, [text("never").never()]);
    stub.on_each(summing, read);
    let setup = sums_up(medium, &stub)
        .env("THINKD_TEST_RUNTIME__LEASE_MS", 600)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 200);
    let mut app = setup.start().await;
    talk(&app, 0..12).await;
    stub.request(summing).await;
    // Begun earlier, the other server might be the one that sums up.
    let other = app.beside().await;
    // The lease is held: another server that has turns does not ask for the same.
    talk(&other, 12..14).await;
    assert_eq!(stub.count(summing), 1);
    app.kill();
    let log = summed_up(&other, "main", 30).await;
    assert_eq!((summaries(&log, "main").len(), stub.count(summing)), (1, 2));
    assert_eq!(with(&log, &["summaries", "due"]).len(), 1, "asked for once");
    talk(&other, 14..24).await;
    summed_up(&other, "main", 60).await;
    talk(&other, 24..25).await;
    assert!(!stood_for(&stub.all(decision).pop().unwrap()).is_empty());
}

on_sqlite!(
    a_summary_that_cannot_be_made_is_given_up_and_tried_again_with_the_next_block,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            summing,
            [text("  \n"), text(&"long ".repeat(1000)), status(400)],
        );
        let gate = Gate::new();
        let held = gate.clone();
        stub.on_each(summing, move |request| read(request).held(&held));
        let app = sums_up(medium, &stub).start().await;
        talk(&app, 0..12).await;
        let failure = app
            .until_some("the failure", async || {
                let log = app.public_log().await;
                with(&log, &["failure", "summary"])
                    .first()
                    .map(|it| (*it).clone())
            })
            .await;
        assert_eq!(failure["thread"], "runs.summaries");
        assert!(
            said(&failure).contains("of main were not summed up"),
            "{failure}"
        );
        talk(&app, 12..19).await;
        assert_eq!(
            stub.count(summing),
            3,
            "tried three times, and not with every turn"
        );
        // The view says what is left out, as it does without summaries.
        talk(&app, 19..22).await;
        assert!(
            stub.all(decision)
                .pop()
                .unwrap()
                .says("30 earlier entries are left out here;")
        );
        // More leaves: all that has no summary is summed up, in disjoint pieces.
        gate.open();
        let log = summed_up(&app, "main", 60).await;
        assert_eq!(summaries(&log, "main").len(), 2);
        talk(&app, 22..23).await;
        let last = stub.all(decision).pop().unwrap();
        let shown = [stood_for(&last), last.seqs()].concat();
        assert_eq!(
            shown,
            visible(&app.public_log().await, "main")[..shown.len()]
        );
        let records = app.log().await;
        assert_eq!(
            with(&records, &["debug", "call:summary"]).len(),
            5,
            "each call has its record"
        );
    }
);

on_sqlite!(what_a_budget_refuses_is_not_summed_up, |medium| {
    let stub = summarist().await;
    let app = sums_up(medium, &stub)
        .env("THINKD_BUDGET__THREAD_MODEL_CALLS", 10)
        .start()
        .await;
    // Ten decisions: there is no call left for the summary, which draws on the budget of its conversation.
    talk(&app, 0..10).await;
    let refused = app
        .until_some("the refusal", async || {
            let log = app.public_log().await;
            if let Some(failure) = with(&log, &["failure", "summary"]).first() {
                return Some((*failure).clone());
            }
            if stub.count(summing) > 0 {
                panic!("a model was asked: {}", story(&log));
            }
            None
        })
        .await;
    assert!(
        said(&refused).contains("budget.thread_model_calls"),
        "{refused}"
    );
});

on_sqlite!(
    what_is_too_long_to_be_summed_up_is_halved_until_the_model_takes_it,
    |medium| {
        const WINDOW: usize = 4_000;
        let stub = Stub::start().await;
        stub.on_each(summing, |request| match request.bytes.len() > WINDOW {
            true => {
                let error =
                    json!({ "error": { "message": "Prompt exceeds max length", "code": "1261" } });
                raw(error.to_string()).with_status(400)
            }
            false => read(request),
        });
        let mut app = sums_up(medium, &stub).start().await;
        for at in 0..24 {
            app.tell(&format!("message {at}: {}", "and so on. ".repeat(60)))
                .await;
        }
        let log = summed_up(&app, "main", 30).await;
        let refused = stub.all(|request| summing(request) && request.bytes.len() > WINDOW);
        assert!(
            (1..=6).contains(&refused.len()),
            "{} were refused",
            refused.len()
        );
        let failures = with(&log, &["failure"]);
        assert!(failures.is_empty(), "{failures:#?}");
        views_are_exact(&app, "call:summary").await;
        rows_are_what_the_log_says(&mut app).await;
    }
);
