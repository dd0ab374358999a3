//! The help of commands: examples of each, and only those options that it has a use for.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};

/// Examples of commands that people type.
const EXAMPLES: [(&str, &str); 15] = [
    (
        "serve",
        "thinkd\nthinkd serve --listen 127.0.0.1:4000\nTHINKD_MODEL=gpt-5-mini OPENAI_API_KEY=sk-… thinkd",
    ),
    (
        "chat",
        "thinkd chat\nthinkd chat --thread research\necho 'What is new?' | thinkd chat",
    ),
    (
        "events",
        "thinkd events --follow\nthinkd events --all --thread main\nthinkd events --text invoice --json | jq .payload.text",
    ),
    (
        "inbox",
        "thinkd inbox\nthinkd inbox show 0193a1b2-5c3d-7e4f-8a9b-0c1d2e3f4a5c",
    ),
    ("fork", "thinkd fork main --at 41 'And in winter?'"),
    (
        "mission",
        "thinkd mission 'Find a time for five talks without a clash.'",
    ),
    ("recall", "thinkd recall 'Where does Alma live?'"),
    (
        "doctor",
        "thinkd doctor\nTHINKD_MODEL=qwen3:4b thinkd doctor",
    ),
    ("healthcheck", "thinkd healthcheck && echo ready"),
    ("rebuild", "thinkd rebuild --check"),
    (
        "backup",
        "thinkd backup today.backup\nthinkd backup today.backup --database postgres://me@db/thinkd",
    ),
    (
        "restore",
        "thinkd restore today.backup --database sqlite://new.db",
    ),
    (
        "config",
        "thinkd config\nthinkd config --set turn.max_rounds=3",
    ),
    (
        "migrate",
        "thinkd migrate --database postgres://owner@db/thinkd",
    ),
    (
        "replica",
        "THINKD_TOKEN=… thinkd replica --listen 0.0.0.0:2954",
    ),
];

/// Commands that ask a running server: they open no database, and listen nowhere.
const CLIENTS: [&str; 7] = [
    "chat", "events", "inbox", "fork", "mission", "recall", "memory",
];
/// The options of a server.
const OF_SERVERS: [&str; 3] = ["listen", "database", "set"];
/// Commands that open the database: they listen nowhere.
const STORES: [&str; 5] = ["backup", "restore", "rebuild", "migrate", "reembed"];
/// Commands without settings: they print the contracts and make keys.
const PLAIN: [&str; 4] = ["openapi", "asyncapi", "facts", "key"];

/// Returns a command line with its examples. An option that a command has no use for is not in its
/// help.
pub fn with_examples(mut line: Command) -> Command {
    for (name, examples) in EXAMPLES {
        let lines = examples.lines().map(|example| format!("  {example}"));
        let lines = lines.collect::<Vec<_>>().join("\n");
        line = line.mut_subcommand(name, |it| it.after_help(format!("Examples:\n{lines}")));
    }
    for name in CLIENTS {
        line = line.mut_subcommand(name, |it| without_help(it, &OF_SERVERS));
    }
    for name in STORES {
        line = line.mut_subcommand(name, |it| without_help(it, &["listen"]));
    }
    for name in PLAIN {
        let all = ["config", "listen", "database", "set"];
        line = line.mut_subcommand(name, |it| without_help(it, &all));
    }
    line
}

/// Returns a command that takes these options of all commands as before, and has no help for them.
fn without_help(command: Command, options: &[&'static str]) -> Command {
    let hidden = options.iter().map(|option| {
        let action = match *option {
            "set" => ArgAction::Append,
            _ => ArgAction::Set,
        };
        let arg = Arg::new(*option).long(*option).action(action);
        let arg = arg.global(true).hide(true);
        match *option {
            "config" => arg.value_parser(value_parser!(PathBuf)),
            _ => arg,
        }
    });
    command.args(hidden)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    /// Returns the words of the part of an example that runs the program.
    fn words(example: &str) -> Vec<String> {
        let begin = example.find("thinkd").unwrap();
        let own = example[begin..].split(" | ").next().unwrap();
        let own = own.split(" && ").next().unwrap();
        let quoted = own.split('\'').enumerate();
        let words = quoted.flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.collect()
    }

    #[test]
    fn an_example_is_a_line_that_the_program_takes() {
        for (name, examples) in EXAMPLES {
            for example in examples.lines() {
                let line = with_examples(super::super::Line::command());
                let parsed = line.try_get_matches_from(words(example));
                let parsed = parsed.unwrap_or_else(|error| panic!("{example}: {error}"));
                let command = parsed.subcommand_name().unwrap_or("serve");
                assert_eq!(command, name, "{example}");
            }
        }
    }

    #[test]
    fn an_option_without_help_is_taken_nonetheless() {
        for place in 1..=2 {
            let mut words = vec!["thinkd", "chat"];
            let options = ["--set", "turn.max_rounds=3", "--listen", "127.0.0.1:1"];
            words.splice(place..place, options);
            let line = with_examples(super::super::Line::command());
            let parsed = line.try_get_matches_from(words).unwrap();
            assert_eq!(parsed.get_one::<String>("listen").unwrap(), "127.0.0.1:1");
            let set = parsed.get_many::<String>("set").unwrap();
            assert!(set.eq(["turn.max_rounds=3"]));
        }
    }

    #[test]
    fn the_help_of_a_client_names_no_option_of_a_server() {
        let mut line = with_examples(super::super::Line::command());
        for name in CLIENTS {
            let command = line.find_subcommand_mut(name).unwrap();
            let help = command.render_help().to_string();
            for option in ["--listen", "--database", "--set "] {
                assert!(!help.contains(option), "{name}: {help}");
            }
            assert!(help.contains("--config"), "{name}: {help}");
        }
        let serve = line.find_subcommand_mut("serve").unwrap();
        let help = serve.render_help().to_string();
        assert!(help.contains("--listen") && help.contains("Examples:\n  thinkd\n"));
    }
}
