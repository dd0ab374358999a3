//! The names that this server answers to, and the web pages that may speak to it.
//! A page of another site can make a browser call a server on this machine; `Host` and `Origin`
//! tell, and are checked first.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};

use super::problem::{Problem, Slug};

/// The address a connection came in on; every request carries it.
#[derive(Debug, Clone, Copy)]
pub struct Local(pub IpAddr);

/// The names this server answers to and the origins of pages that may speak to it, besides loopback
/// and the address a connection came in on.
#[derive(Debug, Clone, Default)]
pub struct AllowedHosts {
    names: Vec<String>,
    origins: Vec<Origin>,
}

impl AllowedHosts {
    /// Returns the hosts of a configuration: host names (a port is not part of a name) and whole
    /// origins, of any scheme.
    pub fn new(entries: &[String]) -> Result<Self, String> {
        let mut hosts = Self::default();
        entries.iter().try_for_each(|entry| hosts.add(entry))?;
        Ok(hosts)
    }

    fn add(&mut self, entry: &str) -> Result<(), String> {
        if entry.contains('*') {
            return Err(format!(
                "hosts: {entry:?} would let any page that somebody opens speak with this server in their name; name each host or origin"
            ));
        }
        if entry.eq_ignore_ascii_case("null") {
            return Err("hosts: null is what every sandboxed frame and local file calls itself, so it would let any of them in; \
                        serve the page from a name and put that here"
                .to_owned());
        }
        if !entry.contains("://") {
            let name = host_of(entry).ok_or_else(|| {
                format!("hosts: {entry:?} is neither a host name, such as mind.example, nor an origin, such as https://mind.example")
            })?;
            self.names.push(name);
            return Ok(());
        }
        let origin = Origin::parse(entry).ok_or_else(|| {
            format!("hosts: {entry:?} is no origin; one is scheme://host or scheme://host:port, without a path")
        })?;
        self.origins.push(origin);
        Ok(())
    }

    fn knows(&self, host: &str, Local(local): Local) -> bool {
        let address = host.trim_start_matches('[').trim_end_matches(']');
        match address
            .parse()
            .map(|address: IpAddr| address.to_canonical())
        {
            Ok(address) => {
                address.is_loopback() || address == local.to_canonical() || self.has(host)
            }
            // Names below localhost are this machine, whatever a DNS says (RFC 6761).
            Err(_) => host == "localhost" || host.ends_with(".localhost") || self.has(host),
        }
    }

    fn has(&self, host: &str) -> bool {
        self.names.iter().any(|known| known == host)
    }

    /// Returns true if a page of this origin may speak to this server.
    pub fn knows_origin(&self, origin: &[u8], local: Local) -> bool {
        let Some(origin) = std::str::from_utf8(origin).ok().and_then(Origin::parse) else {
            return false;
        };
        // One that is configured whole stands for itself, a name for all ports of its host.
        self.origins.iter().any(|known| known.text == origin.text)
            || (origin.web && self.knows(&origin.host, local))
    }

    /// Returns true if this is a name of this server. The host of a configured web origin is one,
    /// too.
    fn answers_to(&self, host: &str, local: Local) -> bool {
        let is_named = |origin: &Origin| origin.web && origin.host == host;
        self.knows(host, local) || self.origins.iter().any(is_named)
    }

    /// Refuses a request to another name or from a page of another site.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap, local: Local) -> Result<(), Problem> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            let detail = "a request has exactly one Host header";
            return Err(Problem::new(Slug::InvalidParameter, detail));
        };
        let named = host.to_str().ok().and_then(host_of);
        let known = |host: &str| self.answers_to(host, local);
        if !named.is_some_and(|host| known(&host))
            || !uri.host().is_none_or(|host| known(&host.to_lowercase()))
        {
            let detail =
                "this server does not answer to that name; its operator can add it to `hosts`";
            return Err(Problem::new(Slug::MisdirectedRequest, detail));
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let refused = match (origins.next(), origins.next()) {
            (None, _) => false,
            (Some(origin), None) => !self.knows_origin(origin.as_bytes(), local),
            (Some(_), Some(_)) => true,
        };
        if refused {
            let is_null = headers.get(header::ORIGIN).is_some_and(|it| it == "null");
            let detail = match is_null {
                true => {
                    "a page that was opened as a file, or in a sandboxed frame, has no origin: serve it, for example from localhost"
                }
                false => {
                    "pages of that origin may not use this server; its operator can add the origin to `hosts`"
                }
            };
            return Err(Problem::new(Slug::Forbidden, detail));
        }
        Ok(())
    }
}

/// The host of `host[:port]`, in lower case; none where there is more or less than that.
fn host_of(text: &str) -> Option<String> {
    let authority: Authority = text.parse().ok()?;
    let host = authority.host();
    let port_is_one = authority.as_str().len() == host.len() || authority.port_u16().is_some();
    let host = host.strip_suffix('.').unwrap_or(host);
    let plain = !text.contains('@') && !host.is_empty() && port_is_one;
    plain.then(|| host.to_ascii_lowercase())
}

/// The origin of a page, as a browser states it.
#[derive(Debug, Clone)]
struct Origin {
    /// By HTTP.
    web: bool,
    host: String,
    /// The whole, in lower case and without a port that goes without saying.
    text: String,
}

impl Origin {
    fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let mut letters = scheme.chars();
        let named = letters
            .next()
            .is_some_and(|first| first.is_ascii_lowercase())
            && letters
                .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'));
        let host = host_of(authority).filter(|_| named)?;
        let port = authority.parse::<Authority>().ok()?.port_u16();
        let port =
            port.filter(|port| !matches!((scheme.as_str(), port), ("http", 80) | ("https", 443)));
        let port = port.map_or(String::new(), |port| format!(":{port}"));
        let web = matches!(scheme.as_str(), "http" | "https");
        Some(Self {
            text: format!("{scheme}://{host}{port}"),
            web,
            host,
        })
    }
}
