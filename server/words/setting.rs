//! A setting of a space is a switch that people turn while the server runs. Here: which there are, what each may be, and what it is
//! until somebody sets it.

use serde_json::{Value, json};

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// Nobody is there to be asked: a question is answered "away" at once. It never grants an approval.
    UserAway,
}

impl Setting {
    /// Every one of them.
    pub const ALL: [Self; 1] = [Self::UserAway];

    /// Its key.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserAway => "user_away",
        }
    }

    /// The setting with this key.
    pub fn parse(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|setting| setting.as_str() == key)
    }

    /// What it is until somebody sets it.
    pub fn initial(self) -> Value {
        match self {
            Self::UserAway => Value::Bool(false),
        }
    }

    /// What is wrong with a value for it, if it is none.
    pub fn refuses(self, value: &Value) -> Option<&'static str> {
        match self {
            Self::UserAway => (!value.is_boolean()).then_some("true or false is expected"),
        }
    }

    /// What it may be, as a JSON schema.
    pub fn schema(self) -> Value {
        match self {
            Self::UserAway => json!({
                "type": "boolean",
                "description": "nobody is there to be asked: open questions are withdrawn and new ones answered \"away\" at once; never grants an approval",
            }),
        }
    }
}
