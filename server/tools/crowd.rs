//! Many tools: a request offers at most so many, because providers refuse more. Of tools that come and go the rest is rare then:
//! models open it with `more_tools`. Pure.

use std::collections::BTreeMap;

/// Most tools of a request.
pub const TOOLS_MAX: usize = 128;
/// Places among them for tools that a thread opens.
const ROOM: usize = 32;
/// The tool that opens others.
pub const OPENER: &str = "more_tools";

/// Splits the names of tools that are offered at every call where a model takes fewer: those that
/// still are, and those that are rare then. The opener stays, and a quarter is for the tools that
/// it opens.
pub fn within<'n>(most: usize, names: &[&'n str]) -> (Vec<&'n str>, Vec<&'n str>) {
    let room = (most - (most / 4).min(ROOM)).saturating_sub(1);
    let mut left = room;
    names.iter().copied().partition(|name| {
        let is_opener = *name == OPENER;
        let stays = is_opener || left > 0;
        left = left.saturating_sub(usize::from(!is_opener));
        stays
    })
}

/// Returns those of these tools that are rare, beside so many that stay and `rare` ones. Servers keep as many tools as there
/// is room for, one after the other.
pub fn rare(stay: usize, rare: usize, found: &[&str]) -> Vec<String> {
    if stay + found.len() + rare.min(ROOM) <= TOOLS_MAX {
        return Vec::new();
    }
    let room = (TOOLS_MAX - ROOM).saturating_sub(stay + 1);
    let mut of_server: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, &str)> = Vec::new();
    for name in found {
        let count = of_server.entry(server(name)).or_default();
        ranked.push((*count, name));
        *count += 1;
    }
    ranked.sort_unstable();
    let mut rest: Vec<String> = ranked
        .into_iter()
        .skip(room)
        .map(|(_, name)| name.to_owned())
        .collect();
    rest.sort_unstable();
    rest
}

/// Why a tool is rare that would be offered at every call otherwise.
pub fn why() -> String {
    format!("a request offers at most {TOOLS_MAX} tools, so models open this one with more_tools")
}

/// The server that a tool's name tells: `mcp__<server>`.
fn server(name: &str) -> &str {
    let mut parts = name.match_indices("__").map(|(at, _)| at);
    match (parts.next(), parts.next()) {
        (Some(_), Some(end)) => &name[..end],
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(server: &str, count: usize) -> Vec<String> {
        (0..count)
            .map(|at| format!("mcp__{server}__t{at:03}"))
            .collect()
    }

    fn rest(stay: usize, found: &[Vec<String>]) -> Vec<String> {
        let found: Vec<&str> = found.iter().flatten().map(String::as_str).collect();
        rare(stay, 16, &found)
    }

    #[test]
    fn a_server_of_many_tools_leaves_room_to_the_others() {
        assert!(
            rest(13, &[names("a", 99)]).is_empty(),
            "there is room for all"
        );
        let of_one = rest(13, &[names("a", 150)]);
        assert_eq!(of_one.len(), 150 - (128 - 32 - 14));
        assert_eq!(of_one[0], "mcp__a__t082");
        let of_both = rest(13, &[names("a", 150), names("b", 5)]);
        assert_eq!(of_both.len(), of_one.len() + 5);
        assert!(of_both.iter().all(|name| name.starts_with("mcp__a__")));
        assert_eq!(rest(200, &[names("a", 3)]), names("a", 3));
    }
}
