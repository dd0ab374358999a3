//! The claims of a token with a valid signature: its holder, the space, the role, and its end.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::options::JwtOptions;
use thinkd_words::id::Space;
use thinkd_words::principal::{Credential, Principal, Role};
use thinkd_words::time::Timestamp;
use thinkd_words::unseen::first_unseen;

/// Most bytes of a user's name.
const USER_MAX: usize = 255;
/// The last second that has a date.
const LAST_SECOND: f64 = 253_402_300_799.0;

/// The claims of a token.
pub type Claims = Map<String, Value>;

/// The reason why a token that the issuer signed lets no client in here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// `exp` is past.
    #[error("the token has expired; get another one")]
    Expired,
    /// `nbf` is to come.
    #[error("the token is not valid yet: its nbf is later than the time of this server")]
    Early,
    /// `iss` is another one.
    #[error("the token is of another issuer than the one of this server (jwt.issuer)")]
    Issuer,
    /// `aud` does not name this server.
    #[error("the token is for another audience than this server (jwt.audience)")]
    Audience,
    /// A claim is not there, or is not of the kind it should be.
    #[error("the token has no claim {0:?}, or it is not what belongs there")]
    Claim(String),
    /// The space is no name.
    #[error("the claim {0:?} of the token names no space: a name is [a-z0-9_-]{{1,32}}")]
    Space(String),
    /// The role is none.
    #[error(
        "the claim {0:?} of the token names no role; there are viewer, member, operator and admin"
    )]
    Role(String),
}

impl Unfit {
    /// The word for it in metrics.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Early => "not_yet",
            Self::Issuer => "issuer",
            Self::Audience => "audience",
            Self::Claim(_) => "claim",
            Self::Space(_) => "space",
            Self::Role(_) => "role",
        }
    }

    /// The same as the reason of a close frame, which has no room for names.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Expired => "unauthenticated: the token has expired",
            Self::Early => "unauthenticated: the token is not valid yet",
            Self::Issuer => "unauthenticated: the token is of another issuer",
            Self::Audience => "unauthenticated: the token is for another audience",
            Self::Claim(_) => "unauthenticated: the token lacks a claim",
            Self::Space(_) => "unauthenticated: the token names no space",
            Self::Role(_) => "unauthenticated: the token names no role",
        }
    }
}

/// Returns the principal of these claims, signed by the key of this number.
pub fn principal(
    options: &JwtOptions,
    claims: &Claims,
    key: u32,
    now: Timestamp,
) -> Result<Principal, Unfit> {
    let lacks = |name: &str| Unfit::Claim(name.to_owned());
    let user = claim(claims, &options.user_claim)
        .and_then(Value::as_str)
        .filter(|user| is_user(user));
    let user = user.ok_or_else(|| lacks(&options.user_claim))?;
    let space_claim = &options.space_claim;
    let role_claim = &options.role_claim;
    let space = match claim(claims, space_claim) {
        Some(value) => space(value).ok_or_else(|| Unfit::Space(space_claim.clone())),
        None => (options.default_space.clone()).ok_or_else(|| lacks(space_claim)),
    }?;
    let role = match claim(claims, role_claim) {
        Some(value) => role(value).ok_or_else(|| Unfit::Role(role_claim.clone())),
        None => options.default_role.ok_or_else(|| lacks(role_claim)),
    }?;
    let ends = ends(claims, options.leeway_s, now).ok_or_else(|| lacks("exp"))?;
    let credential = Credential::Token {
        holder: holder(&space, user),
        key,
        ends,
    };
    Ok(Principal {
        user: Some(user.to_owned()),
        space,
        credential,
        role,
    })
}

/// A claim by its name, or by its JSON pointer.
fn claim<'a>(claims: &'a Claims, name: &str) -> Option<&'a Value> {
    let found = match name.strip_prefix('/') {
        None => claims.get(name),
        Some(path) => {
            let (first, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
            let first = first.replace("~1", "/").replace("~0", "~");
            claims.get(&first).and_then(|value| value.pointer(rest))
        }
    };
    found.filter(|value| !value.is_null())
}

/// Returns true if a user can be called so. Nothing is mended: to the issuer, ` ada` is not `ada`.
fn is_user(name: &str) -> bool {
    let fits = (1..=USER_MAX).contains(&name.len()) && name.trim() == name;
    fits && !name.contains(['\n', '\r', '\t']) && first_unseen(name).is_none()
}

fn space(value: &Value) -> Option<Space> {
    Space::parse(value.as_str()?).ok()
}

/// Returns a role, or the highest one in a list, which may also name roles that mean nothing here.
fn role(value: &Value) -> Option<Role> {
    let named = |value: &Value| Role::parse(value.as_str()?);
    match value {
        Value::Array(all) => all.iter().filter_map(named).max(),
        one => named(one),
    }
}

/// Returns the end of a token. A holder that shows it within the leeway behind its end, by a clock
/// that is slow, has it until the leeway is over.
fn ends(claims: &Claims, leeway_s: u64, now: Timestamp) -> Option<Timestamp> {
    let at = |seconds: f64| Timestamp::from_micros((seconds.clamp(0.0, LAST_SECOND) * 1e6) as i64);
    let exp = claims.get("exp")?.as_f64()?;
    let own = Some(at(exp)).filter(|end| *end > now);
    own.or_else(|| Some(at(exp + leeway_s as f64)))
}

/// A number for a user of a space.
fn holder(space: &Space, user: &str) -> u64 {
    let digest = Sha256::new()
        .chain_update(space.as_str())
        .chain_update([0])
        .chain_update(user)
        .finalize();
    let first = digest.iter().take(8);
    first.fold(0, |number, byte| number << 8 | u64::from(*byte))
}
