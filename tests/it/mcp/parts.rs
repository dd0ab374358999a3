//! Answers of which a part cannot be read, or is there twice: the readable parts count, once. Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

fn text(words: &str) -> Value {
    json!({ "type": "text", "text": words })
}

/// The output of a call that is answered so.
async fn come(app: &App, stub: &Stub, server: &ToolServer, result: Value) -> Value {
    server.does("say", Does::Answers(result));
    stub.clear();
    stub.script(
        decision,
        [call("mcp__it__say", arguments("a")), reply("Done.")],
    );
    app.tell("go").await;
    let log = app.public_log().await;
    let result = *with(&log, &["result", "tool:mcp__it__say"]).last().unwrap();
    assert!(!has(result, "failure"), "{}", story(&log));
    result["payload"]["output"].clone()
}

on_sqlite!(
    t1_04_a_part_that_cannot_be_read_costs_no_other_part,
    |medium| {
        let server = ToolServer::start(vec![tool("say", "Says.")]).await;
        let stub = Stub::start().await;
        let app = setup(medium, &stub, &server, "").start().await;
        let parts = [
            (json!({ "type": "hologram", "data": "zz" }), "hologram"),
            (
                json!({ "type": "image", "data": "iVBORw0KGgo=" }),
                "a picture of no kind",
            ),
            (
                json!({ "type": "audio", "data": 7, "mimeType": "audio/wav" }),
                "a sound of no kind",
            ),
            (
                json!({ "type": "resource", "resource": { "uri": "a://b" } }),
                "a resource of no kind",
            ),
            (
                json!({ "type": "resource_link", "name": "b" }),
                "a link to nowhere",
            ),
            (
                json!({ "type": "text", "text": null }),
                "a text without words",
            ),
            (json!({ "data": "zz" }), "a part of no kind"),
            (json!(7), "a part of no kind"),
        ];
        for (part, said) in parts {
            let result = json!({ "content": [text("a"), part, text("b")] });
            let output = come(&app, &stub, &server, result).await;
            let lines: Vec<&str> = output.as_str().expect("words").lines().collect();
            assert!(
                lines.len() == 3 && lines[0] == "a" && lines[2] == "b",
                "{output}"
            );
            assert!(
                lines[1].contains(said) && lines[1].contains("left out"),
                "{output}"
            );
        }
        // What stands around the words is not understood; they are.
        let noted = json!({ "type": "text", "text": "b", "annotations": { "audience": "me", "priority": "high" } });
        let output = come(
            &app,
            &stub,
            &server,
            json!({ "content": [text("a"), noted] }),
        )
        .await;
        assert_eq!(output, "a\nb");
        for content in [json!("a"), text("a"), json!(["a"])] {
            let output = come(&app, &stub, &server, json!({ "content": content })).await;
            assert_eq!(output, "a", "{content}");
        }
        let output = json!({ "content": null, "structuredContent": { "n": 1 }, "isError": null });
        assert_eq!(come(&app, &stub, &server, output).await, json!({ "n": 1 }));
    }
);

on_sqlite!(
    t1_04_pictures_are_read_however_their_letters_stand,
    |medium| {
        let server = ToolServer::start(vec![tool("say", "Says.")]).await;
        let stub = Stub::start().await;
        let app = setup(medium, &stub, &server, "").start().await;
        let picture =
            |data: &str, mime: Value| json!({ "type": "image", "data": data, "mimeType": mime });
        let pictures = [
            picture("iVBORw0KGgo=", "image/png".into()),
            picture("iVBO\r\nRw0K\nGgo=\n", "image/png".into()),
            picture("iVBORw0KGgo", "image/png".into()),
            picture("data:image/png;base64,iVBORw0KGgo=", "image/png".into()),
            picture("data:image/png;base64,iVBORw0KGgo=", Value::Null),
            json!({ "type": "resource", "resource": { "uri": "a://b", "mimeType": "image/png", "blob": "iVBO\nRw0KGgo=" } }),
        ];
        for picture in pictures {
            let output = come(&app, &stub, &server, json!({ "content": [picture] })).await;
            let media = &output["media"][0];
            assert_eq!(media["mime"], "image/png", "{picture}: {output}");
            assert_eq!(media["bytes"], 8, "{picture}: {output}");
        }
    }
);

on_sqlite!(t1_04_links_keep_what_is_said_of_them, |medium| {
    let server = ToolServer::start(vec![tool("say", "Says.")]).await;
    let stub = Stub::start().await;
    let app = setup(medium, &stub, &server, "").start().await;
    let link = |more: Value| {
        let mut link = json!({ "type": "resource_link", "uri": "note://1" });
        link.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        link
    };
    let said = json!({ "name": "one", "description": "The first.", "mimeType": "text/plain", "size": "?" });
    let content = [link(said), link(json!({})), text("See both.")];
    let output = come(&app, &stub, &server, json!({ "content": content })).await;
    let one = json!({ "uri": "note://1", "name": "one", "description": "The first.", "mime": "text/plain" });
    let links = json!({ "text": "See both.", "links": [one, { "uri": "note://1" }] });
    assert_eq!(output, links);
});

on_sqlite!(t1_04_two_forms_of_one_answer_are_one, |medium| {
    let server = ToolServer::start(vec![tool("say", "Says.")]).await;
    let stub = Stub::start().await;
    let app = setup(medium, &stub, &server, "").start().await;
    let list: Vec<Value> = (0..2000).map(|i| json!({ "i": i })).collect();
    let whole = json!(list);
    let each: Vec<Value> = list
        .iter()
        .take(200)
        .map(|it| text(&it.to_string()))
        .collect();
    let few = json!(list[..200]);
    let answers = [
        (
            json!([text(&whole.to_string())]),
            json!({ "result": whole }),
            whole.clone(),
        ),
        (json!(each), json!({ "result": few }), few.clone()),
        (json!([text("2")]), json!({ "result": 2 }), json!(2)),
        (
            json!([text("an owl")]),
            json!({ "result": "an owl" }),
            json!("an owl"),
        ),
        (
            json!([text("{ \"b\": 2.0 }")]),
            json!({ "b": 2 }),
            json!({ "b": 2 }),
        ),
    ];
    for (content, structured, wanted) in answers {
        let answer = json!({ "content": content, "structuredContent": structured });
        let output = come(&app, &stub, &server, answer).await;
        let shown: String = output.to_string().chars().take(200).collect();
        assert!(output == wanted, "{shown}");
    }
    let answer = json!({ "content": [text("Two owls.")], "structuredContent": { "owls": 2 } });
    let both = json!({ "text": "Two owls.", "structured": { "owls": 2 } });
    assert_eq!(
        come(&app, &stub, &server, answer).await,
        both,
        "each says something else"
    );
});

on_sqlite!(
    t1_04_a_picture_that_the_json_says_once_more_is_kept_once,
    |medium| {
        let server = ToolServer::start(vec![tool("say", "Says.")]).await;
        let stub = Stub::start().await;
        let app = setup(medium, &stub, &server, "").start().await;
        let picture = json!({ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" });
        let url = "data:image/png;base64,iVBORw0KGgo=";
        let structured = json!({ "content": [picture], "url": url, "name": "iVBO" });
        let answer = json!({ "content": [picture], "structuredContent": structured });
        let output = come(&app, &stub, &server, answer).await;
        let blob = &output["media"][0]["blob"];
        assert!(blob.is_string(), "{output}");
        let wanted = json!({
            "content": [{ "type": "image", "data": blob, "mimeType": "image/png" }],
            "url": blob,
            "name": "iVBO",
        });
        assert_eq!(output["structured"], wanted);
    }
);
