//! Checks of the envelope that every event must pass, wherever it comes from.

use std::collections::HashSet;

use serde_json::Value;

use super::{seq, story, tags};

const MEMBERS: [&str; 8] = [
    "event_id", "meta", "modality", "payload", "seq", "source", "thread", "ts",
];
const SOURCES: [&str; 4] = ["user", "tool", "system", "internal"];
const MODALITIES: [&str; 4] = ["text", "image", "audio", "state"];
/// Members that would be causal references, at any depth of an envelope.
const CAUSAL: [&str; 6] = [
    "ref_ids",
    "refs",
    "parent_id",
    "caused_by",
    "causation_id",
    "correlation_id",
];

/// Returns the faults of an event's envelope; empty without any.
pub fn faults(event: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut must = |right: bool, what: &str| {
        if !right {
            faults.push(what.to_owned());
        }
    };
    let Some(object) = event.as_object() else {
        return vec!["it is no object".to_owned()];
    };
    let mut members: Vec<&str> = object.keys().map(String::as_str).collect();
    members.sort_unstable();
    must(
        members == MEMBERS,
        "its members are not the eight of the contract",
    );
    let text = |member: &str| event[member].as_str().unwrap_or_default();
    must(
        uuid::Uuid::parse_str(text("event_id")).is_ok(),
        "event_id is no UUID",
    );
    must(
        is_time(text("ts")),
        "ts is not written YYYY-MM-DDTHH:MM:SS.ffffffZ",
    );
    must(
        SOURCES.contains(&text("source")),
        "source is none of the four",
    );
    must(
        MODALITIES.contains(&text("modality")),
        "modality is none of the four",
    );
    must(event["payload"].is_object(), "payload is no object");
    must(
        text("source") != "internal" || event["payload"]["text"].is_string(),
        "an internal event has no text",
    );
    must(
        event["meta"]
            .as_object()
            .is_some_and(|meta| meta.len() == 1),
        "meta has other members than tags",
    );
    let all_strings = |list: &Vec<Value>| list.iter().all(Value::is_string);
    must(
        event["meta"]["tags"].as_array().is_some_and(all_strings),
        "meta.tags is no list of strings",
    );
    must(
        !text("thread").is_empty() && seq(event) > 0,
        "it has no address in the log",
    );
    let causal = |object: &Value| CAUSAL.iter().any(|name| object.get(name).is_some());
    must(
        !causal(event) && !causal(&event["meta"]),
        "it refers to other events",
    );
    faults
}

/// `2026-11-21T04:25:00.123456Z`, digit for digit.
fn is_time(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    shape == "0000-00-00T00:00:00.000000Z" && thinkd_words::time::Timestamp::parse(text).is_some()
}

/// Checks a whole log from its beginning, `debug` included: every envelope, positions without gaps, times that never fall, ids used once.
#[track_caller]
pub fn check_log(log: &[Value]) {
    for event in log {
        assert_eq!(faults(event), Vec::<String>::new(), "{event}");
    }
    let seqs: Vec<i64> = log.iter().map(seq).collect();
    let expected: Vec<i64> = (1..=i64::try_from(log.len()).unwrap()).collect();
    assert_eq!(seqs, expected, "positions have gaps or repeat");
    let times: Vec<&str> = log
        .iter()
        .filter_map(|event| event["ts"].as_str())
        .collect();
    assert!(times.is_sorted(), "times fall:\n{}", story(log));
    let ids: HashSet<&str> = log
        .iter()
        .filter_map(|event| event["event_id"].as_str())
        .collect();
    assert_eq!(ids.len(), log.len(), "an event_id is used twice");
}

/// Checks that every turn that began ended exactly once, that turns of one thread do not overlap, and that every event that woke a
/// thread was in the batch of a turn that was handled, or else was taken back.
#[track_caller]
pub fn check_turns(log: &[Value], thread: &str) {
    let mut running: Option<u64> = None;
    let mut handled: HashSet<i64> = HashSet::new();
    let mut batch: Vec<i64> = Vec::new();
    let mut woken: Vec<i64> = Vec::new();
    let mut back: Vec<i64> = Vec::new();
    for event in log.iter().filter(|event| event["thread"] == thread) {
        let tags = tags(event);
        let number = event["payload"]["turn"].as_u64();
        let is = |tag: &str| tags.contains(&tag);
        if (is("input") && !is("part") || is("thought") || is("message")) && !is("debug") {
            woken.push(seq(event));
        }
        if is("withdrawn") {
            let input = event["payload"]["input"].as_i64().unwrap();
            let with_turn = event["payload"]["turns"].is_array();
            assert_eq!(
                handled.contains(&input),
                with_turn,
                "#{input} was taken back with its turn, or handled:\n{}",
                story(log)
            );
            woken.retain(|seq| *seq != input);
            back.push(input);
        }
        if is("turn") && is("started") {
            assert_eq!(
                running,
                None,
                "turn {number:?} began inside another:\n{}",
                story(log)
            );
            running = number;
            batch = event["payload"]["batch"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_i64)
                .collect();
            let both = batch.iter().find(|seq| back.contains(seq));
            assert_eq!(
                both,
                None,
                "a turn is about what was taken back:\n{}",
                story(log)
            );
        }
        if is("turn") && is("steered") {
            assert_eq!(running, number, "no turn takes in:\n{}", story(log));
            let inputs = event["payload"]["inputs"].as_array().unwrap().iter();
            batch.extend(inputs.filter_map(|it| it[1].as_i64()));
        }
        if is("turn") && is("ended") {
            assert_eq!(
                running,
                number,
                "turn {number:?} ended, another ran:\n{}",
                story(log)
            );
            running = None;
            if event["payload"]["outcome"] != "interrupted" {
                for seq in &batch {
                    assert!(
                        handled.insert(*seq),
                        "#{seq} was handled twice:\n{}",
                        story(log)
                    );
                }
            }
        }
    }
    assert_eq!(running, None, "a turn did not end:\n{}", story(log));
    for seq in woken {
        assert!(
            handled.contains(&seq),
            "#{seq} was never handled:\n{}",
            story(log)
        );
    }
}

/// The checks themselves: they go red.
#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(seq: i64) -> Value {
        json!({
            "event_id": uuid::Uuid::from_u128(seq as u128).to_string(), "ts": "2026-11-21T04:25:00.123456Z", "source": "internal",
            "modality": "text", "payload": { "text": "x" }, "meta": { "tags": [] }, "thread": "main", "seq": seq,
        })
    }

    #[test]
    fn a_good_log_passes_and_each_fault_is_found() {
        check_log(&[event(1), event(2)]);
        let broken = |change: fn(&mut Value)| {
            let mut event = event(1);
            change(&mut event);
            assert_eq!(faults(&event).len(), 1, "{:?}", faults(&event));
        };
        broken(|e| e["event_id"] = json!("1"));
        broken(|e| e["ts"] = json!("2026-11-21T04:25:00Z"));
        broken(|e| e["source"] = json!("core"));
        broken(|e| e["modality"] = json!("video"));
        broken(|e| e["payload"] = json!({}));
        broken(|e| e["meta"]["tags"] = json!([1]));
        broken(|e| e["ref"] = json!("x"));
    }

    #[test]
    #[should_panic(expected = "gaps")]
    fn a_gap_is_found() {
        check_log(&[event(1), event(3)]);
    }
}
