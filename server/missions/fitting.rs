//! Prompts of missions fit a window: of texts that are too long together each has an equal share,
//! and says how much of it is left out. Pure.

use serde_json::{Map, Value as Json, json};

use thinkd_tasks::level::level;

/// Bytes of a text that is cut which are worth showing.
const LEAST: usize = 200;
/// Room for the words that say so.
const NOTE: usize = 64;
/// Values and members that are cut only where all else is cut: they state the task.
const WANTED: [&str; 7] = [
    "mission",
    "rubric",
    "route",
    "id",
    "name",
    "description",
    "status",
];
/// Elements of a list that are left, and whether all texts are cut: the first of these that leaves
/// texts worth showing is taken.
const WAYS: [(usize, bool); 5] = [
    (usize::MAX, false),
    (64, false),
    (16, false),
    (16, true),
    (4, true),
];

/// Makes values of a prompt, each a text of JSON, take at most so many bytes together.
pub(super) fn fit(values: &mut [(String, String)], room: usize) {
    if values.iter().map(|(_, text)| text.len()).sum::<usize>() <= room {
        return;
    }
    for (most, all) in WAYS {
        let whole = Cutting {
            most,
            all,
            share: usize::MAX,
        };
        let mut fixed = 0;
        let mut sizes = Vec::new();
        let mut read = Vec::new();
        for (at, (name, text)) in values.iter().enumerate() {
            let Ok(value) = serde_json::from_str::<Json>(text) else {
                fixed += text.len();
                continue;
            };
            let is_wanted = WANTED.contains(&name.as_str());
            let value = whole.shorten(value, is_wanted);
            let before = sizes.len();
            whole.sizes(&value, is_wanted, &mut sizes);
            let cuttable: usize = sizes[before..].iter().sum();
            fixed += value.to_string().len() - cuttable;
            read.push((at, value, is_wanted));
        }
        let share = level(room.saturating_sub(fixed), sizes);
        if (share < LEAST || fixed > room) && (most, all) != WAYS[WAYS.len() - 1] {
            continue;
        }
        for (at, value, is_wanted) in read {
            let most = usize::MAX;
            let cutting = Cutting { most, all, share };
            values[at].1 = cutting.shorten(value, is_wanted).to_string();
        }
        return;
    }
}

/// Returns a text of at most so many bytes as JSON, cut in the middle with a word on that.
pub(super) fn cut_middle(text: &str, most: usize) -> String {
    if size(text) <= most {
        return text.to_owned();
    }
    let half = most.saturating_sub(NOTE) / 2;
    let fits = |left: &mut usize, c: char| {
        *left = left.checked_sub(size_of(c))?;
        Some(c)
    };
    let head: String = text.chars().scan(half, fits).collect();
    let tail: Vec<char> = text.chars().rev().scan(half, fits).collect();
    let all = text.chars().count();
    let left_out = all - head.chars().count() - tail.len();
    let tail = String::from_iter(tail.into_iter().rev());
    format!("{head}[{left_out} of {all} characters are left out here]{tail}")
}

/// Returns the number of bytes of a text as JSON, without its quotes.
pub(super) fn size(text: &str) -> usize {
    text.chars().map(size_of).sum()
}

const fn size_of(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => c.len_utf8(),
    }
}

/// A way to cut the texts and lists of a value.
#[derive(Clone, Copy)]
struct Cutting {
    most: usize,
    all: bool,
    share: usize,
}

impl Cutting {
    fn shorten(self, value: Json, is_wanted: bool) -> Json {
        match value {
            Json::String(text) if is_wanted && !self.all => Json::String(text),
            Json::String(text) => Json::String(cut_middle(&text, self.share)),
            Json::Array(list) => {
                let count = list.len();
                // Of a long list its beginning and its end: the newest stands last.
                let head = self.most.div_ceil(2);
                let tail = self.most / 2;
                let left_out = count.saturating_sub(self.most);
                let mut kept = Vec::with_capacity(count - left_out + 1);
                for (at, it) in list.into_iter().enumerate() {
                    if left_out == 0 || at < head || at >= count - tail {
                        kept.push(self.shorten(it, is_wanted));
                    } else if at == head {
                        kept.push(json!(format!("{left_out} of {count} are left out here")));
                    }
                }
                Json::Array(kept)
            }
            Json::Object(members) => {
                let shorten = |(key, value): (String, Json)| {
                    let is_wanted = is_wanted || WANTED.contains(&key.as_str());
                    let value = self.shorten(value, is_wanted);
                    (key, value)
                };
                Json::Object(members.into_iter().map(shorten).collect::<Map<_, _>>())
            }
            value => value,
        }
    }

    /// The sizes of the texts that may be cut.
    fn sizes(self, value: &Json, is_wanted: bool, sizes: &mut Vec<usize>) {
        match value {
            Json::String(text) if !is_wanted || self.all => sizes.push(size(text)),
            Json::Array(list) => list.iter().for_each(|it| self.sizes(it, is_wanted, sizes)),
            Json::Object(members) => members.iter().for_each(|(key, value)| {
                let is_wanted = is_wanted || WANTED.contains(&key.as_str());
                self.sizes(value, is_wanted, sizes);
            }),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(values: &[(&str, Json)], room: usize) -> Vec<Json> {
        let text = |(name, value): &(&str, Json)| ((*name).to_owned(), value.to_string());
        let mut values: Vec<(String, String)> = values.iter().map(text).collect();
        fit(&mut values, room);
        let all: usize = values.iter().map(|(_, text)| text.len()).sum();
        assert!(all <= room, "{all} of {room}");
        let read = |(_, text): &(String, String)| serde_json::from_str(text).unwrap();
        values.iter().map(read).collect()
    }

    #[test]
    fn long_texts_have_equal_shares_and_short_ones_are_whole() {
        let long = "\"ä\n".repeat(4_000);
        let task =
            json!({ "name": "n".repeat(200), "description": "d".repeat(900), "before": [long] });
        let tries = json!([{ "answer": long, "why": "it is thin" }, { "answer": "short" }]);
        let values = [
            ("mission", json!("m".repeat(900))),
            ("task", task),
            ("so_far", tries),
        ];
        let all = fitted(&values, 6_000);
        assert_eq!(all[0], values[0].1);
        assert_eq!(all[1]["description"], values[1].1["description"]);
        assert_eq!(
            (&all[2][0]["why"], &all[2][1]["answer"]),
            (&json!("it is thin"), &json!("short"))
        );
        for cut in [&all[1]["before"][0], &all[2][0]["answer"]] {
            let cut = cut.as_str().unwrap();
            assert!(
                cut.starts_with("\"ä\n\"") && cut.ends_with("\"ä\n"),
                "{cut}"
            );
            assert!(
                cut.contains(" of 12000 characters are left out here]"),
                "{cut}"
            );
            assert!(size(cut) > 1_700, "{}", size(cut));
        }
    }

    #[test]
    fn of_more_texts_than_there_is_room_for_some_are_left_out_and_counted() {
        let before: Vec<Json> = (0..5_000)
            .map(|at| json!({ "id": format!("t{at}"), "name": "n", "answer": "a".repeat(900) }))
            .collect();
        let all = fitted(
            &[("task", json!({ "name": "join", "before": before }))],
            20_000,
        );
        let before = all[0]["before"].as_array().unwrap();
        assert_eq!(before.len(), 65);
        assert_eq!(before[32], "4936 of 5000 are left out here");
        assert_eq!(
            (&before[0]["id"], &before[64]["id"]),
            (&json!("t0"), &json!("t4999"))
        );
        assert!(
            before[0]["answer"]
                .as_str()
                .unwrap()
                .contains("left out here")
        );
        // What is wanted is cut last.
        let all = fitted(&[("mission", json!("m".repeat(9_000)))], 2_000);
        assert!(all[0].as_str().unwrap().contains("of 9000 characters"));
    }

    #[test]
    fn a_text_that_fits_is_whole() {
        assert_eq!(cut_middle("short", 5), "short");
    }
}
