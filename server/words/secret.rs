//! Secrets: URLs are shown without credentials, and texts of others are masked, also where a secret stands shortened or
//! encoded. Pure.

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serializer;

/// What stands in the place of a secret that somebody repeated.
const MARK: &str = "[api_key]";
/// What stands in the place of one that is configured.
const REDACTED: &str = "(redacted)";

/// Secrets from this length on are recognised by their pieces.
const LONG: usize = 8;
/// A word that is so much of a secret's beginning or end is a shortened secret.
const END: usize = 4;
/// So much of a secret anywhere in a word, too.
const PIECE: usize = 6;

/// Parameters of databases and providers whose values hide nothing.
const HARMLESS: [&str; 10] = [
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
    /// What stands before the last `@`: a password may have any character when nobody encoded it.
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
        if credentials.is_some_and(|credentials| credentials.contains(['?', '#'])) {
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

    /// The user of a database, who is nobody's secret; of other addresses it may be a key.
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

fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name)
}

/// Serializes a URL without its secrets, for printing a configuration.
pub fn redacted_url<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown_url(url))
}

/// A veil removes known secrets from texts that somebody else wrote.
pub struct Veil(Vec<SecretString>);

impl Veil {
    /// A veil over these secrets.
    pub fn new(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        Self(
            secrets
                .into_iter()
                .filter(|secret| !secret.expose_secret().is_empty())
                .collect(),
        )
    }

    /// Returns the words without the secrets, and without what betrays a part of one.
    pub fn over(&self, words: &str) -> String {
        let mut words = words.to_owned();
        for secret in &self.0 {
            words = words.replace(secret.expose_secret(), MARK);
        }
        let mut veiled = String::with_capacity(words.len());
        let mut rest = words.as_str();
        while let Some(begin) = rest.find(is_of_a_word) {
            let (between, from) = rest.split_at(begin);
            let (word, after) =
                from.split_at(from.find(|c| !is_of_a_word(c)).unwrap_or(from.len()));
            veiled.push_str(between);
            veiled.push_str(if self.is_betrayed_by(word) {
                MARK
            } else {
                word
            });
            rest = after;
        }
        veiled + rest
    }

    fn is_betrayed_by(&self, word: &str) -> bool {
        if word.len() < END || self.0.is_empty() {
            return false;
        }
        let forms = forms(word);
        self.0.iter().any(|secret| {
            forms
                .iter()
                .any(|form| betrays(form, secret.expose_secret().as_bytes()))
        })
    }
}

/// What keys are made of, and what encodes them.
fn is_of_a_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/' | '%' | '\\')
}

/// A word as it stands, and decoded in every way that it can be.
fn forms(word: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![word.to_ascii_lowercase().into_bytes()];
    let mut add = |form: Vec<u8>| forms.push(form.to_ascii_lowercase());
    if let Some(decoded) = percent_decoded(word) {
        add(decoded.into_bytes());
    }
    if word.contains('\\') {
        add(unescaped(word).into_bytes());
    }
    if word.len() >= 2 * END && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        add(word.as_bytes().chunks_exact(2).filter_map(hex).collect());
    }
    // Wherever in the word it begins.
    let plain = word.replace('-', "+").replace('_', "/");
    for begin in 0..4.min(plain.len()) {
        let whole = (plain.len() - begin) / 4 * 4;
        let decode = |length: usize| BASE64.decode(plain.get(begin..begin + length)?).ok();
        if let Some(decoded) = decode(plain.len() - begin).or_else(|| decode(whole)) {
            add(decoded);
        }
    }
    forms
}

/// With or without padding, and cut off anywhere.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Whether a word says enough of a secret to be kept back. The word is in lower case.
fn betrays(word: &[u8], secret: &[u8]) -> bool {
    let secret = secret.to_ascii_lowercase();
    if word == secret {
        return true;
    }
    if secret.len() < LONG || word.len() < END {
        return false;
    }
    let is_end = secret.starts_with(word) || secret.ends_with(word);
    is_end
        || word
            .windows(PIECE)
            .any(|piece| secret.windows(PIECE).any(|of| of == piece))
}

fn hex(pair: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()
}

/// With `%41` read as `A`; none where nothing is encoded.
fn percent_decoded(text: &str) -> Option<String> {
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
fn unescaped(text: &str) -> String {
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

/// How much of a text is this secret, which it begins with.
fn beginning(text: &str, secret: &str) -> Option<usize> {
    let (mut of_text, mut of_secret, mut bytes) = (0, 0, 0);
    while let Some((wanted, read)) = plain(&secret[of_secret..]) {
        let (found, length) = plain(&text[of_text..]).filter(|(found, _)| *found == wanted)?;
        (of_text, of_secret, bytes) =
            (of_text + length, of_secret + read, bytes + found.len_utf8());
    }
    (bytes >= END).then_some(of_text)
}

/// The first character of a text that may be escaped, however often: what the backslashes before it make of it, and how many bytes
/// that takes. The same before and after one more escaping, which is all that is asked of it.
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

    /// What formatters and providers make of a text, the outside of the quotes left out.
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
        /// However often and in whatever way a line is escaped, what it says of a secret is left out, and of the rest nothing.
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
