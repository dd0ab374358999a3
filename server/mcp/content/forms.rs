//! Words and JSON of one answer, which may be two forms of the same: then one of them is kept. Pure.

use serde_json::Value;

use thinkd_words::digits;

/// The member in which servers put JSON that is no object.
const WRAPPER: &str = "result";

/// Returns the words and the JSON of an answer that are kept: both, unless they say the same. Words with more digits than the JSON say more.
pub fn one_form(texts: Vec<String>, structured: Option<Value>) -> (Vec<String>, Option<Value>) {
    let is_silent = texts.iter().all(String::is_empty);
    match structured {
        Some(value) if is_silent => (Vec::new(), Some(value)),
        None | Some(Value::Null) => (texts, None),
        Some(value) if is_said(&texts, &value) => (Vec::new(), Some(value)),
        Some(Value::Object(mut members)) if members.len() == 1 => {
            let inner = members.values().next().cloned().unwrap_or_default();
            if !is_said(&texts, &inner) {
                return (texts, Some(members.into()));
            }
            let value = members.remove(WRAPPER).unwrap_or_else(|| members.into());
            (Vec::new(), Some(value))
        }
        other => (texts, other),
    }
}

/// Returns true for words that say this value, together, or each of them its entry of a list.
fn is_said(texts: &[String], value: &Value) -> bool {
    let each = |list: &Vec<Value>| {
        let pairs = texts.iter().zip(list);
        list.len() == texts.len() && pairs.into_iter().all(|(text, value)| says(text, value))
    };
    says(&texts.join("\n"), value) || value.as_array().is_some_and(each)
}

fn says(text: &str, value: &Value) -> bool {
    let whole = text.trim();
    let text = unfenced(whole);
    let is_text = |it: &str| [whole, text].contains(&it.trim());
    value.as_str().is_some_and(is_text)
        || serde_json::from_str::<Value>(text).is_ok_and(|said| is_same(&said, value))
            && digits::unkept(text).is_none()
}

/// Returns the text without the code fence around it.
fn unfenced(text: &str) -> &str {
    let inner = text
        .strip_prefix("```")
        .and_then(|it| it.strip_suffix("```"));
    let inner = inner.and_then(|it| it.split_once('\n'));
    inner.map_or(text, |(_, inner)| inner.trim())
}

/// Returns true for two values that are the same, where 2 is 2.0.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || (one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_there = |(name, one): (&String, &Value)| {
                other.get(name).is_some_and(|other| is_same(one, other))
            };
            one.len() == other.len() && one.iter().all(is_there)
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(texts: &[&str], structured: Value) -> (usize, Option<Value>) {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        let (texts, structured) = one_form(texts, Some(structured));
        (texts.len(), structured)
    }

    #[test]
    fn two_forms_of_one_answer_are_one() {
        let list = json!([{ "i": 0 }, { "i": 1 }]);
        let is = |texts: &[&str], structured: Value, value: Value| {
            assert_eq!(kept(texts, structured), (0, Some(value)), "{texts:?}");
        };
        is(
            &["[{\"i\":0},{\"i\":1}]"],
            json!({ "result": list }),
            list.clone(),
        );
        is(
            &["{\"i\":0}", "{\"i\":1}"],
            json!({ "result": list }),
            list.clone(),
        );
        is(&["2"], json!({ "result": 2 }), json!(2));
        is(&["2.0"], json!({ "result": 2 }), json!(2));
        is(&["a\nb\n"], json!({ "result": "a\nb" }), json!("a\nb"));
        is(
            &["a", "b"],
            json!({ "result": ["a", "b"] }),
            json!(["a", "b"]),
        );
        is(
            &["{\n  \"b\": 1,\n  \"a\": 2.0\n}"],
            json!({ "a": 2, "b": 1 }),
            json!({ "a": 2, "b": 1 }),
        );
        is(
            &["```json\n{\"a\": 1}\n```"],
            json!({ "a": 1 }),
            json!({ "a": 1 }),
        );
        let diff = "```diff\n-a\n+b\n```\n\n";
        is(
            &[diff],
            json!({ "content": diff }),
            json!({ "content": diff }),
        );
        is(&[diff], json!({ "result": "-a\n+b" }), json!("-a\n+b"));
        is(&["5"], json!({ "total": 5 }), json!({ "total": 5 }));
        is(&[], json!({ "result": null }), json!({ "result": null }));
        is(&[""], json!({ "result": [] }), json!({ "result": [] }));
        assert_eq!(kept(&["words"], json!(null)), (1, None));
        assert_eq!(
            kept(&["two"], json!({ "result": 2 })),
            (1, Some(json!({ "result": 2 })))
        );
        let long = "0.100000000000000005551115123126";
        assert_eq!(
            kept(&[long], json!({ "n": 0.1 })),
            (1, Some(json!({ "n": 0.1 })))
        );
        assert_eq!(kept(&["a", "b"], json!(["a"])), (2, Some(json!(["a"]))));
    }
}
