//! `follow_up` of a voice: whether it is asked once more after the decision. Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use thinkd_event::draft::Draft;
use thinkd_log::appended::Append;
use thinkd_words::id::{Space, ThreadId};

use super::*;
use kit::app::ran;

/// Each voice of the space, and whether it follows up.
async fn voices(app: &App) -> Vec<(String, bool)> {
    let listed = app.get("/submodules").await.expect(200);
    let voice = |row: &Value| {
        (
            row["name"].as_str().unwrap().to_owned(),
            row["follow_up"].as_bool().unwrap(),
        )
    };
    listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(voice)
        .collect()
}

fn follow_up_of(name: &'static str) -> impl Fn(&Request) -> bool {
    move |request| request.is_follow_up() && request.voice() == name
}

// D4.39: a voice whose own `follow_up` is off is not asked after the decision, and sees it in its next view.
on_sqlite!(
    d4_39_a_voice_that_does_not_follow_up_sees_the_decision_in_its_next_view,
    |medium| {
        let stub = Stub::start().await;
        stub.script(decision, [reply("The decision's own words.")]);
        let mut app = App::start(medium, &stub).await;
        let quiet = json!({ "name": "quiet", "prompt": "Say hm.", "follow_up": false });
        let made = app.post("/submodules", quiet).await.expect(201);
        assert_eq!(made["follow_up"], false, "{made}");
        let loud = json!({ "name": "loud", "prompt": "Say ho." });
        let made = app.post("/submodules", loud).await.expect(201);
        assert_eq!(made["follow_up"], true, "on, where nothing is said: {made}");
        app.tell("one").await;
        stub.request(follow_up_of("loud")).await;
        app.tell("two").await;
        stub.some(2, follow_up_of("loud")).await;
        assert_eq!(stub.count(follow_up_of("quiet")), 0, "it was asked again");
        let next = stub.nth(1, voice("quiet")).await;
        assert!(
            next.last_user() == "two" && next.says("The decision's own words."),
            "{next:?}"
        );
        // A change of the one leaves the other as it is, over a restart and a rebuild, too.
        app.patch("/submodules/quiet", json!({ "prompt": "Say hum." }))
            .await
            .expect(200);
        let said = app
            .patch("/submodules/loud", json!({ "follow_up": false }))
            .await
            .expect(200);
        assert_eq!(
            (&said["prompt"], &said["follow_up"]),
            (&json!("Say ho."), &json!(false))
        );
        let as_set = [("loud".to_owned(), false), ("quiet".to_owned(), false)];
        assert!(app.stop().await.success());
        let database = [("DATABASE_URL", app.database())];
        for arguments in [&["rebuild", "--check"][..], &["rebuild"]] {
            let (code, said) = ran(&app.folder(), &database, arguments).await;
            assert_eq!(code, Some(0), "{said}");
        }
        app.start_again().await;
        assert_eq!(voices(&app).await, as_set);
        app.tell("three").await;
        app.patch("/submodules/quiet", json!({ "follow_up": true }))
            .await
            .expect(200);
        app.tell("four").await;
        let asked = stub.request(follow_up_of("quiet")).await;
        assert!(asked.says("Say hum."), "{asked:?}");
        assert_eq!(stub.count(follow_up_of("loud")), 2, "it was asked again");
    }
);

// Two people change one voice at the same time, each another part of it: both changes count.
on_sqlite!(changes_of_a_prompt_and_of_follow_up_meet, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub).voices(&["owl"]).start().await;
    for round in 0..10 {
        let prompt = format!("Say {round}.");
        let follow_up = round % 2 == 1;
        let (one, other) = tokio::join!(
            app.patch("/submodules/owl", json!({ "prompt": prompt })),
            app.patch("/submodules/owl", json!({ "follow_up": follow_up }))
        );
        one.expect(200);
        other.expect(200);
        let owl = app.get("/submodules").await.expect(200)["items"][0].clone();
        assert_eq!(
            (&owl["prompt"], &owl["follow_up"]),
            (&json!(prompt), &json!(follow_up))
        );
    }
});

// Voices of a log that says nothing of it follow up, as they did.
#[tokio::test]
async fn voices_of_older_logs_follow_up() {
    for medium in Medium::each().await {
        let store = stored::open(&medium).await;
        let space = Space::default();
        let main = ThreadId::default();
        let set = |change: Value| Draft::changed(&main, "submodule", "owl", change);
        for (change, follows_up) in [
            (json!({ "prompt": "Hoot." }), true),
            (json!({ "prompt": "Hoot.", "follow_up": false }), false),
            (json!({ "prompt": "Hoot.", "follow_up": true }), true),
        ] {
            let append = Append::free(&space, vec![set(change)]);
            store.append(append).await.unwrap();
            let rows = store.submodules(&space).await.unwrap();
            assert_eq!(rows[0].follow_up, follows_up);
        }
        store.close().await;
    }
}

// Nothing to change is no change; wrong values are named.
#[tokio::test]
async fn a_change_of_a_voice_says_what_is_wrong_with_it() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .voices(&["owl"])
        .start()
        .await;
    app.patch("/submodules/owl", json!({}))
        .await
        .expect_problem(400, "invalid-frame");
    app.patch(
        "/submodules/owl",
        json!({ "prompt": " ", "follow_up": true }),
    )
    .await
    .expect_problem(400, "empty-input");
    app.patch("/submodules/owl", json!({ "follow_up": "yes" }))
        .await
        .expect_problem(400, "invalid-frame");
    app.patch("/submodules/cat", json!({ "follow_up": false }))
        .await
        .expect_problem(404, "not-found");
    assert_eq!(voices(&app).await, [("owl".to_owned(), true)]);
}
