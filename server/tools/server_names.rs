//! The names of the tools of other servers here: `mcp__<server>__<tool>`. No tool is refused for
//! its name, no two have the same one, and none can pass for a tool of this server or of another
//! one.

use std::collections::BTreeSet;

use thinkd_words::text::sha256;

/// The beginning of the names of all tools of other servers.
pub const PREFIX: &str = "mcp__";
/// Longest name of a tool, by the rule of model providers.
const NAME_MAX: usize = 64;
/// The number of digits of its hash that a changed name has.
const DIGITS: usize = 6;

/// The names for these tools of a server, in their order. They depend on the names of the others only where two would be equal.
pub fn names(server: &str, tools: &[&str]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let name = |tool: &&str| {
        let mut digits = DIGITS;
        let mut name = name(server, tool, digits);
        while !taken.insert(name.clone()) && digits < 32 {
            digits += 2;
            name = changed(server, tool, digits);
        }
        name
    };
    tools.iter().map(name).collect()
}

/// Returns the name of one tool: as the server calls it, where that can be a name; else the
/// nearest, and a hash of the server's name for it.
fn name(server: &str, tool: &str, digits: usize) -> String {
    let whole = format!("{PREFIX}{server}__{tool}");
    let is_plain = !tool.is_empty() && tool.chars().all(is_plain);
    // One that looks like a changed name could be made to equal one.
    if is_plain && whole.len() <= NAME_MAX && !looks_changed(tool) {
        whole
    } else {
        changed(server, tool, digits)
    }
}

fn changed(server: &str, tool: &str, digits: usize) -> String {
    let hash = sha256(tool.as_bytes());
    let room = NAME_MAX - PREFIX.len() - server.len() - 2 - 1 - digits;
    let plain = |c: char| if is_plain(c) { c } else { '_' };
    let near: String = tool.chars().map(plain).take(room).collect();
    format!("{PREFIX}{server}__{near}_{}", &hash[..digits])
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Returns true if a name ends as changed ones do.
fn looks_changed(tool: &str) -> bool {
    let hash = tool.rsplit_once('_').map(|(_, hash)| hash);
    hash.is_some_and(|hash| {
        hash.len() >= DIGITS
            && hash
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::is_name;

    #[test]
    fn every_name_is_one_and_no_two_are_equal() {
        let long = "x".repeat(300);
        let other = format!("{long}y");
        let mangled = names("s", &["a b"]).remove(0);
        let own = mangled.trim_start_matches("mcp__s__").to_owned();
        let tools = [
            "a",
            "a b",
            "a_b",
            "a.b",
            &own,
            &long,
            &other,
            "",
            "ünï",
            "\u{0}",
            "A",
            "mcp__t__x",
            "__",
            "reply",
        ];
        let found = names("s", &tools);
        assert!(
            found
                .iter()
                .all(|name| is_name(name) && name.starts_with("mcp__s__")),
            "{found:?}"
        );
        assert_eq!(
            found.iter().collect::<BTreeSet<_>>().len(),
            tools.len(),
            "{found:?}"
        );
        assert_eq!(found[0], "mcp__s__a");
        assert_eq!(found[2], "mcp__s__a_b");
        assert_eq!(
            names("s", &["a b"]),
            names("s", &["a b"]),
            "the same tool has the same name"
        );
        let server = "n".repeat(24);
        assert!(
            names(&server, &[&long, "b"])
                .iter()
                .all(|name| is_name(name))
        );
    }
}
