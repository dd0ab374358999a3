//! The server's message about itself when it listens.

use std::io;
use std::net::SocketAddr;

use super::output::say;
use super::settings::{LogFormat, Settings};

/// Facts about this server for a person.
pub struct About {
    /// The place of the log.
    pub database: String,
    /// The model that thinks.
    pub model: String,
    /// The pipelines that can be run.
    pub pipelines: String,
}

impl About {
    /// By name.
    pub fn lines(self) -> Vec<(&'static str, String)> {
        vec![
            ("database", self.database),
            ("model", self.model),
            ("pipelines", self.pipelines),
        ]
    }
}

/// Prints the address, the parts in use, and a way to say hello.
pub fn greet(settings: &Settings, address: SocketAddr, about: &About) -> io::Result<()> {
    let database = &about.database;
    let model = &about.model;
    if settings.log.format == LogFormat::Json {
        tracing::info!(%address, database, model, "thinkd listens");
        return Ok(());
    }
    let version = env!("CARGO_PKG_VERSION");
    let program = std::env::args().next().unwrap_or_else(|| "thinkd".into());
    let reachable = reachable(address);
    // The configuration says the rest, unless it left the port open or a flag did.
    let url = if address == Settings::default().listen {
        String::new()
    } else {
        format!(" --url http://{reachable}")
    };
    match address.ip().is_unspecified() {
        true => say(format_args!(
            "thinkd {version} listens on http://{address} (every address of this machine; from here http://{reachable})"
        ))?,
        false => say(format_args!("thinkd {version} listens on http://{address}"))?,
    }
    say(format_args!("  console    http://{reachable}/console/"))?;
    say(format_args!("  database   {database}"))?;
    say(format_args!("  model      {model}"))?;
    let has_keys = settings.token.is_some() || !settings.keys.is_empty();
    let key = if has_keys { " --token KEY" } else { "" };
    say(format_args!("  say hello  {program} chat{url}{key}"))
}

/// Returns an address to connect to for a server that listens there: "all addresses" is none.
pub fn reachable(listen: SocketAddr) -> SocketAddr {
    let mut address = listen;
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() {
            [127, 0, 0, 1].into()
        } else {
            std::net::Ipv6Addr::LOCALHOST.into()
        });
    }
    address
}
