//! The instrument code: the value of a prediction's code says whether it is so, and no model is
//! asked.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;

/// A derivation of one prediction that code can test.
fn coded(text: &str, code: &str) -> Answer {
    testable(text, &[("code", code)])
}

/// The readings of the first prediction.
fn readings(it: &Value) -> Vec<Value> {
    it["predictions"][0]["readings"].as_array().unwrap().clone()
}

on_sqlite!(code_says_by_its_last_line_what_is_so_since, |medium| {
    let stub = agreeable().await;
    let mut of = derived(Some(["A", "is at", "B"]), true, &["A is met at B"]);
    of["predictions"][0]["code"] =
        json!("console.log('looked\\nsince 2024 it is C'); [1, 2].includes(3)");
    stub.on(deriving, call("derive", of));
    let app = App::start(medium, &stub).await;
    let id = tried(&app, "A is at B.", "ended").await;
    assert_eq!(
        statement(&app, &id).await["valid_to"],
        "2024-01-01T00:00:00.000000Z"
    );
});

on_sqlite!(
    d1_47_code_is_run_and_what_it_comes_to_decides_without_a_model,
    |medium| {
        let stub = Stub::start().await;
        let prime = "const n = 2 ** 13 - 1; let d = 2; while (n % d && d * d <= n) d++; console.log('least divisor', n % d ? n : d); n % d !== 0";
        stub.on(
            deriving_from("2^13 - 1 is prime."),
            coded("no number up to its root divides it", prime),
        );
        let square = "const n = 49; console.log('7 * 7 is', 7 * 7); n !== 7 * 7";
        stub.on(
            deriving_from("49 is prime."),
            coded("no number up to its root divides it", square),
        );
        stub.on(
            deriving_from("2 is even."),
            coded("2 leaves nothing by 2", "2 % 2 === 0"),
        );
        let mut app = App::start(medium, &stub).await;
        let prime = tried(&app, "2^13 - 1 is prime.", "surviving").await;
        let it = statement(&app, &prime).await;
        // D1.45, D1.42: the choice is recorded, and an experiment is chosen before reflection.
        assert_eq!(it["predictions"][0]["instrument"], "code");
        assert!(
            it["predictions"][0]["reason"]
                .as_str()
                .unwrap()
                .contains("an experiment comes before reflection"),
            "{it}"
        );
        let read = &readings(&it)[0];
        assert_eq!(
            (&read["answer"], &read["source"]),
            (&json!("yes"), &json!("the output of code"))
        );
        assert_eq!(read["quote"], "least divisor 8191");
        assert_eq!(
            (&it["tested_by"], &it["reflection_only"]),
            (&json!(["code"]), &json!(false))
        );
        assert_eq!(it["label"], "a hypothesis that no test has refuted so far");
        let square = tried(&app, "49 is prime.", "falsified").await;
        let it = statement(&app, &square).await;
        let read = &readings(&it)[0];
        assert_eq!(
            (&read["answer"], &read["quote"]),
            (&json!("no"), &json!("7 * 7 is 49"))
        );
        assert!(
            it["reason"]
                .as_str()
                .unwrap()
                .contains("was refuted by code"),
            "{it}"
        );
        // Code that prints nothing says its value.
        let even = tried(&app, "2 is even.", "surviving").await;
        assert_eq!(readings(&statement(&app, &even).await)[0]["quote"], "true");
        assert_eq!(
            (stub.count(reflecting), stub.count(trial)),
            (0, 3),
            "only what follows is asked of a model"
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(d1_42_where_code_may_not_run_reflection_is_used, |medium| {
    let stub = agreeable().await;
    stub.on(deriving, coded("2 leaves nothing by 2", "2 % 2 === 0"));
    let app = Setup::new(medium, &stub)
        .env("THINKD_TOOLS__CODE__ENABLED", false)
        .start()
        .await;
    let it = statement(&app, &tried(&app, "2 is even.", "surviving").await).await;
    assert_eq!(it["tested_by"], json!(["reflection"]));
    assert!(
        it["predictions"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("no experiment"),
        "{it}"
    );
    assert_eq!(stub.count(reflecting), 1);
});

on_sqlite!(
    d1_47_whatever_is_neither_true_nor_false_is_no_answer_and_says_why,
    |medium| {
        let stub = agreeable().await;
        let all = [
            ("[1].at(0)", "neither true nor false: 1"),
            ("['true'].at(0)", "neither true nor false: \"true\""),
            ("Object({ value: true })", "neither true nor false"),
            ("[].at(0)", "neither true nor false: null"),
            ("throw new Error('true')", "ended in an error: Error: true"),
            ("this is no (code)", "ended in an error"),
            ("while (true) {}", "stopped (time)"),
            (
                "const all = []; while (true) all.push('x'.repeat(1e6))",
                "stopped (memory)",
            ),
            ("while (true) console.log('true')", "stopped (output)"),
        ];
        for (at, (code, _)) in all.iter().enumerate() {
            stub.on(
                deriving_from(&format!("Claim {at}.")),
                coded("it is so", code),
            );
        }
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_TOOLS__CODE__TIME_MS", 300)
            .env("THINKD_TEST_TOOLS__CODE__OUTPUT_BYTES", 10_000)
            .env("THINKD_TEST_MEMORY__TRIES", 1)
            .start()
            .await;
        for (at, (code, why)) in all.iter().enumerate() {
            let id = tried(&app, &format!("Claim {at}."), "proposed").await;
            let read = &readings(&statement(&app, &id).await)[0];
            assert_eq!(read["answer"], "none", "{code}: {read}");
            assert!(
                read["note"].as_str().unwrap().contains(why),
                "{code}: {read}"
            );
        }
        assert_eq!(
            stub.count(reflecting),
            0,
            "reflection does not decide where an experiment could (D1.42)"
        );
    }
);

on_sqlite!(
    d1_47_code_that_a_crash_cut_off_runs_again_and_is_read_once,
    |medium| {
        let stub = Stub::start().await;
        let mut two = derived(None, true, &["one", "two"]);
        two["predictions"][0]["code"] = json!("1 < 2");
        // Longer than the server lives after the first one was read.
        two["predictions"][1]["code"] =
            json!("const until = Date.now() + 700; while (Date.now() < until) {} true");
        stub.on(deriving, call("derive", two));
        let mut app = App::start(medium, &stub).await;
        let id = claim(&app, "It is so.").await;
        let tag = format!("statement:{id}");
        app.until("the first reading", async || {
            !with(&app.public_log().await, &["read", &tag]).is_empty()
        })
        .await;
        app.restart().await;
        judged(&app, &id, 0, "surviving").await;
        let expected = [
            "claimed",
            "derived",
            "read yes",
            "read yes",
            "judged surviving",
        ];
        assert_eq!(steps(&story_of(&app, &id).await), expected);
        assert_eq!(stub.count(deriving), 1);
    }
);

on_sqlite!(code_that_computes_nothing_is_no_experiment, |medium| {
    let stub = agreeable().await;
    let all = [
        "true",
        " !0;\n",
        "(true) // 1 === 2",
        "'a < b'",
        "const a = [1].at(0); a > 2;\ntrue",
    ];
    for (at, code) in all.iter().enumerate() {
        stub.on(
            deriving_from(&format!("Claim {at}.")),
            coded("it is so", code),
        );
    }
    let app = App::start(medium, &stub).await;
    for (at, code) in all.iter().enumerate() {
        let it = statement(
            &app,
            &tried(&app, &format!("Claim {at}."), "surviving").await,
        )
        .await;
        assert_eq!(
            (&it["tested_by"], &it["reflection_only"]),
            (&json!(["reflection"]), &json!(true)),
            "{code}"
        );
        assert!(
            it["rejected"][0]
                .as_str()
                .unwrap()
                .contains("its value is the same"),
            "{code}: {it}"
        );
    }
});
