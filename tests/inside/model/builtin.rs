//! The models that need no provider: the offline and the scripted one.

use super::*;

fn voice(name: &str, text: &str) -> Request {
    Request {
        module: Who::Submodule(Name::parse(name).unwrap()),
        tools: Arc::from([]),
        ..request(text)
    }
}

async fn offline_reply(text: &str) -> String {
    let (pieces, answer) = ask(&Offline::new(), &request(text)).await;
    let answer = answer.unwrap();
    assert!(pieces.len() > 3, "{pieces:?}");
    assert_eq!(joined(&pieces).1, calls(&answer));
    assert_eq!(answer.calls[0].name, "reply");
    let arguments: Value = serde_json::from_str(&answer.calls[0].arguments).unwrap();
    arguments["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_offline_model_says_what_it_is_and_what_it_heard() {
    let transcript = "#11 [2026-11-21 04:24] user ann: earlier\n#12 [2026-11-21 04:24] voice critic: old\n\
                      #13 [2026-11-21 04:25] user ann: hello there,\n    my friend\n\
                      #14 [2026-11-21 04:25] voice critic: too short\n#15 [2026-11-21 04:25] voice muse (late): a greeting\n\n\
                      To be decided now: #13. Call a tool.";
    let reply = offline_reply(transcript).await;
    for part in [
        "offline model",
        "“hello there, my friend”",
        "critic: too short / muse (late): a greeting",
        "THINKD_MODEL",
    ] {
        assert!(reply.contains(part), "no {part} in {reply}");
    }
    assert!(
        !reply.contains("earlier") && !reply.contains("old"),
        "{reply}"
    );
    assert_eq!(reply, offline_reply(transcript).await);
    // Other forms break nothing.
    assert!(offline_reply("just words").await.contains("“just words”"));
    assert!(offline_reply("").await.contains("I saw no message."));
    assert!(
        offline_reply("#1 [x] user: \n\n#: :\nuser\n#1 [\n#1 [] :\n    ")
            .await
            .contains("offline")
    );
    assert!(
        offline_reply(&format!("#1 [x] user: {}", "ü".repeat(9000)))
            .await
            .contains("üü…”")
    );
    // Restricted to `reply`, and without tools.
    let only = Request {
        choice: ToolChoice::Only(vec!["reply".to_owned()]),
        ..request("#1 [x] user: hi")
    };
    assert_eq!(ask(&Offline::new(), &only).await.1.unwrap().calls.len(), 1);
    let toolless = Request {
        tools: Arc::from([]),
        ..request("#1 [x] user: hi")
    };
    assert!(
        ask(&Offline::new(), &toolless)
            .await
            .1
            .unwrap()
            .text
            .contains("“hi”")
    );
}

#[tokio::test]
async fn the_offline_voices_remark_something_or_nothing() {
    let mut remarks = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let answer = ask(
            &Offline::new(),
            &voice(name, "#1 [x] user: does Ann know 42?"),
        )
        .await
        .1
        .unwrap();
        assert!(answer.calls.is_empty());
        remarks.push(answer.text);
    }
    remarks.sort_unstable();
    remarks.dedup();
    assert_eq!(remarks.len(), 4, "{remarks:?}");
    assert_eq!(
        ask(&Offline::new(), &voice("a", "")).await.1.unwrap().text,
        ""
    );
    // What has been answered needs no remark.
    let answered = "#1 [x] user: does Ann know 42?\n#2 [x] reply: she does";
    assert_eq!(
        ask(&Offline::new(), &voice("a", answered))
            .await
            .1
            .unwrap()
            .text,
        ""
    );
}

#[tokio::test]
async fn the_scripted_model_records_what_it_is_asked() {
    let model = Scripted::queue([Answer::says("hi").calling("think", json!({ "thought": "x" }))]);
    let (pieces, first) = ask(&model, &request("hello")).await;
    assert_eq!(
        joined(&pieces),
        ("hi".to_owned(), vec![called("think", r#"{"thought":"x"}"#)])
    );
    assert_eq!(
        calls(&first.unwrap()),
        [called("think", r#"{"thought":"x"}"#)]
    );
    assert!(ask(&model, &request("more")).await.1.is_err());
    assert_eq!(model.asked(), [request("hello"), request("more")]);
}
