//! The items that a response was asked with.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use base64::Engine as _;

use super::*;
use kit::media::PNG;

on_both!(
    the_messages_that_a_response_was_asked_with_are_its_input_items,
    |medium| {
        let (stub, _, app) = echo(medium).await;
        let png = base64::engine::general_purpose::STANDARD
            .decode(PNG)
            .unwrap();
        let blob = app
            .request("POST", "/blobs")
            .header("content-type", "image/png")
            .body(png)
            .send()
            .await
            .unwrap();
        let blob: Value = blob.json().await.unwrap();
        let blob = blob["blob"].as_str().unwrap().to_owned();
        let input = json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "eins" },
            { "role": "user", "content": [
                { "type": "input_text", "text": "zwei – ü" },
                { "type": "input_image", "image_url": format!("data:image/png;base64,{PNG}"), "detail": "auto" },
                { "type": "input_text", "text": "drei" },
            ] },
            { "role": "user", "content": [{ "type": "input_image", "file_id": blob }] },
        ]);
        let more = json!({ "text": { "format": { "type": "json_schema", "name": "n", "schema": { "type": "object" } } } });
        let response = create(&app, input, more).await;
        assert!(stub.nth(0, decision).await.body.to_string().contains(PNG));
        let items = async |query: &str| {
            let path = format!("{PATH}/{}/input_items{query}", id(&response));
            let (status, page) = send(app.request("GET", &path)).await;
            assert_eq!(status, 200, "{page}");
            page
        };
        let page = items("?order=asc").await;
        let all = page["data"].as_array().unwrap();
        assert_eq!((all.len(), &page["has_more"]), (3, &json!(false)));
        assert_eq!(
            all[0]["content"],
            json!([{ "type": "input_text", "text": "eins" }])
        );
        let image = json!({ "type": "input_image", "detail": "auto", "file_id": blob });
        assert_eq!(
            all[1]["content"],
            json!([{ "type": "input_text", "text": "zwei – ü" }, image, { "type": "input_text", "text": "drei" }])
        );
        assert_eq!(all[2]["content"], json!([image]));
        assert!(
            all.iter()
                .all(|it| it["role"] == "user" && it["type"] == "message")
        );
        // Pages, in both orders.
        let newest = items("").await;
        assert_eq!(newest["data"][0], all[2]);
        let first = items("?order=asc&limit=2").await;
        assert_eq!(
            (&first["has_more"], &first["last_id"]),
            (&json!(true), &all[1]["id"])
        );
        let second = items(&format!(
            "?order=asc&limit=2&after={}",
            first["last_id"].as_str().unwrap()
        ))
        .await;
        assert_eq!(
            (&second["data"], &second["has_more"]),
            (&json!([all[2]]), &json!(false))
        );
        let behind = items(&format!("?after={}", all[0]["id"].as_str().unwrap())).await;
        assert_eq!(
            (&behind["data"], &behind["first_id"]),
            (&json!([]), &Value::Null)
        );
        // Of a message that says its instructions, the client's own words.
        let told = create(
            &app,
            "vier",
            json!({ "previous_response_id": id(&response), "instructions": "Be long." }),
        )
        .await;
        assert!(
            inputs(&app, &thread_of(&app, &told).await)
                .await
                .last()
                .unwrap()
                .starts_with("(Instructions of the client: Be long.)")
        );
        assert_eq!(told["instructions"], "Be long.");
        let path = format!("{PATH}/{}/input_items", id(&told));
        let (_, page) = send(app.request("GET", &path)).await;
        assert_eq!(
            page["data"][0]["content"],
            json!([{ "type": "input_text", "text": "vier" }])
        );
        for query in [
            "limit=0",
            "limit=101",
            "order=up",
            "after=msg_1",
            "before=x",
            "limit=2&limit=3",
        ] {
            let path = format!("{PATH}/{}/input_items?{query}", id(&response));
            let (status, body) = send(app.request("GET", &path)).await;
            assert_eq!(
                (status, &body["error"]["code"]),
                (400, &json!("invalid-parameter")),
                "{query}"
            );
        }
    }
);
