//! A weak model: wrong JSON half of the time, words instead of a call a third of the time, and tools that are not there. Every turn gets an
//! answer with words of the model's own.

use serde_json::json;

use kit::*;

const TURNS: usize = 200;
/// One call in so many is of a tool that is not there.
const INVENTED: u64 = 5;

/// Numbers that look random, the same for the same seed.
struct Dice(u64);

impl Dice {
    /// A number below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % sides
    }
}

/// Wrong JSON for a reply with these words.
fn wrong(words: &str, kind: u64) -> String {
    match kind {
        0 => format!("{{\"text\": \"{words}\""),
        1 => format!("{{\"text\": \"{words}\",}}"),
        2 => format!("{{text: \"{words}\"}}"),
        3 => format!("{{'text': '{words}'}}"),
        4 => format!("{{\"text\": \"{words}"),
        5 => words.to_owned(),
        6 => format!("{{\"text\" \"{words}\"}}"),
        _ => format!("{{\"text\": \"{}\"}}", words.replacen(' ', "\n", 1)),
    }
}

fn weak(dice: &mut Dice) -> Answer {
    let words = format!("My answer is {}.", dice.roll(1_000_000));
    if dice.roll(3) == 0 {
        return text(&words);
    }
    let arguments = match dice.roll(2) {
        0 => wrong(&words, dice.roll(8)),
        _ => json!({ "text": words }).to_string(),
    };
    let tool = match dice.roll(INVENTED) {
        0 => ["say", "answer", "respond_to_user"][usize::try_from(dice.roll(3)).unwrap()],
        _ => "reply",
    };
    call_raw(tool, &arguments)
}

#[tokio::test]
async fn a_weak_model_answers_each_turn() {
    for seed in [1, 2, 3] {
        let stub = Stub::start().await;
        let mut dice = Dice(seed);
        stub.on_each(decision, move |_| weak(&mut dice));
        let app = Setup::new(Medium::sqlite(), &stub)
            .env("THINKD_HISTORY__DECISION", 4)
            .start()
            .await;
        let mut most = 0;
        let mut answered = 0;
        for turn in 0..TURNS {
            let before = stub.count(decision);
            let responses = app.tell(&format!("question {turn}")).await;
            most = most.max(stub.count(decision) - before);
            let is_own = |text: &str| {
                text.split_whitespace().next() == Some("My") && text.contains("answer")
            };
            answered += usize::from(responses.len() == 1 && is_own(said(&responses[0])));
        }
        let calls = stub.count(decision);
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let more = (calls - TURNS) as f64 / TURNS as f64;
        println!(
            "weak model, seed {seed}: {answered} of {TURNS} turns answered, {more:.2} calls more a turn than a perfect model, at most {most}"
        );
        assert_eq!(answered, TURNS, "seed {seed}");
        assert!(more <= 2.0 && most <= 6, "seed {seed}: {more}, {most}");
    }
}
