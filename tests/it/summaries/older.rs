//! The reach of the first summary in a conversation that is older than summaries.

use super::*;

/// Makes a conversation of 243 events without a summary, from then on summed up so far back.
async fn long_one(medium: Medium, stub: &Stub, back: u64) -> App {
    let mut app = sums_up(medium, stub)
        .env("THINKD_HISTORY__SUMMARIES", false)
        .start()
        .await;
    talk(&app, 0..80).await;
    assert_eq!(stub.count(summing), 0);
    app.set_env("THINKD_HISTORY__SUMMARIES", true);
    app.set_env("THINKD_TEST_HISTORY__SUMMARIES_BACK", back);
    app.restart().await;
    talk(&app, 80..81).await;
    summed_up(&app, "main", 210).await;
    app.tell("the last one").await;
    app
}

on_sqlite!(
    d4_59_of_an_older_log_so_much_is_summed_up_as_is_configured_and_the_rest_is_counted,
    |medium| {
        let stub = summarist().await;
        let mut app = long_one(medium, &stub, 90).await;
        let last = stub.all(decision).pop().unwrap();
        let all = visible(&app.public_log().await, "main");
        let shown = [stood_for(&last), last.seqs()].concat();
        let from = all.iter().position(|seq| *seq == shown[0]).unwrap();
        assert_eq!(
            shown,
            all[from..from + shown.len()],
            "from there on nothing is missing"
        );
        assert!((110..=160).contains(&from), "{from}");
        assert!(
            last.says(&format!("{from} earlier entries are left out here;")),
            "{last:?}"
        );
        views_are_exact(&app, "call:decision").await;
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    d4_59_where_it_may_go_back_to_the_beginning_nothing_is_left_out,
    |medium| {
        let stub = summarist().await;
        let app = long_one(medium, &stub, 1_000_000).await;
        let last = stub.all(decision).pop().unwrap();
        let all = visible(&app.public_log().await, "main");
        let shown = [stood_for(&last), last.seqs()].concat();
        assert_eq!(shown, all[..shown.len()]);
        assert!(!last.says("are left out here;"), "{last:?}");
    }
);
