//! Checks a schema of another server before a model or a person sees it: all its characters are
//! visible, and its size does no harm.

use serde_json::Value;

use thinkd_tools::schema::fit;
use thinkd_words::unseen::first_unseen;

/// Checks the schema of an object. The error names its fault.
pub fn unfit(schema: &Value) -> Result<(), String> {
    fit::unfit(schema)?;
    match first_unseen(&schema.to_string()) {
        Some(name) => Err(format!(
            "its schema has a character that people do not see ({name})"
        )),
        None => Ok(()),
    }
}
