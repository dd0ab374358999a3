//! Functions that a client of the door for responses offers and runs itself: a call is an item of a
//! completed response, and its result comes with a later request.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use super::*;
use kit::door::tools::setup;
use kit::media::PNG;

fn tools() -> Value {
    json!({ "tools": [{
        "type": "function", "name": "weather", "description": "Says the weather.",
        "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] },
    }] })
}

fn and(mut members: Value, more: &Value) -> Value {
    let more = more.as_object().unwrap().clone();
    members.as_object_mut().unwrap().extend(more);
    members
}

/// The calls of a response.
fn calls(response: &Value) -> Vec<Value> {
    let output = response["output"].as_array().unwrap().iter();
    let calls = output.filter(|item| item["type"] == "function_call");
    calls.cloned().collect()
}

fn result(call: &Value, text: &str) -> Value {
    json!({ "type": "function_call_output", "call_id": call["call_id"], "output": text })
}

on_both!(
    a_function_is_called_and_its_result_goes_on_with_the_response,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let app = setup.start().await;
        let kept = json!({ "metadata": { "colour": "red" } });
        let asked = create(&app, "weather", tools()).await;
        assert_eq!(asked["status"], "completed", "{asked}");
        let [call] = &calls(&asked)[..] else {
            panic!("{asked}")
        };
        assert_eq!(asked["output"].as_array().unwrap().len(), 1, "{asked}");
        assert_eq!(
            (&call["name"], &call["status"]),
            (&json!("weather"), &json!("completed"))
        );
        let arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
        assert_eq!(arguments, json!({ "city": "Bern" }));
        assert_eq!(get(&app, &asked).await, asked);
        // Its tools are shown as they were sent.
        let mut shown = tools()["tools"].clone();
        shown[0]["strict"] = false.into();
        assert_eq!(
            (&asked["tools"], &asked["tool_choice"]),
            (&shown, &json!("auto"))
        );
        assert_eq!(asked["parallel_tool_calls"], true);

        let more = and(and(behind(&asked), &tools()), &kept);
        let given = json!([result(call, "4 degrees")]);
        let answer = create(&app, given.clone(), more.clone()).await;
        assert_eq!(text_of(&answer), "got: 4 degrees", "{answer}");
        assert_eq!(answer["status"], "completed");
        assert_eq!(answer["model"], "thinkd");
        assert_eq!(answer["metadata"], kept["metadata"]);
        assert_eq!(answer["previous_response_id"], asked["id"]);
        assert_eq!(get(&app, &answer).await, answer);
        assert_eq!(
            thread_of(&app, &answer).await,
            thread_of(&app, &asked).await
        );
        let path = format!("{PATH}/{}/input_items", id(&answer));
        let (_, items) = send(app.request("GET", &path)).await;
        let [item] = &items["data"].as_array().unwrap()[..] else {
            panic!("{items}")
        };
        assert_eq!(
            (&item["type"], &item["call_id"], &item["output"]),
            (
                &json!("function_call_output"),
                &call["call_id"],
                &json!("4 degrees")
            )
        );
        // The same results again: the same response, and nothing is stored.
        let before = app.log().await.len();
        assert_eq!(create(&app, given, more).await, answer);
        assert_eq!((app.log().await.len(), stub.count(decision)), (before, 2));
        let thanks = create(&app, "thanks", behind(&answer)).await;
        assert_eq!(text_of(&thanks), "ok: thanks");
        assert_eq!(app.pages("/threads?").await.len(), 1);
    }
);

on_both!(calls_stream_behind_the_words_with_their_places, |medium| {
    let (_stub, setup) = setup(medium).await;
    let mut app = setup.start().await;
    let streamed = Stream::whole(stream(&app, "look", tools()).await).await;
    let of_text = [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ];
    let of_call = [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ];
    let names = streamed.names();
    let at = names.iter().position(|it| it == of_text[0]).unwrap();
    let end = [&of_text[..], &of_call[..], &["response.completed"]].concat();
    assert_eq!(names[at..], end);
    let numbers = streamed.numbers();
    let mut places = Vec::from_iter(1_000_000_000..1_000_000_007);
    places.push(2_000_000_000);
    assert_eq!(numbers[at..], places);
    let events = &streamed.events()[at + 3..];
    assert_eq!(events[0]["item"]["arguments"], "");
    assert_eq!(events[0]["item"]["status"], "in_progress");
    assert_eq!(events[1]["delta"], events[2]["arguments"]);
    assert_eq!(events[3]["item"]["arguments"], events[2]["arguments"]);
    for event in &events[..4] {
        assert_eq!(event["output_index"], 1, "{event}");
    }
    for event in &events[1..3] {
        assert_eq!(event["item_id"], events[0]["item"]["id"]);
    }
    let response = streamed.last()["response"].clone();
    assert_eq!(text_of(&response), "Let me look.");
    assert_eq!(response["output"][1], events[3]["item"]);
    // After a restart the rest has the same numbers, and the call takes its result.
    app.restart().await;
    let rest = replayed(&app, &response, Some(places[3])).await;
    assert_eq!(rest.numbers(), places[4..]);
    assert_eq!(rest.last(), streamed.last());
    let call = calls(&response).remove(0);
    let given = stream(&app, json!([result(&call, "snow")]), behind(&response)).await;
    let answer = Stream::whole(given).await;
    assert_eq!(answer.words(), "got: snow");
    assert_eq!(answer.last()["type"], "response.completed");
    let before = answer.last()["response"]["previous_response_id"].clone();
    assert_eq!(before, response["id"]);
});

on_both!(
    a_client_that_repeats_the_items_goes_on_in_the_same_thread,
    |medium| {
        let (_stub, setup) = setup(medium).await;
        let app = setup.start().await;
        let mut talk = vec![json!({ "role": "user", "content": "both" })];
        let asked = create(&app, talk.clone(), tools()).await;
        let both = calls(&asked);
        talk.extend(both.clone());
        talk.extend([
            result(&both[1], "20 degrees"),
            result(&both[0], "4 degrees"),
        ]);
        let answer = create(&app, talk.clone(), tools()).await;
        assert_eq!(text_of(&answer), "got: 4 degrees | 20 degrees");
        // By the ids of the items, as a client of stored responses has them.
        let reference = |item: &Value| json!({ "type": "item_reference", "id": item["id"] });
        let named = [
            talk[0].clone(),
            reference(&both[0]),
            reference(&both[1]),
            talk[3].clone(),
            talk[4].clone(),
        ];
        assert_eq!(create(&app, named.to_vec(), tools()).await, answer);
        talk.push(answer["output"][0].clone());
        talk.push(json!({ "role": "user", "content": "thanks" }));
        let thanks = create(&app, talk, tools()).await;
        assert_eq!(text_of(&thanks), "ok: thanks");
        let thread = thread_of(&app, &asked).await;
        assert_eq!(inputs(&app, &thread).await, ["both", "thanks"]);
        assert_eq!(app.pages("/threads?").await.len(), 1);
    }
);

on_both!(
    results_of_another_response_are_refused_and_words_end_the_calls,
    |medium| {
        let (stub, setup) = setup(medium).await;
        stub.clear();
        stub.on_each(decision, |request| match request.last_user().as_str() {
            "weather" => call("weather", json!({ "city": "Bern" })),
            other => reply(&format!("ok: {other}")),
        });
        let app = setup.start().await;
        let other = create(&app, "hello", json!({})).await;
        let asked = create(&app, "weather", tools()).await;
        let call = calls(&asked).remove(0);
        let body = |call_id: &Value, more: Value| {
            let output =
                json!({ "type": "function_call_output", "call_id": call_id, "output": "4" });
            and(json!({ "model": "thinkd", "input": [output] }), &more)
        };
        let before = app.log().await.len();
        let foreign = json!(format!("call_{}", "0".repeat(32)));
        let error = refused(&app, &body(&foreign, behind(&asked)), 400).await;
        assert_eq!(error["param"], "input[0].call_id");
        let stranger = and(behind(&asked), &json!({ "user": "mallory" }));
        let error = refused(&app, &body(&call["call_id"], stranger), 400).await;
        assert_eq!(error["param"], "input[0].call_id");
        let error = refused(&app, &body(&call["call_id"], behind(&other)), 400).await;
        assert_eq!(error["param"], "previous_response_id");
        assert_eq!(app.log().await.len(), before);

        let moved = create(&app, "never mind", behind(&asked)).await;
        assert_eq!(text_of(&moved), "ok: never mind");
        assert_eq!(thread_of(&app, &moved).await, thread_of(&app, &asked).await);
        let asked_on = stub.nth(2, decision).await;
        assert!(asked_on.says("the client said something else: there is no result of weather"));
        let error = refused(&app, &body(&call["call_id"], behind(&asked)), 409).await;
        assert_eq!(error["code"], "already-settled");
    }
);

on_both!(results_in_the_background_are_asked_for_later, |medium| {
    let (stub, setup) = setup(medium).await;
    let gate = Gate::new();
    let held = gate.clone();
    stub.clear();
    let call = call("weather", json!({ "city": "Bern" }));
    stub.script(decision, [call, reply("It snows.").held(&held)]);
    let app = setup.start().await;
    let asked = create(&app, "weather", tools()).await;
    let call = calls(&asked).remove(0);
    let more = and(behind(&asked), &json!({ "background": true }));
    let begun = create(&app, json!([result(&call, "snow")]), more).await;
    assert_eq!(begun["background"], true, "{begun}");
    assert!(begun["output"].as_array().unwrap().is_empty());
    stub.nth(1, decision).await;
    gate.open();
    let answer = until(&app, &begun, "completed").await;
    assert_eq!(text_of(&answer), "It snows.");
});

on_both!(
    a_message_joins_the_running_turn_of_the_response_before,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let gate = Gate::new();
        let held = gate.clone();
        stub.clear();
        let look = call("state_get", json!({ "key": "nothing" })).held(&held);
        stub.script(decision, [look]);
        stub.on_each(decision, |request| {
            reply(&format!("ok: {}", request.last_user()))
        });
        let app = setup.start().await;
        let begun = create(&app, "weather", json!({ "background": true })).await;
        stub.nth(0, decision).await;
        let error = refused(
            &app,
            &and(
                json!({ "model": "thinkd", "input": "shorter" }),
                &behind(&begun),
            ),
            409,
        )
        .await;
        assert_eq!(error["code"], "busy");
        let steer = json!({ "metadata": { "thinkd_policy": "steer" }, "background": true });
        let joined = create(&app, "shorter", and(behind(&begun), &steer)).await;
        gate.open();
        let answer = until(&app, &joined, "completed").await;
        assert_eq!(text_of(&answer), "ok: shorter");
        assert_eq!(
            text_of(&until(&app, &begun, "completed").await),
            "ok: shorter"
        );
        assert_eq!(
            thread_of(&app, &joined).await,
            thread_of(&app, &begun).await
        );
        assert_eq!(stub.count(decision), 2);
    }
);

on_both!(
    a_response_shows_the_choice_and_the_tools_that_were_sent,
    |medium| {
        let (_stub, setup) = setup(medium).await;
        let app = setup.start().await;
        for choice in [
            json!("required"),
            json!({ "type": "function", "name": "weather" }),
            json!("none"),
        ] {
            let wish = json!({ "tool_choice": choice, "parallel_tool_calls": false });
            let asked = create(&app, "weather", and(tools(), &wish)).await;
            assert_eq!(asked["tool_choice"], choice);
            let is_offered = choice != "none";
            assert_eq!(asked["parallel_tool_calls"], !is_offered);
            let tools = asked["tools"].as_array().unwrap();
            assert_eq!(tools.len(), usize::from(is_offered), "{asked}");
            assert_eq!(get(&app, &asked).await, asked);
        }
    }
);

on_both!(
    results_of_calls_that_nobody_made_are_refused_beside_words_too,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let app = setup.start().await;
        let asked = create(&app, "weather", tools()).await;
        let before = app.log().await.len();
        let foreign = json!({ "call_id": format!("call_{}", "0".repeat(32)) });
        let words = json!({ "role": "user", "content": "thanks" });
        for given in [
            json!([result(&foreign, "4"), words]),
            json!([result(&calls(&asked)[0], "4"), result(&foreign, "4"), words]),
        ] {
            let at = given.as_array().unwrap().len() - 2;
            let error = refused(&app, &body(given, behind(&asked)), 400).await;
            assert_eq!(error["param"], format!("input[{at}].call_id"), "{error}");
        }
        assert_eq!((app.log().await.len(), stub.count(decision)), (before, 1));
        // A picture is kept beside the words of the result.
        let url = format!("data:image/png;base64,{PNG}");
        let parts = json!([{ "type": "input_text", "text": "a map" }, { "type": "input_image", "image_url": url }]);
        let mut given = result(&calls(&asked)[0], "");
        given["output"] = parts;
        let answer = create(&app, json!([given]), behind(&asked)).await;
        let kept = text_of(&answer);
        assert!(
            kept.contains("a map") && kept.contains("image/png"),
            "{kept}"
        );
    }
);
