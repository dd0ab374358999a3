//! A file with secrets, a line each: the environment of a program, the headers of requests.

use std::collections::BTreeMap;
use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};

use thinkd_words::text::unmarked;

/// Returns these values and those of a file, which has one a line: a name, `sign`, and the value.
/// The error: the file cannot be read, or a line has no `sign`.
pub fn with_file(
    values: &BTreeMap<String, SecretString>,
    file: Option<&Path>,
    sign: char,
) -> Result<BTreeMap<String, SecretString>, String> {
    let mut all = values.clone();
    let Some(file) = file else { return Ok(all) };
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    let text = SecretString::from(text);
    for (number, line) in unmarked(text.expose_secret())
        .lines()
        .map(str::trim)
        .enumerate()
    {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // Nothing of the line is said: it may be a secret in the wrong form.
        let Some((name, value)) = line.split_once(sign) else {
            return Err(format!(
                "{}, line {}: it has no {sign} behind a name",
                file.display(),
                number + 1
            ));
        };
        all.insert(name.trim().to_owned(), value.trim().into());
    }
    Ok(all)
}
