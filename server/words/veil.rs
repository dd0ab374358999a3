//! A veil takes known secrets out of texts that others wrote, also where a secret stands shortened or encoded. Pure.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::secret::{hex, percent_decoded, unescaped};

/// The mark in the place of a secret that others repeat.
const MARK: &str = "[api_key]";
/// Shorter secrets are ordinary words, as the language of an address, and have no pieces.
const LONG: usize = 8;
/// So much of a secret's beginning or end is a shortened secret, beside a mark of shortening.
const END: usize = 4;
/// So much of a secret anywhere in a word is a piece of it, unless it may be a plain word.
const PIECE: usize = 6;
/// So much of a secret is a piece of it, in any form.
const RUN: usize = 12;
/// The same of a secret of hex digits, of which six stand in another one by chance.
const HEX_PIECE: usize = 8;
/// In longer words shorter pieces are found by chance.
const WORD_MAX: usize = 256;
/// Encodings of one another that are read.
const ENCODINGS: usize = 3;

/// Returns true if a secret is long enough to be recognised in the middle of other words.
pub fn is_long(secret: &SecretString) -> bool {
    secret.expose_secret().len() >= LONG
}

/// A veil removes known secrets from texts of others; printed, it says nothing of them.
#[derive(Default)]
pub struct Veil {
    secrets: Vec<SecretString>,
    pieces: Pieces,
}

impl Veil {
    /// A veil over these secrets.
    pub fn new(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        let mut veil = Self::default();
        for secret in secrets {
            let words = secret.expose_secret();
            if words.is_empty() {
                continue;
            }
            veil.pieces.add(words);
            // `Bearer KEY`: the key alone is secret, too, and so is the password of `Basic`.
            let key = words.rsplit(' ').next().unwrap_or_default();
            let decoded = words
                .strip_prefix("Basic ")
                .and_then(|code| BASE64.decode(code).ok());
            let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
            let password = decoded
                .as_deref()
                .and_then(|text| Some(text.split_once(':')?.1));
            for part in [Some(key).filter(|key| key.len() < words.len()), password]
                .into_iter()
                .flatten()
            {
                if part.len() >= LONG {
                    veil.pieces.add(part);
                    veil.secrets.push(part.into());
                }
            }
            veil.secrets.push(secret);
        }
        // Of two of which one holds the other, the longer is replaced first.
        veil.secrets
            .sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
        veil
    }

    /// Returns the words without the secrets, and without words that betray a part of one.
    pub fn over(&self, words: &str) -> String {
        let mut words = words.to_owned();
        for secret in &self.secrets {
            if words.contains(secret.expose_secret()) {
                words = words.replace(secret.expose_secret(), MARK);
            }
        }
        let mut veiled = String::with_capacity(words.len());
        let mut rest = words.as_str();
        while let Some(begin) = rest.find(is_of_a_word) {
            let (between, from) = rest.split_at(begin);
            let (word, after) =
                from.split_at(from.find(|c| !is_of_a_word(c)).unwrap_or(from.len()));
            let is_cut = is_cut_after(between) || is_cut_before(after);
            veiled.push_str(between);
            veiled.push_str(if self.is_betrayed_by(word, is_cut) {
                MARK
            } else {
                word
            });
            rest = after;
        }
        veiled + rest
    }

    /// Returns true if there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Puts the veil over the texts of a value, the names of members among them. Returns whether that changed it.
    pub fn over_value(&self, value: &mut Value) -> bool {
        let over = |text: &mut String| {
            let veiled = self.over(text);
            let is_changed = veiled != *text;
            *text = veiled;
            is_changed
        };
        match value {
            Value::String(text) => over(text),
            Value::Array(items) => items
                .iter_mut()
                .fold(false, |changed, item| self.over_value(item) | changed),
            Value::Object(members) => {
                let mut is_changed = false;
                for (mut name, mut member) in std::mem::take(members) {
                    is_changed |= over(&mut name) | self.over_value(&mut member);
                    members.insert(name, member);
                }
                is_changed
            }
            Value::Number(number) if self.is_betrayed_by(&number.to_string(), false) => {
                *value = MARK.into();
                true
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn is_betrayed_by(&self, word: &str, is_cut: bool) -> bool {
        let is_short = word.len() < END || self.secrets.is_empty();
        !is_short && self.is_in(word.as_bytes(), is_cut, ENCODINGS)
    }

    /// Returns true if a secret is in a text, or in a text that it encodes, up to so many encodings
    /// deep.
    fn is_in(&self, text: &[u8], is_cut: bool, encodings: usize) -> bool {
        if self.pieces.are_in(&text.to_ascii_lowercase(), is_cut) {
            return true;
        }
        let coded = std::str::from_utf8(text).ok().filter(|_| encodings > 0);
        coded.is_some_and(|text| decoded(text).any(|form| self.is_in(&form, is_cut, encodings - 1)))
    }
}

impl fmt::Debug for Veil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Veil")
    }
}

/// The pieces by which secrets are recognised, in lower case.
#[derive(Default)]
struct Pieces {
    whole: HashSet<Vec<u8>>,
    /// Beginnings and ends; those that may be plain words count beside a mark of shortening alone.
    ends: HashSet<Vec<u8>>,
    plain_ends: HashSet<Vec<u8>>,
    /// Pieces of these lengths, and those that tell in words of any length: `RUN` bytes, or a shorter
    /// secret.
    inner: HashSet<Vec<u8>>,
    lengths: BTreeSet<usize>,
    runs: BTreeSet<usize>,
    /// By the first two bytes of a piece, whether there is one: looked at before anything is hashed.
    begun: Vec<bool>,
}

impl Pieces {
    fn add(&mut self, secret: &str) {
        let bytes = secret.as_bytes();
        let lower = |bytes: &[u8]| bytes.to_ascii_lowercase();
        self.whole.insert(lower(bytes));
        if bytes.len() < LONG {
            return;
        }
        // Longer ones are found by the pieces in them.
        for length in END..=RUN.min(bytes.len() - 1) {
            for end in [&bytes[..length], &bytes[bytes.len() - length..]] {
                if is_plain(end) || length < PIECE {
                    self.plain_ends.insert(lower(end));
                } else {
                    self.ends.insert(lower(end));
                }
            }
        }
        let is_hex = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'-';
        let piece = if bytes.iter().all(is_hex) {
            HEX_PIECE
        } else {
            PIECE
        };
        let run = RUN.min(bytes.len());
        self.lengths.extend([piece, run]);
        self.runs.insert(run);
        let telling = bytes.windows(piece).filter(|piece| !is_plain(piece));
        for piece in telling.chain(bytes.windows(run)) {
            let piece = lower(piece);
            self.begun.resize(1 << 16, false);
            self.begun[usize::from(u16::from_be_bytes([piece[0], piece[1]]))] = true;
            self.inner.insert(piece);
        }
    }

    /// Returns true if a word in lower case says enough of a secret to be kept back.
    fn are_in(&self, word: &[u8], is_cut: bool) -> bool {
        // A picture has any six bytes somewhere.
        let lengths = match word.len() > WORD_MAX {
            true => &self.runs,
            false => &self.lengths,
        };
        self.whole.contains(word)
            || self.ends.contains(word)
            || (is_cut && self.plain_ends.contains(word))
            || (0..word.len().saturating_sub(PIECE - 1)).any(|at| {
                let first = usize::from(u16::from_be_bytes([word[at], word[at + 1]]));
                self.begun.get(first) == Some(&true)
                    && lengths.iter().any(|length| {
                        word.get(at..at + length)
                            .is_some_and(|piece| self.inner.contains(piece))
                    })
            })
    }
}

/// Returns true if a piece of a secret may be a word, a number or a date that has nothing to do with it: it has not both letters and digits, and no capital
/// behind a small letter.
fn is_plain(piece: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| piece.iter().any(is);
    let is_mixed = has(u8::is_ascii_alphabetic) && has(u8::is_ascii_digit);
    !is_mixed
        && !piece
            .windows(2)
            .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

/// Returns true if a text ends with a mark of shortening.
fn is_cut_after(text: &str) -> bool {
    text.ends_with(['*', '…', '•']) || text.ends_with("..")
}

/// Returns true if a text begins with a mark of shortening.
fn is_cut_before(text: &str) -> bool {
    text.starts_with(['*', '…', '•']) || text.starts_with("..")
}

/// Returns true for characters of keys and of their encodings.
fn is_of_a_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/' | '%' | '\\')
}

/// Returns a text decoded once, in each way that it can be.
fn decoded(text: &str) -> impl Iterator<Item = Vec<u8>> + '_ {
    let escaped = || text.contains('\\').then(|| unescaped(text));
    let texts = percent_decoded(text)
        .into_iter()
        .chain(std::iter::once_with(escaped).flatten());
    let is_of_base64 = |c: char| c.is_ascii_alphanumeric() || "-_+/".contains(c);
    let runs = text.split(move |c| !is_of_base64(c));
    let texts = texts.map(String::into_bytes);
    texts.chain(hex_runs(text)).chain(runs.flat_map(in_base64))
}

/// Returns the bytes that runs of hex digits in a word stand for, as in `0x6b6579`.
fn hex_runs(word: &str) -> impl Iterator<Item = Vec<u8>> + '_ {
    let runs = word.split(|c: char| !c.is_ascii_hexdigit());
    let long = runs.filter(|run| run.len() >= 2 * END);
    let read = |run: &str| {
        run.as_bytes()
            .chunks_exact(2)
            .filter_map(hex)
            .collect::<Vec<u8>>()
    };
    // `0x`: the digit before the sign belongs to no byte.
    long.flat_map(move |run| [read(run), read(&run[1..])])
}

/// Returns the bytes that a word in base64 stands for, wherever in it that begins.
fn in_base64(word: &str) -> impl Iterator<Item = Vec<u8>> {
    let begins = if word.len() < 3 * END / 2 { 0 } else { 4 };
    let plain = word.replace('-', "+").replace('_', "/");
    (0..begins).filter_map(move |begin| {
        let rest = &plain[begin..];
        let whole = &rest[..rest.len() / 4 * 4];
        BASE64.decode(rest).or_else(|_| BASE64.decode(whole)).ok()
    })
}

/// With or without padding, and cut off anywhere.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);
