//! Python, in programs that are built with the feature `python`: `cargo test --features python -- code::python`.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

fn python(code: &str) -> Answer {
    call(
        "run_code",
        json!({ "language": "python", "code": code, "input": "{\"numbers\": [1, 2, 18]}" }),
    )
}

on_sqlite!(python_code_runs_and_what_stops_it_is_said, |medium| {
    let stub = Stub::start().await;
    let codes = [
        "print('adding', input['numbers'])\nsum(input['numbers']) * 2",
        "import re, math, json\n{'a': [1.5, None, True, (1, 2)], 'b': 2**100, 3: re.findall('[a-z]', 'x1y'), 'c': math.floor(2.5)}",
        "x = 1\ny = nothing",
        "def f(:\n  pass",
        "while True: pass",
        "a = []\nwhile True: a.append('x' * 100000 + str(len(a)))",
        "def f(n): return f(n + 1)\nf(0)",
        "while True: print('flood' * 100)",
        "open('/etc/passwd').read()",
        "import os\nos.listdir('/')",
        "import socket",
        "'after ' + str(len(input))",
    ];
    stub.script(
        decision,
        codes
            .map(python)
            .into_iter()
            .chain([reply("Done.")])
            .collect::<Vec<_>>(),
    );
    let setup = Setup::new(medium, &stub)
        .env("THINKD_TEST_TOOLS__CODE__TIME_MS", 300)
        .env("THINKD_TURN__MAX_ROUNDS", 20);
    let app = setup
        .env("THINKD_TEST_TOOLS__CODE__MEMORY_BYTES", 16 << 20)
        .start()
        .await;
    app.tell("go").await;
    let log = app.public_log().await;
    let results = results(&log);
    assert_eq!(results.len(), codes.len(), "{}", story(&log));
    assert_eq!(
        *output(results[0]),
        json!({ "value": 42, "printed": "adding [1, 2, 18]\n" })
    );
    let value = json!({ "a": [1.5, null, true, [1, 2]], "b": "1267650600228229401496703205376", "3": ["x", "y"], "c": 2 });
    assert_eq!(output(results[1])["value"], value, "{}", results[1]);
    assert_eq!(output(results[2])["error"]["line"], 2, "{}", results[2]);
    assert!(
        output(results[2])["error"]["message"]
            .as_str()
            .unwrap()
            .contains("NameError"),
        "{}",
        results[2]
    );
    assert_eq!(output(results[3])["error"]["line"], 1, "{}", results[3]);
    assert_eq!(reason(results[4]), "time");
    assert_eq!(reason(results[5]), "memory");
    assert!(
        output(results[6])["error"]["message"]
            .as_str()
            .unwrap()
            .contains("RecursionError"),
        "{}",
        results[6]
    );
    assert_eq!(reason(results[7]), "output");
    for refused in &results[8..11] {
        assert!(output(refused)["error"]["message"].is_string(), "{refused}");
    }
    assert_eq!(output(results[11])["value"], "after 1");
});
