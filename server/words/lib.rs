//! Values: ids, time, text, failures, budgets, secrets.

pub mod alike;
pub mod budget;
pub mod decode;
pub mod defaults;
pub mod diff;
pub mod digits;
pub mod failure;
pub mod id;
pub mod lenient_json;
pub mod marks;
pub mod principal;
pub mod recurrence;
pub mod secret;
pub mod setting;
pub mod spelling;
pub mod text;
pub mod time;
pub mod tool_name;
pub mod unseen;
pub mod veil;
