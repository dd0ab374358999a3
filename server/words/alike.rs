//! Names that people take for one another: another case, another script's letter, an accent.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_security::confusable_detection::skeleton;

/// Returns a name as people read it: `Move`, `mоve` with a Cyrillic letter and `móve` are one. Names are compared by it, never
/// shown. The letters are those of Unicode's security mechanisms (UTS #39, section 4).
pub fn folded(name: &str) -> String {
    let plain: String = name.nfkd().filter(|c| !is_combining_mark(*c)).collect();
    skeleton(&plain.trim().to_lowercase())
        .collect::<String>()
        .to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_are_one_and_others_are_not() {
        let move_file = folded("move_file");
        for name in [
            "Move_File",
            "m\u{43e}ve_file",
            "\u{ff4d}ove_file",
            "m\u{f3}ve_file",
            "m0ve_file",
            "move_fi1e",
            "\u{1d426}ove_file",
            " move_file\n",
            "move_file\u{a0}",
        ] {
            assert_eq!(folded(name), move_file, "{name}");
        }
        for name in ["remove_file", "move file", "move_fib", ""] {
            assert_ne!(folded(name), move_file, "{name}");
        }
        assert_eq!(folded("*"), "*");
    }
}
