//! A part of a thread that a provider refuses, a picture or words, spoils nothing behind it: later
//! prompts leave it out and say so, the user is told once, the log keeps it. Every `on_sqlite!` is
//! two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::answer::Answer;
use kit::media::{PNG, WAV};
use kit::*;

/// The sentence of `prompts/view_refused.md`.
const LEFT_OUT: &str = "[left out here: the provider";

fn refusal(code: &str, message: &str) -> Answer {
    let body =
        json!({ "error": { "message": message, "type": "invalid_request_error", "code": code } });
    raw(body.to_string()).with_status(400)
}

fn no_pictures() -> Answer {
    let message = "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text`";
    refusal("invalid_request_error", message)
}

fn has_picture(request: &Request) -> bool {
    request.bytes.windows(11).any(|it| it == b"\"image_url\"")
}

async fn show(app: &App, text: &str) -> Value {
    let body = json!({ "text": text, "images": [{ "data": PNG, "mimeType": "image/png" }] });
    let answer = app.post("/threads/main/messages?wait=15", body).await;
    answer.expect(200)["responses"].clone()
}

/// Returns the failures that name the parts left out.
async fn told(app: &App) -> Vec<Value> {
    let log = app.log().await;
    let failures = with(&log, &["failure"]).into_iter();
    let told = failures.filter(|it| it["payload"]["detail"]["left_out"].is_array());
    told.cloned().collect()
}

/// Every call can be made again byte for byte, and so can the rows.
async fn all_is_exact(mut app: App) {
    let log = app.log().await;
    envelope::check_log(&log);
    envelope::check_turns(&log, "main");
    for call in with(&log, &["debug"]) {
        if call["payload"]["view"].is_object() {
            let id = call["event_id"].as_str().unwrap();
            let view = app.get(&format!("/prompt-views/{id}")).await.expect(200);
            assert_eq!(view["exact"], true, "{view}");
        }
    }
    app.stop().await;
    let database = [("DATABASE_URL", app.database())];
    let (code, words) = app::ran(&app.folder(), &database, &["rebuild", "--check"]).await;
    assert_eq!(code, Some(0), "{words}");
}

on_sqlite!(
    a_picture_that_the_model_takes_none_of_spoils_no_later_turn,
    |medium| {
        let stub = Stub::start().await;
        stub.on(has_picture, no_pictures());
        let mut app = Setup::new(medium, &stub).voices(&["a", "b"]).start().await;
        let replies = show(&app, "what is this?").await;
        assert_eq!(replies.as_array().unwrap().len(), 1, "{replies}");
        let refused = stub.count(has_picture);
        assert!(
            (1..=3).contains(&refused),
            "{refused}: once of each that is asked at once"
        );
        let asked = stub.all(|request| request.is_decision() && !has_picture(request));
        assert!(asked[0].says(LEFT_OUT), "{}", asked[0].text());
        // The next turns pay for nothing, after a restart either.
        assert_eq!(said(&app.tell("and now?").await[0]), "ok: and now?");
        app.restart().await;
        assert_eq!(said(&app.tell("still there?").await[0]), "ok: still there?");
        let replies = show(&app, "and this one?").await;
        assert_eq!(replies.as_array().unwrap().len(), 1, "{replies}");
        assert_eq!(stub.count(has_picture), refused, "a picture was sent again");
        let told = told(&app).await;
        assert_eq!(told.len(), 1, "the user is told once: {told:#?}");
        assert!(said(&told[0]).contains("takes no image"), "{}", told[0]);
        let log = app.log().await;
        let pictures = log.iter().filter(|event| event["modality"] == "image");
        assert_eq!(pictures.count(), 2, "the log keeps them");
        all_is_exact(app).await;
    }
);

on_sqlite!(one_picture_that_is_refused_is_left_out_alone, |medium| {
    let stub = Stub::start().await;
    let broken = "The image data you provided does not represent a valid image. Please check your input and try again.";
    stub.script(has_picture, [refusal("invalid_image", broken)]);
    let app = App::start(medium, &stub).await;
    assert!(said(&show(&app, "one").await[0]).contains(LEFT_OUT));
    assert_eq!(stub.count(has_picture), 1);
    assert!(!said(&show(&app, "two").await[0]).contains(LEFT_OUT));
    let asked = stub.all(decision).pop().unwrap();
    assert_eq!(asked.body.to_string().matches("data:image/png").count(), 1);
    assert!(asked.says(LEFT_OUT), "{}", asked.text());
    assert_eq!(told(&app).await.len(), 1);
    all_is_exact(app).await;
});

on_sqlite!(
    words_that_a_filter_refuses_are_left_out_and_the_next_message_is_answered,
    |medium| {
        let stub = Stub::start().await;
        let words = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.";
        stub.on(
            |request| request.says("swordfish"),
            refusal("content_filter", words),
        );
        let mut app = Setup::new(medium, &stub).voices(&["a"]).start().await;
        let first = app.tell("the password is swordfish").await;
        assert_eq!(first.len(), 1, "{first:?}");
        assert!(!said(&first[0]).contains("swordfish"), "{first:?}");
        assert_eq!(said(&app.tell("and now?").await[0]), "ok: and now?");
        let refused = stub.count(|request| request.says("swordfish"));
        assert!(refused <= 2, "{refused} requests were refused");
        let asked = stub.all(decision).pop().unwrap();
        assert!(asked.says(LEFT_OUT), "{}", asked.text());
        app.restart().await;
        assert_eq!(said(&app.tell("still there?").await[0]), "ok: still there?");
        assert_eq!(stub.count(|request| request.says("swordfish")), refused);
        let told = told(&app).await;
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(
            said(&told[0]).contains("content management policy"),
            "{}",
            told[0]
        );
        let log = app.log().await;
        assert!(
            with(&log, &["input"])
                .iter()
                .any(|it| said(it).contains("swordfish")),
            "the log keeps it"
        );
        all_is_exact(app).await;
    }
);

#[tokio::test]
async fn words_that_were_there_before_the_filter_cost_one_turn_its_past() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    app.tell("the password is swordfish").await;
    app.tell("do you know it?").await;
    stub.on(
        |request| request.says("swordfish"),
        refusal(
            "data_inspection_failed",
            "Input data may contain inappropriate content.",
        ),
    );
    // What is new is not it: then all that the view holds is left out.
    assert_eq!(app.tell("and now?").await.len(), 1);
    assert_eq!(stub.count(decision), 5);
    assert_eq!(said(&app.tell("well?").await[0]), "ok: well?");
    assert_eq!(stub.count(decision), 6, "nothing is refused any more");
    all_is_exact(app).await;
}

#[tokio::test]
async fn what_a_tool_returned_is_left_out_where_a_filter_refuses_it() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    app.tell("the password is sword-fish").await;
    stub.on(
        |request| request.text().matches("sword-fish").count() > 3,
        refusal("1301", "sensitive content"),
    );
    stub.script(
        |request| request.is_decision() && !request.says(LEFT_OUT),
        [call(
            "query_events",
            json!({ "latest": null, "since": null, "tags": null, "text": "sword-fish" }),
        )],
    );
    assert_eq!(said(&app.tell("look it up").await[0]), "ok: look it up");
    let asked = stub.all(decision).pop().unwrap();
    assert!(
        asked.says("look it up") && asked.says(LEFT_OUT),
        "{}",
        asked.text()
    );
    all_is_exact(app).await;
}

#[tokio::test]
async fn a_sound_is_left_out_as_a_picture_is() {
    let stub = Stub::start().await;
    let has_sound = |request: &Request| request.body.to_string().contains("input_audio");
    stub.on(
        has_sound,
        refusal("", "audio input is not supported by this model"),
    );
    let app = App::start(Medium::sqlite(), &stub).await;
    let body = json!({
        "text": "listen", "audio": [{ "data": WAV, "mimeType": "audio/wav" }], "images": [{ "data": PNG, "mimeType": "image/png" }],
    });
    let answer = app
        .post("/threads/main/messages?wait=15", body)
        .await
        .expect(200);
    assert_eq!(answer["responses"].as_array().unwrap().len(), 1, "{answer}");
    let asked = stub.all(decision).pop().unwrap();
    assert!(
        has_picture(&asked) && !has_sound(&asked) && asked.says(LEFT_OUT),
        "the picture is sent, the sound is not"
    );
    all_is_exact(app).await;
}
