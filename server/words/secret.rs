//! Secrets: found in settings, URLs without their credentials, and lines of a log masked however they are escaped. Pure.

use std::collections::BTreeMap;

use secrecy::{ExposeSecret as _, SecretString};
use serde::Serializer;

/// The mark in the place of a configured secret.
pub const REDACTED: &str = "(redacted)";

/// Shorter secrets are not masked where they are escaped.
const MASKED: usize = 4;

/// Parameters of databases and providers with values that hide nothing.
const HARMLESS: [&str; 11] = [
    "user",
    "sslmode",
    "ssl-mode",
    "host",
    "port",
    "dbname",
    "application_name",
    "mode",
    "cache",
    "immutable",
    "api-version",
];

/// A URL split by its text alone: a mistyped URL has the same secrets, and no parser accepts it.
struct Parts<'a> {
    scheme: &'a str,
    /// The part before the last `@`: an unencoded password may have any character.
    credentials: Option<&'a str>,
    /// Host and path.
    address: &'a str,
    parameters: Option<&'a str>,
}

impl<'a> Parts<'a> {
    /// None: where its secrets stand cannot be said.
    fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        if scheme.is_empty()
            || !scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        {
            return None;
        }
        let (credentials, rest) = match rest.rsplit_once('@') {
            // Files have no credentials.
            Some((credentials, rest)) if scheme != "sqlite" => (Some(credentials), rest),
            _ => (None, rest),
        };
        // A password with a `?`, or an `@` among the parameters?
        if credentials.is_some_and(|credentials| credentials.contains(['?', '#', '/'])) {
            return None;
        }
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let (address, parameters) = rest
            .split_once('?')
            .map_or((rest, None), |(a, parameters)| (a, Some(parameters)));
        Some(Self {
            scheme,
            credentials,
            address,
            parameters,
        })
    }

    /// Returns the user of a database, which is no secret; of other addresses it may be a key.
    fn user(&self) -> Option<&'a str> {
        let credentials = self
            .credentials
            .filter(|_| matches!(self.scheme, "postgres" | "postgresql"))?;
        Some(
            credentials
                .split_once(':')
                .map_or(credentials, |(user, _)| user),
        )
    }
}

/// Returns a URL without passwords, keys and the values of its parameters, to be shown; empty of a text that is no URL.
pub fn shown_url(url: &str) -> String {
    let Some(parts) = Parts::of(url) else {
        return format!("{REDACTED}, since it is no URL like scheme://host");
    };
    let mut shown = format!("{}://", parts.scheme);
    match (parts.user(), parts.credentials) {
        (Some(user), Some(credentials)) if user == credentials => shown.extend([user, "@"]),
        (Some(user), _) => shown.extend([user, ":", REDACTED, "@"]),
        (None, Some(_)) => shown.extend([REDACTED, "@"]),
        (None, None) => {}
    }
    shown.push_str(parts.address);
    for (index, parameter) in parts
        .parameters
        .into_iter()
        .flat_map(|all| all.split('&'))
        .enumerate()
    {
        shown.push(if index == 0 { '?' } else { '&' });
        match parameter.split_once('=') {
            Some((name, value)) => {
                shown.extend([name, "=", if is_harmless(name) { value } else { REDACTED }])
            }
            None => shown.push_str(REDACTED),
        }
    }
    shown
}

/// Returns the secrets in a URL, as written and decoded.
pub fn in_url(url: &str) -> Vec<SecretString> {
    let mut found: Vec<&str> = Vec::new();
    match Parts::of(url) {
        None => found.push(url),
        Some(parts) => {
            let user = parts.user().unwrap_or_default();
            let credentials = parts
                .credentials
                .and_then(|all| all.strip_prefix(user))
                .unwrap_or_default();
            found.extend(
                credentials
                    .trim_start_matches(':')
                    .split_inclusive(':')
                    .map(|part| part.trim_end_matches(':')),
            );
        }
    }
    let parameters = url
        .split_once('?')
        .map_or("", |(_, parameters)| parameters)
        .split('&');
    for parameter in parameters {
        match parameter.split_once('=') {
            Some((name, _)) if is_harmless(name) => {}
            Some((_, value)) => found.push(value),
            None => found.push(parameter),
        }
    }
    let decoded: Vec<String> = found
        .iter()
        .filter_map(|text| percent_decoded(text))
        .collect();
    let found = found.into_iter().map(str::to_owned).chain(decoded);
    found
        .filter(|secret| !secret.is_empty())
        .map(SecretString::from)
        .collect()
}

/// Returns the secrets in a URL by which a server is asked: the password, and the parameters that are secret as variables are.
pub fn named_in_url(url: &str) -> Vec<SecretString> {
    let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
    let named = parameters.split('&').filter_map(|it| it.split_once('='));
    let mut found = in_url(address);
    for (name, value) in named {
        found.extend(in_variable(name, value.into()));
        found.extend(
            percent_decoded(value)
                .into_iter()
                .flat_map(|it| in_variable(name, it.into())),
        );
    }
    found
}

/// Returns true for a text of which the parts of a URL can be told apart.
pub fn is_url(url: &str) -> bool {
    Parts::of(url).is_some()
}

/// Returns the hosts of a URL, with ports and path.
pub fn address(url: &str) -> Option<&str> {
    Some(Parts::of(url)?.address)
}

fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name)
}

/// Serializes a URL without its secrets, for printing a configuration.
pub fn redacted_url<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown_url(url))
}

/// Serializes a URL without its secrets; none: an empty text, which `skip_serializing_if` leaves out.
pub fn optional_url<S: Serializer>(url: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    redacted_url(url.as_deref().unwrap_or_default(), serializer)
}

/// Serializes a table of secrets: its names, each with `(redacted)`.
pub fn redacted_table<S: Serializer>(
    values: &BTreeMap<String, SecretString>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.keys().map(|name| (name, REDACTED)))
}

/// Serializes a secret as `(redacted)`; an empty one, or none, as an empty text.
pub fn redacted<S: Serializer>(
    secret: &Option<SecretString>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let is_empty = |secret: &SecretString| secret.expose_secret().is_empty();
    let shown = match secret.as_ref().is_none_or(is_empty) {
        true => "",
        false => REDACTED,
    };
    serializer.serialize_str(shown)
}

/// Ends of the last word in the names of variables that have a secret.
const SECRET_NAMES: [&str; 16] = [
    "key",
    "token",
    "secret",
    "pass",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "auth",
    "authorization",
    "cred",
    "credential",
    "credentials",
    "cookie",
    "private",
    "session",
];
/// Parts of the names of variables with a path as value, as `PASSWORD_FILE`.
const PLACES: [&str; 5] = ["file", "dir", "path", "sock", "credentials"];
/// The same of those with a value that is secret even where it is a word.
const PASSWORD_NAMES: [&str; 4] = ["pass", "pwd", "secret", "cred"];
/// Values of variables from this length on may be keys by their form.
const RANDOM: usize = 12;
/// Longest identifier of two words, in bytes.
const PLAIN_MAX: usize = 16;
/// So often letters and digits change places in a key: `prod-cluster-01` and `20251125T120000Z` have fewer.
const TURNS: usize = 4;

/// Returns the secrets in a variable or a header: its value, where its name or its form says so, and of an address the password and the parameters.
///
/// `API_KEY = "opensesame"` is one by its name, of which the last word counts, and `CANARY = "x7-Q2b9-kk31"` by its form: twelve letters and more without dot,
/// comma, colon, `@`, blank or `/`, in which letters and digits take turns four times, or a part of twelve with small and large letters and digits. `AUTH_MODE = "required"`,
/// `SORT_KEY = "created_at"`, `CLUSTER = "prod-cluster-01"`, `ROOT = "/srv/files"` and `OWNER = "ann@example.com"` are none.
pub fn in_variable(name: &str, value: SecretString) -> Vec<SecretString> {
    let name = name.to_ascii_lowercase();
    let words = value.expose_secret();
    if words.contains('/') && PLACES.iter().any(|place| name.contains(place)) {
        return Vec::new();
    }
    if is_secret_name(&name) && (is_password_name(&name) || !is_plain(words)) {
        return vec![value];
    }
    if words.contains("://") {
        return named_in_url(words);
    }
    // Headers of a server behind this one, as some programs take them.
    if let Ok(members) = serde_json::from_str::<BTreeMap<String, String>>(words) {
        let members = members.into_iter();
        return members
            .flat_map(|(name, value)| in_variable(&name, value.into()))
            .collect();
    }
    if looks_random(words) {
        vec![value]
    } else {
        Vec::new()
    }
}

/// Returns true for a name of which the last word names a secret: `X-Api-Key` and `DB_PASSWORD2`, not `X-Auth-Mode` or `X-Author`.
fn is_secret_name(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_ascii_alphabetic());
    let last = words.rfind(|word| !word.is_empty());
    last.is_some_and(|last| SECRET_NAMES.iter().any(|secret| last.ends_with(secret)))
}

fn is_password_name(name: &str) -> bool {
    PASSWORD_NAMES.iter().any(|secret| name.contains(secret))
}

/// Returns true for a value that is an identifier of two short words, as `created_at`.
fn is_plain(value: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|it| it.is_ascii_lowercase());
    let words = value.split_once(['_', '-']);
    value.len() <= PLAIN_MAX && words.is_some_and(|(one, other)| is_word(one) && is_word(other))
}

/// Returns true for a value with a part in which letters and digits are mixed as in no word, date or number.
fn looks_random(value: &str) -> bool {
    if value.len() < RANDOM || value.contains(['.', ',', ':', ';', '@', ' ', '/', '(']) {
        return false;
    }
    let turns = |part: &str| {
        let pairs = part.as_bytes().windows(2);
        pairs
            .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
            .count()
    };
    let parts = || value.split(['-', '_']);
    let has_kinds = |part: &str| {
        let has = |is: fn(&u8) -> bool| part.bytes().any(|byte| is(&byte));
        has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit)
    };
    let all: usize = parts().map(turns).sum();
    all >= TURNS || parts().any(|part| part.len() >= RANDOM && has_kinds(part))
}

pub(super) fn hex(pair: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()
}

/// With `%41` read as `A`; none where nothing is encoded.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let (first, rest) = text.split_once('%')?;
    let mut bytes = first.as_bytes().to_vec();
    for part in rest.split('%') {
        match part
            .as_bytes()
            .split_at_checked(2)
            .and_then(|(pair, after)| Some((hex(pair)?, after)))
        {
            Some((byte, after)) => {
                bytes.push(byte);
                bytes.extend_from_slice(after);
            }
            None => bytes.extend_from_slice(part.as_bytes()),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// With `\u0041` read as `A`, and without the other backslashes.
pub(super) fn unescaped(text: &str) -> String {
    let mut rest = text;
    std::iter::from_fn(|| {
        let (c, length) = plain(rest)?;
        rest = &rest[length..];
        Some(c)
    })
    .collect()
}

/// Returns a line without the secrets, however often they are escaped in it: text that is written as JSON or in quotes, once or
/// several times, has backslashes before some characters and writes others in digits.
pub fn masked(line: &str, secrets: &[SecretString]) -> String {
    let mut masked = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let lengths = secrets
            .iter()
            .filter_map(|secret| beginning(rest, secret.expose_secret()));
        if let Some(length) = lengths.max() {
            // Those that are left before it would escape the mark.
            masked.truncate(masked.trim_end_matches('\\').len());
            masked.push_str(REDACTED);
            rest = &rest[length..];
        } else {
            // Of backslashes in a row each would be read as the first was: looked at one by one, a long row took its length squared.
            let slashes = rest.len() - rest.trim_start_matches('\\').len();
            let (passed, left) = rest.split_at(slashes.max(c.len_utf8()));
            masked.push_str(passed);
            rest = left;
        }
    }
    // Of a secret that looks escaped itself the end may be read otherwise than with what follows it.
    secrets.iter().fold(masked, |masked, secret| {
        masked.replace(secret.expose_secret(), REDACTED)
    })
}

/// Returns the length of the secret at the beginning of a text, in bytes of the text.
fn beginning(text: &str, secret: &str) -> Option<usize> {
    let mut of_text = 0;
    let mut of_secret = 0;
    let mut bytes = 0;
    while let Some((wanted, read)) = plain(&secret[of_secret..]) {
        let (found, length) = plain(&text[of_text..]).filter(|(found, _)| *found == wanted)?;
        (of_text, of_secret, bytes) =
            (of_text + length, of_secret + read, bytes + found.len_utf8());
    }
    (bytes >= MASKED).then_some(of_text)
}

/// Returns the first character of a text that may be escaped, however often: the one that the
/// backslashes before it make, and the bytes that it takes. The same before and after one more
/// escaping; no more is asked of it.
fn plain(text: &str) -> Option<(char, usize)> {
    let behind = text.trim_start_matches('\\');
    let slashes = text.len() - behind.len();
    let c = behind.chars().next()?;
    let (c, length) = match c {
        _ if slashes == 0 => (c, c.len_utf8()),
        'n' => ('\n', 1),
        'r' => ('\r', 1),
        't' => ('\t', 1),
        'b' => ('\u{8}', 1),
        'f' => ('\u{c}', 1),
        '0' => ('\0', 1),
        'u' | 'x' => coded(behind).unwrap_or((c, 1)),
        _ => (c, c.len_utf8()),
    };
    Some((c, slashes + length))
}

/// A character in digits: `x1b`, `u{1b}`, `u001b`, or two of the last kind for one that needs both.
fn coded(text: &str) -> Option<(char, usize)> {
    let digits = |from: usize, to: usize| u32::from_str_radix(text.get(from..to)?, 16).ok();
    if text.starts_with('x') {
        return Some((char::from_u32(digits(1, 3)?)?, 3));
    }
    if text.starts_with("u{") {
        let end = text.find('}').filter(|end| *end <= "u{10ffff".len())?;
        return Some((char::from_u32(digits(2, end)?)?, end + 1));
    }
    let first = digits(1, 5)?;
    if let Some(c) = char::from_u32(first) {
        return Some((c, 5));
    }
    let rest = text[5..].trim_start_matches('\\');
    let second = u32::from_str_radix(rest.strip_prefix('u')?.get(..4)?, 16).ok()?;
    let pair = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
    let c = char::decode_utf16(pair).next()?.ok()?;
    Some((c, text.len() - rest.len() + 5))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a text as formatters and providers write it, without the outer quotes.
    fn written(text: &str, how: u8) -> String {
        match how {
            0 => text.to_owned(),
            1 => json(text),
            2 => text.escape_debug().to_string(),
            3 => text.escape_default().to_string(),
            // As encoders do that keep to ASCII.
            _ => json(text).encode_utf16().fold(String::new(), |all, unit| {
                match u8::try_from(unit) {
                    Ok(byte) if byte.is_ascii() => all + char::from(byte).encode_utf8(&mut [0; 4]),
                    _ => all + &format!("\\u{unit:04x}"),
                }
            }),
        }
    }

    fn json(text: &str) -> String {
        serde_json::to_string(text)
            .unwrap()
            .trim_matches('"')
            .to_owned()
    }

    proptest! {
        /// Secrets in a line are left out, and no other words are, however often and in any way the
        /// line is escaped.
        #[test]
        fn no_escaping_hides_a_secret(secret in "[bfnux01{}\"\\\\é😀\u{7}\n'/]{0,9}[g-m]{4}[bfnux01{}\"\\\\é😀\u{7}\n'/]{0,9}", hows in prop::collection::vec(0u8..5, 0..4)) {
            let line = hows.iter().fold(format!("XYZ {secret} ZYX"), |line, how| written(&line, *how));
            let shown = masked(&line, &[SecretString::from(secret.clone())]);
            let ended = secret.trim_end_matches('\\');
            let core: String = ended.chars().filter(|c| ('g'..='m').contains(c)).collect();
            prop_assert!(!shown.contains(&core), "{secret:?} in {line:?}: {shown:?}");
            prop_assert!(shown.starts_with("XYZ ") && shown.ends_with(" ZYX"), "{line:?}: {shown:?}");
            let hidden = shown["XYZ ".len()..shown.len() - " ZYX".len()].trim_end_matches('\\');
            prop_assert_eq!(hidden, REDACTED, "{:?}", line);
        }
    }

    #[test]
    fn a_long_row_of_backslashes_is_soon_read() {
        let line = "\\".repeat(4 << 20);
        let secrets = [
            SecretString::from("\\\\a\"b\\c".to_owned()),
            SecretString::from("plain".to_owned()),
        ];
        let begin = std::time::Instant::now();
        assert_eq!(masked(&line, &secrets), line);
        assert!(
            begin.elapsed() < std::time::Duration::from_secs(20),
            "it took {:?}",
            begin.elapsed()
        );
    }

    #[test]
    fn what_is_no_secret_stays_as_it_is() {
        let secrets = [
            SecretString::from("a\"b\\c".to_owned()),
            SecretString::from("\\\\\\\\".to_owned()),
        ];
        for line in [
            "plain \\n text",
            "\\u00e9 \\ud83d\\ude00 \\ud83d \\x1 \\u{110000}",
            "ends in \\",
            "a\"b and c",
            "",
        ] {
            assert_eq!(masked(line, &secrets), line);
        }
        assert_eq!(
            masked(r#"{"key":"C:\\a\"b\\c"}"#, &secrets),
            r#"{"key":"C:(redacted)"}"#
        );
    }
}
