//! Responses behind one another: branches, retries, whole conversations.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use super::*;

on_both!(responses_are_a_tree_and_its_branches_are_forks, |medium| {
    let (_stub, _, app) = echo(medium).await;
    let one = create(&app, "one", json!({})).await;
    let two = create(&app, "two", behind(&one)).await;
    let three = create(&app, "three", behind(&two)).await;
    let thread = thread_of(&app, &one).await;
    assert_eq!(inputs(&app, &thread).await, ["one", "two", "three"]);
    assert_eq!(three["previous_response_id"], two["id"]);
    // Behind an earlier one is a branch, also with the same words.
    let deux = create(&app, "deux", behind(&one)).await;
    let again = create(&app, "two", behind(&one)).await;
    let branch = thread_of(&app, &deux).await;
    let other = thread_of(&app, &again).await;
    assert!(branch != thread && other != thread && branch != other);
    let row = app.get(&format!("/threads/{branch}")).await.expect(200);
    assert_eq!(row["forked_from"]["thread"], thread.as_str());
    assert_eq!(inputs(&app, &branch).await, ["one", "deux"]);
    // A branch goes on, and has branches.
    let trois = create(&app, "trois", behind(&deux)).await;
    assert_eq!(thread_of(&app, &trois).await, branch);
    let quatre = create(&app, "quatre", behind(&deux)).await;
    let fork = thread_of(&app, &quatre).await;
    assert_eq!(inputs(&app, &fork).await, ["one", "deux", "quatre"]);
    assert_eq!(inputs(&app, &thread).await, ["one", "two", "three"]);
    // A native client's word is a turn behind the last one: so is the branch.
    app.tell_in(&thread, "from elsewhere").await;
    let four = create(&app, "four", behind(&three)).await;
    assert_ne!(thread_of(&app, &four).await, thread);
    // Many at once: one goes on in the thread, and each other one is a branch.
    let last = create(&app, "last", json!({})).await;
    let mut all = join_all((0..6).map(async |number: usize| {
        let response = create(&app, format!("at once {}", number / 2), behind(&last)).await;
        thread_of(&app, &response).await
    }))
    .await;
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6);
    assert!(all.contains(&thread_of(&app, &last).await));
    // A thread that has ended goes on in a fork.
    let end = format!("/threads/{branch}/end");
    app.post(&end, json!({})).await.expect(200);
    let five = create(&app, "five", behind(&trois)).await;
    assert_eq!(text_of(&five), "ok: five");
    assert_ne!(thread_of(&app, &five).await, branch);
    assert_eq!(text_of(&get(&app, &trois).await), "ok: trois");
    for unknown in [
        "resp_1".to_owned(),
        format!("resp_{}", "0".repeat(32)),
        "x".repeat(1000),
    ] {
        let error = refused(
            &app,
            &body("six", json!({ "previous_response_id": unknown })),
            404,
        )
        .await;
        assert_eq!(
            (&error["code"], &error["param"]),
            (&json!("not-found"), &json!("previous_response_id"))
        );
    }
});

on_both!(a_request_that_comes_again_makes_no_second_turn, |medium| {
    let (stub, gate, app) = echo(medium).await;
    let keyed = |input: &str, more: Value, key: &str| {
        app.request("POST", PATH)
            .json(&body(input, more))
            .header("idempotency-key", key)
    };
    // By the client's key, also at once, in the background, and in a branch.
    let all = join_all((0..4).map(|_| send(keyed("one", json!({}), "k-1")))).await;
    let one = all[0].1.clone();
    assert!(
        all.iter().all(|(status, it)| *status == 200 && *it == one),
        "{all:?}"
    );
    assert_eq!(stub.count(decision), 1);
    let later = json!({ "background": true });
    let (_, begun) = send(keyed("slow", later.clone(), "k-2")).await;
    stub.nth(2, decision).await;
    let (_, again) = send(keyed("slow", later, "k-2")).await;
    assert_eq!(again["id"], begun["id"]);
    gate.open();
    until(&app, &begun, "completed").await;
    create(&app, "two", behind(&one)).await;
    let branches = join_all((0..3).map(|_| send(keyed("branch", behind(&one), "k-3")))).await;
    assert!(
        branches
            .iter()
            .all(|(_, it)| it["id"] == branches[0].1["id"]),
        "{branches:?}"
    );
    let (status, error) = send(keyed("other words", json!({}), "k-1")).await;
    assert_eq!(
        (status, &error["error"]["code"]),
        (409, &json!("event-conflict"))
    );
    // By the count of tries that OpenAI's own clients send.
    let three = create(&app, "three", behind(&one)).await;
    let retry = app
        .request("POST", PATH)
        .json(&body("three", behind(&one)))
        .header("x-stainless-retry-count", "1");
    assert_eq!(send(retry).await.1["id"], three["id"]);
    assert_eq!(stub.count(decision), 6);
});

on_both!(
    a_client_that_sends_the_whole_conversation_goes_on_in_one_thread,
    |medium| {
        let (_stub, _, app) = echo(medium).await;
        let user = |text: &str| json!({ "role": "user", "content": [{ "type": "input_text", "text": text }] });
        let one = create(
            &app,
            json!([{ "role": "developer", "content": "Be brief." }, user("one")]),
            json!({}),
        )
        .await;
        // The answer as its item.
        let mut talk = vec![
            json!({ "role": "developer", "content": "Be brief." }),
            user("one"),
            one["output"][0].clone(),
            user("two"),
        ];
        let two = create(&app, json!(talk), json!({})).await;
        let thread = thread_of(&app, &one).await;
        assert_eq!(thread_of(&app, &two).await, thread);
        // And by its id.
        talk[2] = json!({ "type": "item_reference", "id": one["output"][0]["id"] });
        talk.push(json!({ "type": "item_reference", "id": two["output"][0]["id"] }));
        talk.push(user("three"));
        let three = create(&app, json!(talk), json!({})).await;
        assert_eq!(thread_of(&app, &three).await, thread);
        assert_eq!(inputs(&app, &thread).await, ["one", "two", "three"]);
        // A client of chat completions finds the same conversation.
        let messages = json!([
            { "role": "system", "content": "Be brief." }, { "role": "user", "content": "one" }, { "role": "assistant", "content": "ok: one" },
            { "role": "user", "content": "two" }, { "role": "assistant", "content": "ok: two" },
            { "role": "user", "content": "three" }, { "role": "assistant", "content": "ok: three" }, { "role": "user", "content": "four" },
        ]);
        let chat = json!({ "model": "thinkd", "messages": messages });
        let sent = app
            .request("POST", "/v1/chat/completions")
            .json(&chat)
            .send()
            .await
            .unwrap();
        assert_eq!(sent.headers()["x-thinkd-thread"], thread.as_str());
        let unknown = json!([user("one"), { "type": "item_reference", "id": format!("msg_{}", "0".repeat(32)) }, user("two")]);
        let error = refused(&app, &body(unknown, json!({})), 404).await;
        assert_eq!(error["param"], "input[1]");
    }
);
