//! Forks while the server dies or its disk is full: each is there whole, or not at all, and the same request makes it then.

use serde_json::json;
use thinkd_words::id::fresh;

use super::views::Numbers;
use super::{chat, ends, events, fork, spoken};
use crate::crash::idle;
use kit::store_faults::{can_fail, fail, mend, until_ready};
use kit::*;

const KILLS: usize = 12;

on_both!(
    a_fork_in_flight_at_a_kill_is_whole_or_not_there_and_its_retry_makes_one,
    |medium| {
        let (_stub, mut app) = spoken(medium).await;
        let past = events(&app, "main").await;
        let ends = ends(&app, "main").await;
        let mut random = Numbers(43);
        let mut stored = 0;
        let mut lost = 0;
        for number in 0..KILLS {
            let thread = format!("branch-{number}");
            let end = number % ends.len();
            let message = json!({ "text": "go on", "event_id": fresh() });
            let wish = json!({ "at": ends[end], "thread": thread, "message": message });
            let sent = app.post_raw("/threads/main/fork", wish.clone());
            let _ = tokio::time::timeout(ms(random.below(12)), sent).await;
            app.restart().await;
            match app.get(&format!("/threads/{thread}")).await.status {
                200 => stored += 1,
                404 => lost += 1,
                status => panic!("{status}"),
            }
            let made = fork(&app, "main", wish).await;
            assert_eq!((made.thread.as_str(), made.at), (&*thread, ends[end]));
            let told =
                async || Some(chat(&app, &thread).await).filter(|it| it.len() >= 2 * end + 4);
            let words = app.until_some("the answer", told).await;
            assert_eq!(words[2 * end + 2..], ["go on", "ok: go on"]);
        }
        println!("{KILLS} kills: {stored} forks were stored, {lost} were not");
        idle(&app).await;
        assert_eq!(events(&app, "main").await, past, "the origin is as it was");
        envelope::check_log(&app.log().await);
        app.stop().await;
        let env = [("DATABASE_URL", app.database())];
        let (code, words) = app::ran(&app.folder(), &env, &["rebuild", "--check"]).await;
        assert_eq!(code, Some(0), "{words}");
    }
);

on_both!(
    a_fork_that_the_store_refuses_is_said_and_leaves_nothing,
    |medium| {
        if !can_fail(&medium) {
            return;
        }
        let (_stub, app) = spoken(medium).await;
        let before = app.log().await.len();
        let wish =
            json!({ "thread": "branch", "message": { "text": "go on", "event_id": fresh() } });
        fail(&app).await;
        app.post("/threads/main/fork", wish.clone())
            .await
            .expect_problem(503, "unavailable");
        mend(&app).await;
        until_ready(&app, 200).await;
        let missing = app.get("/threads/branch").await;
        missing.expect_problem(404, "not-found");
        let of_branch = |event: &&serde_json::Value| event["thread"] == "branch";
        assert_eq!(app.log().await.iter().filter(of_branch).count(), 0);
        fork(&app, "main", wish).await;
        idle(&app).await;
        assert_eq!(
            chat(&app, "branch").await[6..],
            ["go on", "ok: go on"],
            "{before} events before"
        );
    }
);
