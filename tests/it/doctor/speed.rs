//! `thinkd doctor` predicts a turn from one call, and names the longest wait.

use super::*;

/// The tokens that the first message costs, as a `tokens` line predicts.
fn predicted(line: &str) -> f64 {
    let (_, rest) = line
        .split_once("costs about ")
        .unwrap_or_else(|| panic!("{line}"));
    rest.split(' ').next().unwrap().parse().unwrap()
}

/// The seconds that a `speed` line says behind these words.
fn seconds(line: &str, words: &str) -> f64 {
    let (_, rest) = line.split_once(words).unwrap_or_else(|| panic!("{line}"));
    let (number, unit) = rest.trim_start().split_once(' ').unwrap();
    assert!(unit.starts_with('s'), "{line}");
    number.parse().unwrap()
}

// A model that counts its tokens as the offline one does: a quarter of the bytes.
#[tokio::test]
async fn the_doctor_predicts_calls_seconds_and_tokens_of_a_turn() {
    let stub = Stub::start().await;
    stub.on_each(any, |request| {
        reply("hello")
            .usage(request.bytes.len() as u64 / 4, 10, 0)
            .after(ms(1_200))
    });
    let new = Setup::new(Medium::sqlite(), &stub).env("THINKD_RUNTIME__DEFAULT_SUBMODULES", "");
    let found = doctor(&new, &[]).await;
    found.fine(&["all is well"]);
    assert_eq!(stub.count(any), 1, "it is one call");
    let speed = found.line("speed");
    let call = seconds(speed, "a call takes");
    assert!((1.2..3.0).contains(&call), "{speed}");
    // On this machine one call is answered after the other.
    let expected = seconds(speed, "Expect a reply after");
    assert!((expected - 3.0 * call).abs() < 0.3, "{speed}");
    for part in [
        "A turn makes 3: 2 submodules at the same time, then the decision.",
        "answers 2 calls at the same time",
    ] {
        assert!(speed.contains(part), "no {part:?} in {speed}");
    }
    assert!(
        !speed.contains("To be faster"),
        "it is fast enough: {speed}"
    );
    let tokens = predicted(found.line("tokens"));
    assert!(
        found.line("tokens").contains("as this model counts"),
        "{}",
        found.said
    );
    let slowest = found.line("bottleneck");
    assert!(slowest.contains("the model: a reply waits "), "{slowest}");
    assert!(slowest.contains("runs on this machine"), "{slowest}");
    // It comes as predicted: a third more or less.
    stub.clear();
    stub.on(decision, reply("hello"));
    let app = new.start_bare().await;
    app.tell("hello").await;
    // The first request is the doctor's own.
    let turn = &stub.requests()[1..];
    let sent: usize = turn.iter().map(|request| request.bytes.len()).sum();
    let came = sent as f64 / 4.0;
    assert_eq!(turn.len(), 3);
    assert!(
        (0.67..1.33).contains(&(tokens / came)),
        "{tokens} were predicted, {came} came"
    );
}

// What is there counts, not what is usual: voices of the space, those that follow up, and settings that are set.
#[tokio::test]
async fn the_doctor_counts_the_voices_of_the_space_and_says_what_to_set() {
    let stub = Stub::start().await;
    stub.on(any, reply("hello"));
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    let app = Setup::new(Medium::sqlite(), &stub)
        .voices(&names)
        .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 5_000)
        .start()
        .await;
    app.patch("/submodules/a", json!({ "follow_up": false }))
        .await
        .expect(200);
    // The server has the database open: it is asked.
    let setup = |more: &[(&str, &str)]| {
        let env = [
            ("DATABASE_URL", app.database()),
            ("THINKD_LISTEN", app.address.as_str()),
            ("THINKD_MODEL", "stub"),
            ("OPENAI_API_KEY", "test"),
            ("THINKD_TURN__SUBMODULE_TIMEOUT_MS", "5000"),
        ];
        let env = env.into_iter().chain(more.iter().copied());
        env.map(|(name, value)| (name.to_owned(), value.to_owned()))
            .chain([("OPENAI_BASE_URL".to_owned(), stub.url())])
            .collect::<Vec<_>>()
    };
    let run = async |more: &[(&str, &str)]| {
        let env = setup(more);
        let env: Vec<(&str, &str)> = env
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let (code, said) = app::ran(&app.folder(), &env, &["doctor"]).await;
        Found { code, said }
    };
    let found = run(&[]).await;
    let fast = found.line("speed");
    assert!(
        fast.contains("A turn makes 22: 11 submodules at the same time, then the decision, and 10 follow-ups after the reply."),
        "{fast}"
    );
    assert!(!fast.contains("To be faster"), "{fast}");
    stub.clear();
    stub.on(any, reply("hello").after(ms(1_000)));
    let slow = run(&[]).await;
    let slow = slow.line("speed");
    assert!(seconds(slow, "Expect a reply after") >= 12.0, "{slow}");
    for part in [
        "turn.submodule_timeout_ms = ",
        "turn.follow_up = false",
        "DELETE /submodules/NAME",
    ] {
        assert!(slow.contains(part), "no {part:?} in {slow}");
    }
    // What is set already is not named.
    let set = [
        ("THINKD_TURN__FOLLOW_UP", "false"),
        ("THINKD_TURN__SUBMODULE_TIMEOUT_MS", "60000"),
    ];
    let found = run(&set).await;
    let line = found.line("speed");
    assert!(
        line.contains("A turn makes 12: ") && line.contains("To be faster"),
        "{line}"
    );
    assert!(!line.contains("turn."), "{line}");
}

// A stranger reads it: none of our own words.
#[tokio::test]
async fn the_doctor_speaks_plainly() {
    let stub = Stub::start().await;
    stub.on(any, reply("hello"));
    let found = doctor(&Setup::new(Medium::sqlite(), &stub), &[]).await;
    found.fine(&["all is well"]);
    for word in [
        "instrument",
        "reflection",
        "claimed",
        "vectors are",
        "submodule",
        "tier",
        "..",
    ] {
        let said = found.said.replace("/submodules", "");
        assert!(!said.contains(word), "{word:?} is in {}", found.said);
    }
    // Offline there is nothing to predict.
    let offline = doctor(&Setup::offline(Medium::sqlite()), &[]).await;
    offline.fine(&["THINKD_MODEL"]);
    assert!(!offline.said.contains("bottleneck"), "{}", offline.said);
}
