//! Which names this server answers to, and which web pages may speak to it.
//! A page of another site can make a browser call a server on this machine; `Host` and `Origin` tell, and are looked at first.

use std::net::IpAddr;

use axum::http::{HeaderMap, Uri, header, uri::Authority};

use super::problem::{Problem, Slug};

/// The address a connection came in on; every request carries it.
#[derive(Debug, Clone, Copy)]
pub struct Local(pub IpAddr);

/// The names this server answers to, besides loopback and the address a connection came in on.
#[derive(Debug, Clone)]
pub struct Hosts(Vec<String>);

impl Hosts {
    /// The configured names; a port is not part of a name.
    pub fn new(names: &[String]) -> Result<Self, String> {
        let name = |text: &String| {
            host_of(text).ok_or_else(|| format!("hosts: {text:?} is not a host name; write it without scheme and path"))
        };
        names.iter().map(name).collect::<Result<_, _>>().map(Self)
    }

    fn knows(&self, host: &str, Local(local): Local) -> bool {
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match address.map(|address| address.to_canonical()) {
            Ok(address) => address.is_loopback() || address == local.to_canonical() || self.has(host),
            Err(_) => host == "localhost" || self.has(host),
        }
    }

    fn has(&self, host: &str) -> bool {
        self.0.iter().any(|known| known == host)
    }

    /// Whether a page of this origin may speak to this server.
    pub fn knows_origin(&self, origin: &[u8], local: Local) -> bool {
        let Ok(origin) = std::str::from_utf8(origin) else { return false };
        let Some(authority) = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) else {
            return false;
        };
        host_of(authority).is_some_and(|host| self.knows(&host, local))
    }

    /// Refuses a request to another name or from a page of another site.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap, local: Local) -> Result<(), Problem> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(Problem::new(Slug::InvalidParameter, "a request has exactly one Host header"));
        };
        let named = host.to_str().ok().and_then(host_of);
        let known = |host: &str| self.knows(host, local);
        if !named.is_some_and(|host| known(&host)) || !uri.host().is_none_or(|host| known(&host.to_lowercase())) {
            let detail = "this server does not answer to that name; its operator can add it to `hosts`";
            return Err(Problem::new(Slug::MisdirectedRequest, detail));
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let refused = match (origins.next(), origins.next()) {
            (None, _) => false,
            (Some(origin), None) => !self.knows_origin(origin.as_bytes(), local),
            (Some(_), Some(_)) => true,
        };
        if refused {
            let detail = "pages of that origin may not use this server; its operator can add their host to `hosts`";
            return Err(Problem::new(Slug::Forbidden, detail));
        }
        Ok(())
    }
}

/// The host of `host[:port]`, in lower case; none where there is more or less than that.
fn host_of(text: &str) -> Option<String> {
    let authority: Authority = text.parse().ok()?;
    let host = authority.host().strip_suffix('.').unwrap_or(authority.host());
    let port_is_one = authority.as_str().len() == authority.host().len() || authority.port_u16().is_some();
    let plain = !text.contains('@') && !host.is_empty() && port_is_one;
    plain.then(|| host.to_ascii_lowercase())
}
