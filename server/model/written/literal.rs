//! Values as forms other than JSON write them: the forms differ in their texts and keys alone.

use serde_json::{Map, Value};

use super::rest::{Rest, number};

/// Deepest nesting of lists and objects.
const DEPTH_MAX: usize = 32;

/// The texts and keys of a form.
pub(super) struct Literals {
    /// A text. None: none stands here; none inside: one that cannot be read.
    pub text: fn(&mut Rest<'_>) -> Option<Option<String>>,
    /// A key of an object.
    pub key: fn(&mut Rest<'_>) -> Option<String>,
}

impl Literals {
    pub fn value(&self, rest: &mut Rest<'_>) -> Option<Value> {
        self.value_at(rest, DEPTH_MAX)
    }

    /// The members of an object behind its opening brace.
    pub fn members(&self, rest: &mut Rest<'_>) -> Option<Map<String, Value>> {
        self.members_at(rest, DEPTH_MAX)
    }

    fn value_at(&self, rest: &mut Rest<'_>, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        if let Some(text) = (self.text)(rest) {
            return text.map(Value::String);
        }
        if rest.eat("{") {
            return self.members_at(rest, depth).map(Value::Object);
        }
        if rest.eat("[") {
            let mut items = Vec::new();
            while !rest.eat("]") {
                items.push(self.value_at(rest, depth)?);
                if !rest.eat(",") && !rest.stands("]") {
                    return None;
                }
            }
            return Some(items.into());
        }
        match rest.run(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '+')) {
            "true" | "True" => Some(true.into()),
            "false" | "False" => Some(false.into()),
            "null" | "None" => Some(Value::Null),
            word => number(word),
        }
    }

    fn members_at(&self, rest: &mut Rest<'_>, depth: usize) -> Option<Map<String, Value>> {
        let mut members = Map::new();
        while !rest.eat("}") {
            let key = (self.key)(rest)?;
            if !rest.eat(":") {
                return None;
            }
            members.insert(key, self.value_at(rest, depth)?);
            if !rest.eat(",") && !rest.stands("}") {
                return None;
            }
        }
        Some(members)
    }
}
