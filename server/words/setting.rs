//! A setting of a space is a switch that people turn while the server runs. Here are the settings,
//! the values of each, and the value until a person sets it.

use serde_json::{Value, json};

use super::spelling::words;
use super::time::zone;

words! {
    /// See the module.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Setting {
        /// No person is there to be asked: a question is answered "away" at once. This never grants
        /// an approval.
        UserAway = "user_away",
        /// The purpose of the mind of the space, in its models' words; empty: none was given.
        Mission = "mission",
        /// The number of seconds between two reflections; null: the mind does not reflect by
        /// itself.
        ReflectionS = "reflection_s",
        /// The zone in which models are shown times: a name of the IANA database.
        TimeZone = "time_zone",
    }
}

/// Most characters of a mission.
pub const MISSION_MAX: usize = 2000;
/// The longest time between two reflections, in seconds: a year.
pub const REFLECTION_MAX_S: f64 = 31_622_400.0;

impl Setting {
    /// Returns the value until a person sets it.
    pub fn initial(self) -> Value {
        match self {
            Self::UserAway => Value::Bool(false),
            Self::Mission => Value::from(""),
            Self::ReflectionS => Value::Null,
            Self::TimeZone => Value::from("UTC"),
        }
    }

    /// Returns the fault of a value for it, if there is one.
    pub fn refuses(self, value: &Value) -> Option<&'static str> {
        match self {
            Self::UserAway => (!value.is_boolean()).then_some("true or false is expected"),
            Self::Mission => {
                let is_mission = value
                    .as_str()
                    .is_some_and(|text| text.chars().count() <= MISSION_MAX);
                (!is_mission).then_some("a text of at most 2000 characters is expected")
            }
            Self::ReflectionS => {
                let is_time = value
                    .as_f64()
                    .is_some_and(|seconds| seconds > 0.0 && seconds <= REFLECTION_MAX_S);
                (!is_time && !value.is_null())
                    .then_some("a number of seconds up to a year, or null, is expected")
            }
            Self::TimeZone => {
                let is_zone = value.as_str().is_some_and(|name| zone(name).is_some());
                (!is_zone).then_some(
                    "a time zone of the IANA database is expected, such as Europe/Berlin or UTC",
                )
            }
        }
    }

    /// Returns the values it may have, as a JSON schema.
    pub fn schema(self) -> Value {
        match self {
            Self::UserAway => json!({
                "type": "boolean",
                "description": "nobody is there to be asked: open questions are withdrawn and new ones answered \"away\" at once; never grants an approval",
            }),
            Self::Mission => json!({
                "type": "string",
                "maxLength": MISSION_MAX,
                "pattern": r"^[^\u0000]*$",
                "description": "what the mind of the space is for: every model of it is told; empty: nobody has said",
            }),
            Self::ReflectionS => json!({
                "type": ["number", "null"],
                "exclusiveMinimum": 0,
                "maximum": REFLECTION_MAX_S,
                "description": "how many seconds lie between two reflections (the schedule `reflection`); null: the mind does not reflect by itself",
            }),
            Self::TimeZone => json!({
                "type": "string",
                "examples": ["Europe/Berlin"],
                "description": "the zone in which models are shown the times of what happens from then on, by its name in the IANA database; each entry of a prompt names it",
            }),
        }
    }
}
