//! Messages to which a client has no answer, for their turns failed or were stopped: it sends them again
//! with the next one. Every `on_both!` is two `#[tokio::test]`s, one a database.

use super::*;

async fn failing(medium: Medium) -> (Stub, App) {
    let stub = Stub::start().await;
    stub.on_each(decision, |request| match request.last_user() {
        said if said.starts_with("fail") && !said.ends_with("next") => status(401),
        said => reply(&format!("ok: {said}")),
    });
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    (stub, app)
}

/// Says something that fails, and keeps it.
async fn fails(app: &App, client: &mut Client, words: &str) {
    *client = client.clone().adds("user", words);
    client.is_refused(app, json!({}), 424).await;
}

on_both!(
    messages_behind_failed_ones_go_on_in_their_thread,
    |medium| {
        let (_stub, app) = failing(medium).await;
        let mut client = Client::new();
        let thread = client.says(&app, "one").await.thread;
        fails(&app, &mut client, "fail a").await;
        fails(&app, &mut client, "fail b").await;
        let before = client.clone();
        assert_eq!(client.says(&app, "two").await.text, "ok: two");
        assert_eq!(client.says(&app, "three").await.thread, thread);
        let all = ["one", "fail a", "fail b", "two", "three"];
        assert_eq!(inputs(&app, &thread).await, all);
        // The same again is another answer to it, as everywhere; other words are a fork, also at once.
        for words in ["two", "other"] {
            let fork = before.clone().says(&app, words).await;
            assert_ne!(fork.thread, thread);
            let said = ["one", "fail a", "fail b", words];
            assert_eq!(inputs(&app, &fork.thread).await, said);
        }
        assert_eq!(inputs(&app, &thread).await, all);
    }
);

on_both!(two_that_go_on_at_once_behind_a_failed_one_part, |medium| {
    let (_stub, app) = failing(medium).await;
    let mut client = Client::new();
    client.says(&app, "one").await;
    fails(&app, &mut client, "fail").await;
    let says = |words: &'static str| {
        let mut client = client.clone();
        let app = &app;
        async move { client.says(app, words).await }
    };
    let (two, three) = tokio::join!(says("two"), says("three"));
    assert_eq!((&*two.text, &*three.text), ("ok: two", "ok: three"));
    assert_ne!(two.thread, three.thread);
});

on_both!(
    a_first_message_that_failed_is_found_by_the_clients_id_alone,
    |medium| {
        let (_stub, app) = failing(medium).await;
        let mut named = Client::new().header("x-openwebui-chat-id", "c-1");
        fails(&app, &mut named, "fail first").await;
        let next = named.says(&app, "next").await;
        assert_eq!(inputs(&app, &next.thread).await, ["fail first", "next"]);
        // Without an id it may be anybody's: it begins a conversation with all words.
        let mut other = Client::new();
        fails(&app, &mut other, "fail first").await;
        let next = other.says(&app, "next").await;
        assert_eq!(inputs(&app, &next.thread).await, ["fail first\n\nnext"]);
        // In a named thread the key has said it there.
        let mut main = Client::of("main");
        fails(&app, &mut main, "fail first").await;
        let next = main.says(&app, "next").await;
        assert_eq!(next.thread, "main");
        assert_eq!(inputs(&app, "main").await, ["fail first", "next"]);
    }
);
