//! The keys of a server: each secret opens one space, in one role. They are kept as hashes and can
//! be replaced while the server runs; clients that came in by a removed key learn of it. `auth.rs`
//! reads the credentials that a client shows, and words the refusal of wrong ones.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::RwLock;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};
use tokio_util::sync::CancellationToken;

use thinkd_words::id::Space;
use thinkd_words::principal::Role;
use thinkd_words::secret::redacted;

/// The token as an operator finds it.
const TOKEN: &str = "token (THINKD_TOKEN)";
/// Characters of a secret, at least, where others than this machine can try some.
const LENGTH_MIN: usize = 16;
/// Hex digits of a hash that are shown: enough to tell keys apart.
const SHOWN: usize = 12;

/// A configured key (`[[keys]]`): `key` or `sha256`, and the space and role that it opens.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The secret itself. A key has this or `sha256`.
    #[serde(
        default,
        serialize_with = "redacted",
        skip_serializing_if = "Option::is_none"
    )]
    pub key: Option<SecretString>,
    /// The SHA-256 of the secret, as 64 hex digits: a reader of the configuration cannot use it.
    /// `thinkd key new` makes both.
    #[serde(
        default,
        serialize_with = "shortened",
        skip_serializing_if = "Option::is_none"
    )]
    pub sha256: Option<String>,
    /// The space that it opens.
    #[serde(default)]
    pub space: Space,
    /// The rights of its holder there. `viewer`: read everything, `debug` and prompt views too.
    /// `member`: also talk; create, end and cancel threads and runs. `operator`: also change
    /// submodules. `admin`: also see all that concerns all spaces: `/metrics`, all of `/metadata`.
    #[serde(default)]
    pub role: Role,
    /// The file of keys that it stands in; none: the configuration.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// The beginning of a hash: that of a weak secret could be found out.
fn shortened<S: Serializer>(sha256: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    let shown: String = sha256
        .iter()
        .flat_map(|it| it.chars().take(SHOWN))
        .collect();
    serializer.collect_str(&format_args!("{shown}…"))
}

/// The SHA-256 of a secret.
fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.trim().as_bytes();
    let (pairs, rest) = digits.as_chunks::<2>();
    let mut bytes = [0; 32];
    if pairs.len() != bytes.len() || !rest.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// The space and the role that a key opens.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    hash: [u8; 32],
    space: Space,
    role: Role,
}

/// A grant that is in force.
#[derive(Clone)]
struct Entry {
    grant: Grant,
    /// Its number, which no other key of this process ever has.
    number: u32,
    /// Cancelled when it is gone.
    removed: CancellationToken,
}

/// The keys in force at one time.
#[derive(Clone, Default)]
struct Table {
    entries: Vec<Entry>,
    /// The number of the next new key.
    next: u32,
    /// Cancelled when keys come where none were needed.
    open: CancellationToken,
}

/// The keys in force, the token among them.
pub struct Keys {
    token: Option<SecretString>,
    /// Tokens let people in, too: without any key the server is not open.
    beside_tokens: bool,
    /// Others than this machine can reach the server: no secret may be short.
    reachable: bool,
    // A plain lock: held to copy or replace the handle, never across an await.
    table: RwLock<Arc<Table>>,
}

/// The identity that a secret gives its holder.
pub struct Found {
    /// The key's number.
    pub number: u32,
    /// The space it opens.
    pub space: Space,
    /// Its holder's role there.
    pub role: Role,
}

impl Keys {
    /// Returns the keys of a configuration. Refuses a configuration that could not be kept as
    /// promised, in a sentence for the operator.
    pub fn new(token: Option<SecretString>, keys: &[Key]) -> Result<Self, String> {
        let grants = grants(token.as_ref(), keys)?;
        let table = RwLock::new(Arc::new(Table::default().with(grants)));
        Ok(Self {
            token,
            beside_tokens: false,
            reachable: false,
            table,
        })
    }

    /// The same keys of a server that also takes tokens: then it may be left without any.
    #[must_use]
    pub fn beside_tokens(self, tokens: bool) -> Self {
        Self {
            beside_tokens: tokens,
            ..self
        }
    }

    /// The same keys of a server that others than this machine can reach: no key that comes may be short.
    #[must_use]
    pub fn reachable(self, reachable: bool) -> Self {
        Self { reachable, ..self }
    }

    /// Puts these keys in the place of those there are; the token stays. Clients that came in by a
    /// key that is gone, or opens something else now, are told so. Returns true if anything
    /// differs. Refuses all that `new` refuses, keys that are too short for a reachable server, and
    /// to leave a server open that was not: then nothing changes.
    pub fn replace(&self, keys: &[Key]) -> Result<bool, String> {
        let grants = grants(self.token.as_ref(), keys)?;
        if self.reachable {
            check_lengths(self.token.as_ref(), keys)?;
        }
        let mut table = self.table.write();
        if grants.is_empty() && !table.entries.is_empty() && !self.beside_tokens {
            return Err("no key would be left, and nobody would need one: the keys that were there stay in force; stop the server to \
                        open it to everybody on this machine"
                .into());
        }
        let after = Arc::new(table.with(grants));
        let before = std::mem::replace(&mut *table, after.clone());
        drop(table);
        let is_gone = |entry: &&Entry| after.entry(entry.number).is_none();
        let gone = before.entries.iter().filter(is_gone);
        gone.for_each(|gone| gone.removed.cancel());
        if !after.entries.is_empty() {
            before.open.cancel();
        }
        let numbers = |table: &Table| BTreeSet::from_iter(table.entries.iter().map(|it| it.number));
        Ok(numbers(&before) != numbers(&after))
    }

    /// Returns true if there is no key.
    pub fn is_open(&self) -> bool {
        self.table().entries.is_empty()
    }

    /// Returns the key of a secret. Looks at all of them, however early one fits: time says
    /// nothing.
    pub fn find(&self, secret: &str) -> Option<Found> {
        let table = self.table();
        let given = hash(secret);
        let mut found = u32::MAX;
        for (index, entry) in (0u32..).zip(&table.entries) {
            found.conditional_assign(&index, entry.grant.hash.ct_eq(&given));
        }
        let Entry { grant, number, .. } = table.entries.get(found as usize)?;
        Some(Found {
            number: *number,
            space: grant.space.clone(),
            role: grant.role,
        })
    }

    /// Returns a `CancellationToken` that is cancelled as soon as clients that came in by this key
    /// (none: where none was needed) have to go.
    pub fn removed(&self, key: Option<u32>) -> CancellationToken {
        let table = self.table();
        match key {
            Some(number) => table
                .entry(number)
                .map_or_else(cancelled, |entry| entry.removed.clone()),
            None if table.entries.is_empty() => table.open.clone(),
            None => cancelled(),
        }
    }

    fn table(&self) -> Arc<Table> {
        self.table.read().clone()
    }
}

/// Of a key that went between its use and this question.
pub fn cancelled() -> CancellationToken {
    let token = CancellationToken::new();
    token.cancel();
    token
}

impl Table {
    /// Returns the table with these grants: one that was there keeps its number, and its clients
    /// stay.
    fn with(&self, grants: Vec<Grant>) -> Self {
        let mut next = self.next;
        let entry = |grant: Grant| {
            let kept = self.entries.iter().find(|entry| entry.grant == grant);
            kept.cloned().unwrap_or_else(|| {
                next += 1;
                Entry {
                    grant,
                    number: next - 1,
                    removed: CancellationToken::new(),
                }
            })
        };
        let entries: Vec<Entry> = grants.into_iter().map(entry).collect();
        // Who came in while no key was needed stays until one is.
        let open = match entries.is_empty() {
            true => self.open.clone(),
            false => CancellationToken::new(),
        };
        Self {
            entries,
            next,
            open,
        }
    }

    fn entry(&self, number: u32) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.number == number)
    }
}

/// Returns the grants of a configuration, or its error, in a sentence for the operator. A secret
/// itself is never said.
fn grants(token: Option<&SecretString>, keys: &[Key]) -> Result<Vec<Grant>, String> {
    // Where nobody else can be the admin, the token is.
    let role = match keys.is_empty() {
        true => Role::Admin,
        false => Role::Operator,
    };
    let token = token.map(|token| Key {
        key: Some(token.clone()),
        sha256: None,
        space: Space::default(),
        role,
        file: None,
    });
    let named = (0..).zip(keys).map(|(at, key)| (name(keys, at), key));
    let all = token.iter().map(|token| (TOKEN.to_owned(), token));
    let mut grants: Vec<(String, Grant)> = Vec::new();
    for (which, key) in all.chain(named) {
        let hash = key.hash().map_err(|wrong| format!("{which} {wrong}"))?;
        if let Some((first, _)) = grants.iter().find(|(_, other)| other.hash == hash) {
            return Err(format!(
                "{first} and {which} hold the same secret: nobody could say who shows it; give one of them another"
            ));
        }
        let space = key.space.clone();
        let role = key.role;
        grants.push((which, Grant { hash, space, role }));
    }
    Ok(grants.into_iter().map(|(_, grant)| grant).collect())
}

/// A key as an operator finds it.
fn name(keys: &[Key], at: usize) -> String {
    let Key { file, space, .. } = &keys[at];
    let number = keys[..=at].iter().filter(|key| key.file == *file).count();
    let file = file.as_ref().map(|file| format!(" in {}", file.display()));
    let file = file.unwrap_or_default();
    format!("entry {number} of [[keys]]{file} (space {space})")
}

impl Key {
    /// Returns the hash of its secret, or the reason why there is none.
    fn hash(&self) -> Result<[u8; 32], &'static str> {
        let secret = match (&self.key, &self.sha256) {
            (Some(secret), None) => secret.expose_secret(),
            (None, Some(hex)) => {
                return from_hex(hex).ok_or("has a sha256 that is not 64 hexadecimal digits");
            }
            (Some(_), Some(_)) => return Err("has both key and sha256: leave one of them"),
            (None, None) => return Err("has neither key nor sha256; thinkd key new prints both"),
        };
        if secret.trim().is_empty() {
            return Err("is empty: give it a value or leave it out");
        }
        if secret.trim() != secret {
            return Err(
                "begins or ends with a blank, which a header does not keep: remove the blank",
            );
        }
        Ok(hash(secret))
    }
}

/// Refuses secrets that can be guessed, where others than this machine can reach the server. A key of which only the hash is known may be one.
pub fn check_lengths(token: Option<&SecretString>, keys: &[Key]) -> Result<(), String> {
    let token = token.map(|token| (TOKEN.to_owned(), token));
    let named = (0..keys.len()).filter_map(|at| Some((name(keys, at), keys[at].key.as_ref()?)));
    for (which, secret) in token.into_iter().chain(named) {
        let length = secret.expose_secret().chars().count();
        if length < LENGTH_MIN {
            return Err(format!(
                "{which} has {length} characters: beyond loopback a secret has {LENGTH_MIN} at least, because others can guess; thinkd key new \
                 prints one"
            ));
        }
    }
    Ok(())
}

/// Checks that a configuration of keys can be served: see `Keys::new`.
pub fn check(token: Option<&SecretString>, keys: &[Key]) -> Result<(), String> {
    grants(token, keys).map(|_| ())
}
