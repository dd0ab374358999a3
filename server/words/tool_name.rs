//! The names of tools as models write them: with the decoration of templates, in quotation marks, or
//! in capitals. Pure.

/// Namespaces that templates write before a name.
const NAMESPACES: [&str; 5] = ["functions", "function", "tools", "tool", "default_api"];

/// Signs between a namespace and a name.
const BETWEEN: [&str; 4] = [".", "/", ":", "__"];

/// Returns the name that a written one means: the same, or the only one that differs in nothing but
/// decoration and case.
pub fn meant<'n>(written: &str, names: &[&'n str]) -> Option<&'n str> {
    let same = |text: &str| names.iter().find(|name| **name == text).copied();
    let bare = undecorated(written);
    same(written).or_else(|| same(bare)).or_else(|| {
        let mut alike = names.iter().filter(|name| name.eq_ignore_ascii_case(bare));
        let first = alike.next()?;
        alike.next().is_none().then_some(*first)
    })
}

/// Returns a name without signs around it, a namespace before it (`functions.reply`), and a number
/// behind it (`reply:0`).
pub fn undecorated(written: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = written.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let name = name.strip_prefix("to=").unwrap_or(name);
    let spaces = NAMESPACES
        .iter()
        .filter_map(|space| name.strip_prefix(space));
    let inner = spaces
        .flat_map(|rest| BETWEEN.map(|sign| rest.strip_prefix(sign)))
        .flatten()
        .next();
    let name = inner.unwrap_or(name);
    match name.rsplit_once(':') {
        Some((name, number)) if is_number(number) => name,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn a_name_is_read_without_its_decoration_and_never_guessed() {
        let names = ["reply", "state_get", "mcp__x__Get", "mcp__x__get", "tools"];
        for written in [
            "reply",
            "functions.reply",
            "functions.reply:0",
            "reply:12",
            "default_api.reply",
            "functions__reply",
            "functions/reply",
            "tool:reply",
            "to=functions.reply",
            "`reply`",
            "\"reply\"",
            "reply()",
            "<reply>",
            "reply:",
            "reply\u{200b}",
            "\u{feff}reply",
            "Reply",
            "REPLY",
        ] {
            assert_eq!(meant(written, &names), Some("reply"), "{written:?}");
        }
        for written in [
            "thinkd_reply",
            "reply_tool",
            "answer",
            "",
            "functions.",
            "mcp__x__GET",
        ] {
            assert_eq!(meant(written, &names), None, "{written:?}");
        }
        assert_eq!(meant("mcp__x__Get", &names), Some("mcp__x__Get"));
        assert_eq!(meant("tools", &names), Some("tools"));
    }
}
