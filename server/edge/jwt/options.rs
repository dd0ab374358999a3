//! The configuration of tokens, with its defaults, and the values that are refused.

use std::net::IpAddr;

use axum::http::Uri;
use serde::{Deserialize, Serialize};

use thinkd_words::defaults::with_defaults;
use thinkd_words::id::Space;
use thinkd_words::principal::Role;
use thinkd_words::secret::optional_url;

with_defaults! {
    /// The issuer of the bearer tokens (JWT) that are taken beside keys, and their claims. Off
    /// until `issuer`, `audience` and `jwks_url` are set.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct JwtOptions {
        /// The issuer: the `iss` of its tokens is exactly this.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub issuer: Option<String> = None,
        /// The audience of the tokens: their `aud` is this, or names it among others.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub audience: Option<String> = None,
        /// The address where the issuer publishes its keys (a JWKS document): `https://…`, or
        /// `http://…` on this machine.
        #[serde(
            serialize_with = "optional_url",
            skip_serializing_if = "Option::is_none"
        )]
        pub jwks_url: Option<String> = None,
        /// The claim that names the space: a claim's name, or its JSON pointer (`/app/space`).
        pub space_claim: String = "space".into(),
        /// The claim that names the role, likewise: `viewer`, `member`, `operator` or `admin`, or a list, of which the highest role counts.
        pub role_claim: String = "role".into(),
        /// The space of a token without that claim; absent: such a token is refused.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub default_space: Option<Space> = None,
        /// The role of a token without that claim; absent: such a token is refused. A claim that names no role is always refused.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub default_role: Option<Role> = None,
    }
    fixed {
        /// The claim that names the user, likewise.
        pub user_claim: String = "sub".into(),
        /// The largest difference allowed between the issuer's clock and the server's, in seconds.
        pub leeway_s: u64 = 60,
        /// The time before the end of a token at which its socket or stream is told.
        pub expiring_ms: u64 = 60_000,
        /// The time between two fetches of the issuer's keys.
        pub refresh_ms: u64 = 600_000,
        /// The shortest time between two fetches, no matter which client shows tokens of unknown
        /// keys, and whether or not the issuer answers.
        pub refetch_ms: u64 = 10_000,
        /// The time for which keys count after they were fetched, while the issuer does not answer;
        /// then no token is taken.
        pub stale_ms: u64 = 3_600_000,
        /// The longest time that a fetch may take.
        pub fetch_ms: u64 = 5_000,
    }
}

impl JwtOptions {
    /// Returns true if tokens are taken at all.
    pub fn is_on(&self) -> bool {
        self.issuer.is_some() || self.audience.is_some() || self.jwks_url.is_some()
    }

    /// Checks the options; an error is a sentence for the operator.
    pub fn check(&self) -> Result<(), String> {
        if !self.is_on() {
            return Ok(());
        }
        for (key, value) in [
            ("issuer", &self.issuer),
            ("audience", &self.audience),
            ("jwks_url", &self.jwks_url),
        ] {
            if value.as_deref().is_none_or(|value| value.trim().is_empty()) {
                return Err(format!(
                    "jwt.{key} is missing: tokens are taken with issuer, audience and jwks_url, or not at all"
                ));
            }
        }
        check_url(self.jwks_url.as_deref().unwrap_or_default())?;
        let claims = [
            ("space_claim", &self.space_claim),
            ("role_claim", &self.role_claim),
            ("user_claim", &self.user_claim),
        ];
        if let Some((key, _)) = claims.iter().find(|(_, name)| name.is_empty()) {
            return Err(format!("jwt.{key} is empty: name a claim"));
        }
        Ok(())
    }
}

/// Keys come over TLS, or from this machine.
fn check_url(url: &str) -> Result<(), String> {
    let uri = url.parse::<Uri>().unwrap_or_default();
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    if authority.contains('@') {
        let why = "jwt.jwks_url must not hold credentials: the keys of an issuer are public";
        return Err(why.into());
    }
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address = address.parse::<IpAddr>();
    let is_here = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") if !host.is_empty() => Ok(()),
        Some("http") if is_here => Ok(()),
        _ => Err("jwt.jwks_url has to be an https:// address, or an http:// address of this machine: who can change the keys on \
                  their way can make tokens"
            .into()),
    }
}
