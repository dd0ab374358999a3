//! `thinkd key new`: a secret for a client, and the lines of the configuration that admit it.
//! Nothing is stored.

use thinkd_words::id::{self, Space};
use thinkd_words::principal::Role;
use thinkd_words::text::sha256;

/// Acts on keys.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Print a new key, its SHA-256, and the lines that admit it
    New(Options),
}

/// The rights of a new key.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The space it opens
    #[arg(long, default_value = "default", value_parser = Space::parse)]
    space: Space,
    /// The rights of its holder there
    #[arg(long, default_value = "operator", value_parser = role)]
    role: Role,
}

fn role(text: &str) -> Result<Role, String> {
    let known = || Role::ALL.map(Role::as_str).join(", ");
    Role::parse(text).ok_or_else(|| format!("a role is one of {}", known()))
}

/// A new key, in the words of the terminal.
pub fn new(options: &Options) -> String {
    let key = format!("tk_{}", id::secret());
    let Options { space, role } = options;
    let role = role.as_str();
    let sha256 = sha256(key.as_bytes());
    format!(
        "key     {key}\nsha256  {sha256}\n\nGive the key to the client; it is shown this once. To admit it, put this into thinkd.toml or a file that \
         keys_file names (a running server takes it up by itself):\n\n[[keys]]\nsha256 = \"{sha256}\"\nspace = \"{space}\"\nrole = \"{role}\"\n"
    )
}
