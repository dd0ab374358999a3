//! A page of Open WebUI, by its requests as they were recorded: 36 tools with each message, the id of the
//! chat in a header, side calls without a mark but their first words.

use super::*;

/// The recorded requests, and a place of one's own in the recording.
struct Page {
    recorded: Value,
}

impl Page {
    fn new() -> Self {
        let recorded = serde_json::from_str(include_str!("open_webui.json")).unwrap();
        Self { recorded }
    }

    fn body(&self, name: &str) -> Value {
        let mut body = self.recorded["requests"][name].clone();
        if body["stream"] == true {
            body["tools"] = self.recorded["tools"].clone();
        }
        body
    }

    async fn sends(&self, app: &App, body: &Value) -> reqwest::Response {
        let headers = self.recorded["headers"].as_object().unwrap().iter();
        let headers = headers.filter(|(name, _)| name.starts_with("X-"));
        let request = app.request("POST", PATH).json(body);
        let request = headers.fold(request, |request, (name, value)| {
            request.header(name, value.as_str().unwrap())
        });
        within("the head of an answer", request.send())
            .await
            .unwrap()
    }

    /// The thread and the words of an answer.
    async fn says(&self, app: &App, body: &Value) -> (String, String) {
        let response = self.sends(app, body).await;
        assert_eq!(response.status(), 200);
        let thread = response.headers()["x-thinkd-thread"]
            .to_str()
            .unwrap()
            .to_owned();
        let (pieces, done) = pieces(response).await;
        assert!(done, "{pieces:?}");
        (thread, words_of(&pieces))
    }

    async fn asks_beside(&self, app: &App, name: &str) {
        let before = app.public_log().await.len();
        let response = self.sends(app, &self.body(name)).await;
        let answer: Value = response.json().await.unwrap();
        assert_eq!(
            answer["choices"][0]["message"]["content"], "A Title",
            "{name}"
        );
        assert_eq!(app.public_log().await.len(), before, "{name}");
    }
}

/// The same body with another last message.
fn instead(mut body: Value, words: &str) -> Value {
    let last = body["messages"].as_array_mut().unwrap().last_mut();
    last.unwrap()["content"] = words.into();
    body
}

on_both!(
    a_page_goes_on_in_one_thread_after_a_stop_and_a_failure,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let page = Page::new();
        // The page had so much of the answer that it stopped.
        let had = page.body("after_stop")["messages"][5]["content"].clone();
        let had = had.as_str().unwrap().to_owned();
        let held = gate.clone();
        stub.on_each(decision, move |request| {
            match request.last_user().as_str() {
                "slow stop me" => reply(&format!("{had} and more")).paused(12, &held),
                said if said.starts_with("fail") => status(401),
                said => reply(&format!("ok: {said}")),
            }
        });
        stub.on(any, text("A Title"));
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        page.asks_beside(&app, "title").await;
        let (thread, words) = page.says(&app, &page.body("hello")).await;
        assert_eq!(words, "ok: web hello");
        let asked = stub.nth(0, decision).await;
        let named = |name: &str| asked.tools().iter().any(|tool| tool == name);
        assert!(
            named("search_chats") && named("client__ask_user"),
            "{:?}",
            asked.tools()
        );
        page.asks_beside(&app, "follow_ups").await;
        page.asks_beside(&app, "tags").await;
        let second = page.says(&app, &page.body("second")).await;
        assert_eq!(second, (thread.clone(), "ok: web two".to_owned()));

        // Stopped in the middle.
        let mut response = page.sends(&app, &page.body("stopped")).await;
        let mut seen = String::new();
        within("words", async {
            while !seen.contains("word") {
                let chunk = response.chunk().await.unwrap().unwrap();
                seen.push_str(&String::from_utf8_lossy(&chunk));
            }
        })
        .await;
        drop(response);
        app.until("the end of the turn", async || {
            let log = app.public_log().await;
            let ended = with(&log, &["turn", "ended"]);
            ended
                .iter()
                .any(|it| it["payload"]["outcome"] == "cancelled")
        })
        .await;
        let on = page.says(&app, &page.body("after_stop")).await;
        assert_eq!(on, (thread.clone(), "ok: web after stop".to_owned()));

        // A failed turn: the page has no answer, and sends both messages.
        let failed = page.sends(&app, &page.body("failing")).await;
        let (pieces, _) = pieces(failed).await;
        assert!(
            pieces.iter().any(|piece| piece["error"].is_object()),
            "{pieces:?}"
        );
        let last = page.says(&app, &page.body("after_failure")).await;
        assert_eq!(last, (thread.clone(), "ok: web at last".to_owned()));
        let all = [
            "web hello",
            "web two",
            "slow stop me",
            "web after stop",
            "fail web",
            "web at last",
        ];
        assert_eq!(inputs(&app, &thread).await, all);
        // The side calls are noted in `main`.
        let mut threads = app.pages("/threads?").await;
        threads.retain(|it| it["id"] != "main");
        assert_eq!(threads.len(), 1, "{threads:?}");
        // The same again is the same answer; another message in its place is a fork.
        let other = page
            .says(&app, &instead(page.body("after_failure"), "web edited"))
            .await;
        assert!(
            other.0 != thread && other.1 == "ok: web edited",
            "{other:?}"
        );
        assert_eq!(inputs(&app, &thread).await, all);
        let told = inputs(&app, &other.0).await;
        assert_eq!(
            (&told[..5], &*told[5]),
            (&all.map(str::to_owned)[..5], "web edited")
        );
    }
);
