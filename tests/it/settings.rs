//! Settings: the keys that can be configured, and the values that stop a start. The real program,
//! its exit code and its output.

use std::path::Path;
use std::process::{Command, Stdio};

use kit::app::Setup;
use kit::db::{Folder, Medium};
use kit::{PATIENCE, watchdog};

/// The result of one run of the program.
struct Run {
    code: i32,
    out: String,
    err: String,
}

/// Runs the program in a folder with these files, this environment and these arguments.
fn thinkd(files: &[(&str, &str)], env: &[(&str, &str)], arguments: &[&str]) -> Run {
    let folder = Folder::new();
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let mut command = Command::new(kit::program());
    command
        .args(arguments)
        .env_clear()
        .envs(env.iter().copied())
        .current_dir(folder.path())
        .stdin(Stdio::null());
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    watchdog::watch(pid);
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || tell.send(child.wait_with_output()));
    // One that should refuse to start and does not would run for ever: the watchdog ends it with the tests.
    let output = told
        .recv_timeout(PATIENCE)
        .unwrap_or_else(|_| panic!("it runs, with {files:?} and {env:?}"))
        .unwrap();
    watchdog::forget(pid);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run {
        code: output.status.code().unwrap(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

fn config(files: &[(&str, &str)], env: &[(&str, &str)], arguments: &[&str]) -> String {
    let run = thinkd(files, env, &[&["config"], arguments].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    run.out
}

/// Asserts that the program refuses to start with code 2, and names the fault.
fn refuses(files: &[(&str, &str)], env: &[(&str, &str)], names: &[&str]) {
    let run = thinkd(files, env, &[]);
    assert_eq!(run.code, 2, "{} {}", run.out, run.err);
    for name in names {
        assert!(run.err.contains(name), "{name:?} is not named: {}", run.err);
    }
}

#[test]
fn nothing_need_be_configured() {
    let shown = config(&[], &[], &[]);
    for line in [
        "listen = \"127.0.0.1:2953\"",
        "database = \"sqlite://thinkd.db\"",
        "max_rounds = 6",
        "follow_up = true",
    ] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
}

#[test]
fn flags_come_before_the_environment_the_environment_before_the_file() {
    let file = [(
        "thinkd.toml",
        "[turn]\nmax_rounds = 2\nmax_tool_calls = 2\npolicy = \"reject\"\n",
    )];
    let env = [
        ("THINKD_TURN__MAX_ROUNDS", "3"),
        ("THINKD_TURN__MAX_TOOL_CALLS", "3"),
    ];
    let shown = config(&file, &env, &["--set", "turn.max_rounds=4"]);
    for line in [
        "max_rounds = 4",
        "max_tool_calls = 3",
        "policy = \"reject\"",
        "late_timeout_ms = 120000",
    ] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
    for source in [
        "turn.max_tool_calls: the environment variable THINKD_TURN__MAX_TOOL_CALLS",
        "turn.policy: thinkd.toml",
    ] {
        assert!(shown.contains(source), "{source} is not in {shown}");
    }
}

#[test]
fn every_kind_of_value_comes_from_the_environment() {
    let env = [
        ("THINKD_LISTEN", "127.0.0.1:1"),
        ("THINKD_HOSTS", "a.example, b.example"),
        ("THINKD_TURN__FOLLOW_UP", "false"),
        ("THINKD_HISTORY__WINDOW_S", "2"),
        ("THINKD_LOG__FORMAT", "json"),
        (
            "THINKD_KEYS",
            "[{ key = \"canary-key\", space = \"other\" }]",
        ),
        ("THINKD_LIMITS__FRAMES_PER_SECOND", "7"),
    ];
    let shown = config(&[], &env, &[]);
    let lines = [
        "listen = \"127.0.0.1:1\"",
        "hosts = [\"a.example\", \"b.example\"]",
        "follow_up = false",
        "window_s = 2",
        "format = \"json\"",
        "space = \"other\"",
        "frames_per_second = 7",
    ];
    for line in lines {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
}

#[test]
fn an_unknown_key_refuses_to_start_and_is_named_with_its_source() {
    refuses(
        &[("thinkd.toml", "[turn]\nrounds = 2\n")],
        &[],
        &["turn.rounds", "thinkd.toml", "max_rounds"],
    );
    refuses(
        &[],
        &[("THINKD_TURN__ROUNDS", "2")],
        &["turn.rounds", "THINKD_TURN__ROUNDS"],
    );
    refuses(&[], &[("THINKD_BOGUS", "2")], &["bogus", "THINKD_BOGUS"]);
    refuses(
        &[("thinkd.toml", "[models.low]\nmodel = \"m\"\nbogus = 1\n")],
        &[],
        &["models.low.bogus"],
    );
    refuses(
        &[("thinkd.toml", "[[keys]]\nkey = \"k\"\nbogus = 1\n")],
        &[],
        &["bogus"],
    );
}

#[test]
fn tools_that_do_not_exist_and_a_conversation_that_cannot_answer_refuse_to_start() {
    refuses(
        &[(
            "thinkd.toml",
            "[tools]\nconversation = [\"reply\", \"fly\"]\n",
        )],
        &[],
        &["tools.conversation", "fly", "think"],
    );
    refuses(
        &[],
        &[("THINKD_TOOLS__CONVERSATION", "think,do_nothing")],
        &["tools.conversation", "reply"],
    );
    refuses(
        &[],
        &[("THINKD_TOOLS__CONVERSATION", "reply,Not A Name")],
        &["tools.conversation"],
    );
    refuses(
        &[("thinkd.toml", "[tools]\nprocess = [\"send\", \"fly\"]\n")],
        &[],
        &["tools.process", "fly", "send"],
    );
    refuses(
        &[("thinkd.toml", "[tools]\napproval = [\"fly\"]\n")],
        &[],
        &["tools.approval", "fly", "send"],
    );
    refuses(
        &[("thinkd.toml", "[tools]\napproval = [\"re*\"]\n")],
        &[],
        &["tools.approval", "reply"],
    );
    let shown = config(
        &[],
        &[
            ("THINKD_TOOLS__CONVERSATION", "reply, think"),
            ("THINKD_BUDGET__TOKENS", "5000"),
        ],
        &[],
    );
    refuses(
        &[],
        &[("THINKD_TURN__LANGUAGE", "latin")],
        &["turn.language", "tools, xml, auto"],
    );
    assert!(
        config(&[("thinkd.toml", "[turn]\nlanguage = \"xml\"\n")], &[], &[])
            .contains("language = \"xml\"")
    );
    for line in ["conversation = [\"reply\", \"think\"]", "tokens = 5000"] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
}

#[test]
fn a_value_of_the_wrong_kind_is_named_with_its_source() {
    refuses(
        &[],
        &[("THINKD_TURN__MAX_ROUNDS", "many")],
        &["turn.max_rounds", "THINKD_TURN__MAX_ROUNDS", "many"],
    );
    refuses(
        &[],
        &[("THINKD_TURN__POLICY", "sometimes")],
        &["turn.policy", "enqueue"],
    );
    refuses(
        &[],
        &[("THINKD_HISTORY__BYTES", "4095")],
        &["history.bytes", "at least 4096"],
    );
    refuses(
        &[],
        &[("THINKD_LISTEN", "here")],
        &["listen", "127.0.0.1:2953"],
    );
    refuses(
        &[("thinkd.toml", "[limits]\nsockets = -1\n")],
        &[],
        &["limits.sockets", "thinkd.toml"],
    );
    refuses(
        &[("thinkd.toml", "\n\nlisten = \n")],
        &[],
        &["thinkd.toml", "line 3"],
    );
    refuses(&[], &[("THINKD_LOG__LEVEL", "a=b=c")], &["log.level"]);
    refuses(
        &[],
        &[("THINKD_LOG__LEVEL", "thinkd=debug,inof")],
        &["log.level", "inof", "info"],
    );
}

#[test]
fn what_is_wrong_with_a_value_is_said_without_types_of_ours() {
    let rows = [
        "[turn]\nmax_rounds = \"many\"",
        "[turn]\nmax_rounds = -1",
        "[turn]\nfollow_up = 5",
        "[turn]\npolicy = 5",
        "[turn]\npolicy = \"sometimes\"",
        "turn = 5",
        "hosts = 5",
        "hosts = [5]",
        "keys = 5",
        "[[keys]]\nkey = \"x\"\nrole = \"king\"",
        "[budget]\ndepth = [1]",
        "[log]\nformat = \"loud\"",
        "[limits]\nframes_per_second = 4294967296",
    ];
    let inside = [
        "struct",
        "enum",
        "variant",
        "usize",
        "u32",
        "u64",
        "expected `",
        "invalid type",
        "map",
        "sequence",
        "tuple",
        "Options",
    ];
    for row in rows {
        let run = thinkd(&[("thinkd.toml", row)], &[], &[]);
        assert_eq!(run.code, 2, "{row}: {} {}", run.out, run.err);
        for word in inside {
            assert!(
                !run.err.contains(word),
                "{row}: {word:?} means nothing to who reads {:?}",
                run.err
            );
        }
    }
}

#[test]
fn secrets_are_never_printed() {
    let canaries = [
        "canary-token",
        "canary-low",
        "canary-high",
        "canary-key",
        "canary-pass",
    ];
    let file = "[models.low]\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:1\"\napi_key = \"canary-low\"\n[[keys]]\nkey = \"canary-key\"\n";
    let env = [
        ("THINKD_TOKEN", "canary-token"),
        ("OPENAI_API_KEY", "canary-high"),
        ("THINKD_MODEL_HIGH", "h"),
        (
            "DATABASE_URL",
            "postgres://me:canary-pass@db.example/thinkd",
        ),
    ];
    let run = thinkd(&[("thinkd.toml", file)], &env, &["config"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.out
            .contains("postgres://me:(redacted)@db.example/thinkd"),
        "{}",
        run.out
    );
    let mut said = vec![run.out];
    // Not in complaints either: of a wrong kind, in a line that cannot be read, in an unknown table.
    for file in [
        "token = [\"canary-token\"]",
        "token = \"canary-token",
        "canary-token = = 1",
        "[models.low]\napi_key = [\"canary-low\"]",
    ] {
        let run = thinkd(&[("thinkd.toml", file)], &[], &[]);
        assert_eq!(run.code, 2, "{file}: {}", run.err);
        said.push(run.err);
    }
    for canary in canaries {
        assert!(
            said.iter().all(|said| !said.contains(canary)),
            "{canary} was printed: {said:?}"
        );
    }
}

#[test]
fn a_secret_may_be_read_from_a_file() {
    let files = [("token", "12345678\n"), ("api_key", "canary-file\n")];
    let env = [
        ("THINKD_TOKEN_FILE", "token"),
        ("OPENAI_API_KEY_FILE", "api_key"),
        ("THINKD_MODEL", "m"),
    ];
    let shown = config(&files, &env, &[]);
    assert!(
        shown.contains("token: the environment variable THINKD_TOKEN_FILE"),
        "{shown}"
    );
    assert!(shown.contains("api_key = \"(redacted)\""), "{shown}");
    refuses(
        &[],
        &[("THINKD_TOKEN_FILE", "nowhere")],
        &["THINKD_TOKEN_FILE", "nowhere"],
    );
    refuses(
        &[("token", "a")],
        &[("THINKD_TOKEN_FILE", "token"), ("THINKD_TOKEN", "b")],
        &["THINKD_TOKEN_FILE", "leave one"],
    );
}

// `thinkd config` ends as a start would.
#[test]
fn a_name_that_is_misspelt_is_answered_with_the_nearest_one() {
    let model = "did you mean THINKD_MODEL?";
    refuses(&[], &[("THINKD_MODLE", "x")], &["modle", model]);
    let rounds = "did you mean turn.max_rounds?";
    refuses(&[], &[("THINKD_TURN__MAX_ROUND", "2")], &[rounds]);
    refuses(
        &[("thinkd.toml", "[turn]\nmax_ruonds = 2")],
        &[],
        &[rounds, "thinkd.toml"],
    );
    let run = thinkd(&[], &[("THINKD_WHATEVER", "2")], &["config"]);
    assert!(!run.err.contains("did you mean"), "{}", run.err);
    let ill = [
        ("THINKD_MODEL", "qwen3:4b"),
        ("OPENAI_BASE_URL", "localhost:1"),
    ];
    for command in ["config", "serve"] {
        let run = thinkd(&[], &ill, &[command]);
        assert_eq!(run.code, 2, "{command}: {} {}", run.out, run.err);
        assert!(
            run.err.contains("OPENAI_BASE_URL") && run.err.contains("http://"),
            "{}",
            run.err
        );
    }
}

#[test]
fn an_open_door_refuses_to_start() {
    refuses(
        &[],
        &[("THINKD_LISTEN", "0.0.0.0:0")],
        &["listen", "THINKD_TOKEN"],
    );
    refuses(
        &[],
        &[("THINKD_LISTEN", "[::]:0")],
        &["listen", "THINKD_TOKEN"],
    );
    config(
        &[],
        &[
            ("THINKD_LISTEN", "0.0.0.0:0"),
            ("THINKD_TOKEN", "a-long-enough-token"),
        ],
        &[],
    );
    config(
        &[("thinkd.toml", "[[keys]]\nkey = \"a-long-enough-key\"\n")],
        &[("THINKD_LISTEN", "0.0.0.0:0")],
        &[],
    );
}

// Where others can try some, no secret is short: neither the token nor a key, wherever it stands. A server refuses it, and so does whatever
// says what a server would do.
#[test]
fn a_short_secret_is_refused_beyond_loopback() {
    let beyond = ("THINKD_LISTEN", "0.0.0.0:0");
    let key = |secret: &str| format!("[[keys]]\nkey = \"{secret}\"\n");
    for short in ["q", "fifteen-letters", "fünfzehn-Zeiche"] {
        let told = ["16 at least", "thinkd key new"];
        let at_all = ("THINKD_TOKEN", "a-long-enough-token");
        type Pairs<'a> = &'a [(&'a str, &'a str)];
        let cases: [(Pairs<'_>, Pairs<'_>, &str); 5] = [
            (&[], &[beyond, ("THINKD_TOKEN", short)], "THINKD_TOKEN"),
            (
                &[],
                &[("THINKD_LISTEN", "[::]:0"), ("THINKD_TOKEN", short)],
                "THINKD_TOKEN",
            ),
            (
                &[("t", short)],
                &[beyond, ("THINKD_TOKEN_FILE", "t")],
                "THINKD_TOKEN",
            ),
            (
                &[("thinkd.toml", &key(short))],
                &[beyond, at_all],
                "entry 1",
            ),
            (
                &[("more.toml", &key(short))],
                &[beyond, at_all, ("THINKD_KEYS_FILE", "more.toml")],
                "more.toml",
            ),
        ];
        for (files, env, which) in cases {
            refuses(files, env, &[&told[..], &[which]].concat());
            // The doctor looks at much else: once is enough.
            let both = ["config", "doctor"];
            for says in if short.len() == 15 {
                &both[..]
            } else {
                &both[..1]
            } {
                let run = thinkd(files, env, &[says]);
                let said = run.out + &run.err;
                assert!(
                    run.code != 0 && told.iter().all(|told| said.contains(told)),
                    "{says}: {said}"
                );
                assert!(short.len() < 2 || !said.contains(short), "{says}: {said}");
            }
        }
    }
    // Nobody else can try any here; and sixteen will do.
    config(&[], &[("THINKD_TOKEN", "q")], &[]);
    config(&[], &[beyond, ("THINKD_TOKEN", "sixteen--letters")], &[]);
}

#[test]
fn every_role_can_be_given_to_a_key() {
    for role in ["viewer", "member", "operator", "admin"] {
        let file = format!(
            "[[keys]]\nkey = \"a-long-enough-key\"\nspace = \"theirs\"\nrole = \"{role}\"\n"
        );
        let shown = config(&[("thinkd.toml", &file)], &[], &[]);
        assert!(shown.contains(&format!("role = \"{role}\"")), "{shown}");
    }
}

// A key is a secret or the hash of one, in the configuration or in a file of keys; what is neither is refused by its place.
#[test]
fn a_key_that_cannot_be_kept_is_refused_and_never_quoted() {
    let hash = "0f".repeat(32);
    let long = format!("[[keys]]\nsha256 = \"{hash}\"\n");
    let shown = config(&[("thinkd.toml", &long)], &[], &[]);
    assert!(
        shown.contains(&hash[..12]) && !shown.contains(&hash),
        "{shown}"
    );
    let named = [("THINKD_KEYS_FILE", "more.toml")];
    config(&[("more.toml", &long)], &named, &[]);
    let both = format!("[[keys]]\nkey = \"canary\"\nsha256 = \"{hash}\"\n");
    refuses(&[("thinkd.toml", &both)], &[], &["entry 1", "both"]);
    refuses(
        &[("thinkd.toml", "[[keys]]\nspace = \"a\"\n")],
        &[],
        &["entry 1", "thinkd key new"],
    );
    for short in ["canary", &hash[1..], &hash.replace('0', "g")] {
        refuses(
            &[("thinkd.toml", &format!("[[keys]]\nsha256 = \"{short}\"\n"))],
            &[],
            &["entry 1", "64"],
        );
    }
    refuses(&[], &named, &["more.toml", "cannot be read"]);
    refuses(
        &[("more.toml", "\n\n[[keys]]\nsecret = \"canary\"\n")],
        &named,
        &["more.toml", "line 4"],
    );
    refuses(
        &[("more.toml", &long), ("thinkd.toml", &long)],
        &named,
        &["entry 1 of [[keys]] in more.toml", "same secret"],
    );
}

#[test]
fn half_a_model_refuses_to_start() {
    // Of the shell it is half a model where somebody set up a server.
    let beyond = [
        ("THINKD_LISTEN", "0.0.0.0:1"),
        ("THINKD_TOKEN", "a-long-enough-token"),
    ];
    for half in [
        ("OPENAI_API_KEY", "canary"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
    ] {
        refuses(
            &[],
            &[&[half][..], &beyond].concat(),
            &[half.0, "THINKD_MODEL"],
        );
    }
    for (file, half) in [
        ("[models]\napi_key = \"canary\"\n", ("", "")),
        ("[models]\nbase_url = \"http://127.0.0.1:1/v1\"\n", ("", "")),
        ("", ("THINKD_MODELS__API_KEY", "canary")),
        ("", ("THINKD_MODELS__BASE_URL", "http://127.0.0.1:1/v1")),
        (
            "[models]\napi_key = \"canary\"\n",
            ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
        ),
        (
            "[models]\nbase_url = \"http://127.0.0.1:1/v1\"\n",
            ("OPENAI_API_KEY", "canary"),
        ),
    ] {
        let env: Vec<_> = [half]
            .into_iter()
            .filter(|(name, _)| !name.is_empty())
            .collect();
        refuses(&[("thinkd.toml", file)], &env, &["THINKD_MODEL"]);
    }
    refuses(
        &[("thinkd.toml", "[models.low]\napi_key = \"k\"\n")],
        &[],
        &["models.low.model"],
    );
    refuses(
        &[("thinkd.toml", "[models.modules.decision]\nstream = false\n")],
        &[],
        &["models.modules.decision.model"],
    );
}

#[test]
fn a_key_goes_only_where_it_was_meant_to_go() {
    let file = "[models.low]\nmodel = \"m\"\nbase_url = \"http://elsewhere.example/v1\"\n[models.modules.decision]\nmodel = \"d\"\n";
    let env = [
        ("OPENAI_API_KEY", "canary"),
        ("OPENAI_BASE_URL", "http://shared.example/v1"),
    ];
    let shown = config(&[("thinkd.toml", file)], &env, &[]);
    let section = |name: &str| {
        let from = shown.find(&format!("[{name}]")).unwrap() + 1;
        shown[from..].split("\n[").next().unwrap().to_owned()
    };
    assert!(!section("models.low").contains("api_key"), "{shown}");
    assert!(
        section("models.low").contains("http://elsewhere.example/v1"),
        "{shown}"
    );
    assert!(
        section("models.modules.decision").contains("api_key"),
        "{shown}"
    );
    assert!(
        section("models.modules.decision").contains("http://shared.example/v1"),
        "{shown}"
    );
}

#[test]
fn what_others_put_into_the_environment_is_left_alone() {
    // Kubernetes, for a service called thinkd; a compose file with a variable that is not set; the tests.
    let env = [
        ("THINKD_SERVICE_HOST", "10.0.0.1"),
        ("THINKD_SERVICE_PORT", "2953"),
        ("THINKD_PORT", "tcp://10.0.0.1:2953"),
        ("THINKD_PORT_2953_TCP_PORT", "2953"),
        ("THINKD_TEST_PG_BIN", "/usr/lib"),
        ("THINKD_TOKEN", ""),
        ("OPENAI_API_KEY", ""),
    ];
    assert_eq!(config(&[], &env, &[]), config(&[], &[], &[]));
}

#[test]
fn t4_65_a_missing_or_empty_prompt_refuses_to_start_by_its_name() {
    refuses(&[], &[("THINKD_PROMPTS", "nowhere")], &["nowhere"]);
    refuses(
        &[("prompts/decision.md", "")],
        &[("THINKD_PROMPTS", "prompts")],
        &["decision"],
    );
    refuses(
        &[("prompts/decision.md", " \n\n")],
        &[("THINKD_PROMPTS", "prompts")],
        &["decision"],
    );
    refuses(
        &[("prompts/decission.md", "Think.")],
        &[("THINKD_PROMPTS", "prompts")],
        &["decission"],
    );
    refuses(
        &[("prompts/theory_of_mind.md", "")],
        &[("THINKD_PROMPTS", "prompts")],
        &["theory_of_mind"],
    );
    refuses(
        &[("prompts/tools/reply.md", "")],
        &[("THINKD_PROMPTS", "prompts")],
        &["tools/reply.md"],
    );
    refuses(
        &[("prompts/tools/fly.md", "Fly.")],
        &[("THINKD_PROMPTS", "prompts")],
        &["fly.md"],
    );
}

#[test]
fn t4_65_a_missing_configuration_file_is_named() {
    let run = thinkd(&[], &[], &["--config", "nowhere.toml", "config"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("nowhere.toml"), "{}", run.err);
}

#[test]
fn exit_codes_tell_usage_from_failure() {
    assert_eq!(thinkd(&[], &[], &["--help"]).code, 0);
    assert_eq!(thinkd(&[], &[], &["--version"]).code, 0);
    assert_eq!(thinkd(&[], &[], &["--bogus"]).code, 2);
    assert_eq!(thinkd(&[], &[], &["bogus"]).code, 2);
    assert_eq!(thinkd(&[], &[], &["--set", "no-value", "config"]).code, 2);
    // Nothing listens there.
    let away = [("THINKD_LISTEN", "127.0.0.1:9")];
    assert_eq!(thinkd(&[], &away, &["healthcheck"]).code, 1);
    assert_eq!(thinkd(&[], &away, &["events"]).code, 1);
    let chat = thinkd(&[], &away, &["chat"]);
    assert_eq!(chat.code, 1);
    assert!(
        chat.err.contains("no thinkd answers at http://127.0.0.1:9"),
        "{}",
        chat.err
    );
}

#[test]
fn an_origin_that_would_let_anybody_in_refuses_to_start_with_the_reason() {
    for (hosts, says) in [
        ("*", "any page"),
        ("https://*", "any page"),
        ("*.example", "any page"),
        ("null", "sandboxed"),
        ("NULL", "sandboxed"),
        ("https://mind.example/path", "no origin"),
        ("https://ada@mind.example", "no origin"),
        ("://mind.example", "no origin"),
        ("mind.example/path", "neither"),
    ] {
        refuses(
            &[],
            &[("THINKD_HOSTS", hosts)],
            &["hosts", &hosts.replace("NULL", "null"), says],
        );
    }
    let hosts =
        "mind.example, tauri://localhost, https://mind.example:8443, chrome-extension://abcdef";
    config(&[], &[("THINKD_HOSTS", hosts)], &[]);
}

#[test]
fn a_database_of_an_unknown_kind_is_a_fault_of_the_configuration_and_its_url_is_not_quoted() {
    for (url, says) in [
        ("mysql://me:canary-pass@db.example/thinkd", "mysql"),
        ("postgre://me:canary-pass@db.example/thinkd", "postgre:"),
        ("canary-pass", "no URL"),
        ("me:canary-pass@db.example", "postgres://"),
    ] {
        for command in [
            &[][..],
            &["rebuild"],
            &["backup", "new.db"],
            &["restore", "copy.db"],
        ] {
            let run = thinkd(&[("copy.db", "")], &[("DATABASE_URL", url)], command);
            assert_eq!(run.code, 2, "{url} {command:?}: {} {}", run.out, run.err);
            assert!(
                run.err.contains("database") && run.err.contains(says),
                "{url} {command:?}: {}",
                run.err
            );
            assert!(
                !run.err.contains("canary-pass"),
                "{url} {command:?}: {}",
                run.err
            );
        }
    }
}

/// A client is named by its key alone: a key that two entries hold names no entry, and one with
/// blanks around it is another one in a header.
#[test]
fn a_key_that_two_entries_hold_refuses_to_start_and_both_are_named() {
    let keys = |keys: &[(&str, &str)]| -> String {
        keys.iter()
            .map(|(key, space)| format!("[[keys]]\nkey = \"{key}\"\nspace = \"{space}\"\n"))
            .collect()
    };
    let canary = "canary-of-a-key";
    let other = "another-key-of-them";
    for (file, env, names) in [
        (
            keys(&[(canary, "one"), (other, "two"), (canary, "three")]),
            vec![],
            ["1", "one", "3", "three"],
        ),
        (
            keys(&[(canary, "one"), (canary, "one")]),
            vec![],
            ["1", "2", "one", "same"],
        ),
        (
            keys(&[(other, "one"), (canary, "two")]),
            vec![("THINKD_TOKEN", canary)],
            ["token", "2", "two", "same"],
        ),
        (
            keys(&[(canary, "one"), ("canary-of-a-key ", "two")]),
            vec![],
            ["2", "two", "begins or ends", "blank"],
        ),
        (
            String::new(),
            vec![("THINKD_TOKEN", " canary-of-a-key")],
            ["token", "THINKD_TOKEN", "begins or ends", "blank"],
        ),
    ] {
        let files = [("thinkd.toml", file.as_str())];
        refuses(&files, &env, &names);
        let shown = thinkd(&files, &env, &["config"]);
        assert_eq!(shown.code, 2, "{}", shown.err);
        for run in [shown, thinkd(&files, &env, &[])] {
            assert!(
                !format!("{}{}", run.out, run.err).contains(canary),
                "{} {}",
                run.out,
                run.err
            );
        }
    }
    config(
        &[("thinkd.toml", &keys(&[(canary, "one"), (other, "one")]))],
        &[],
        &[],
    );
}

// No container may take the machine's memory or processes, or anything of root's that its image does not need.
#[test]
fn every_container_is_bounded() {
    use serde_json::{Value, json};
    let files = [
        include_str!("../../docker-compose.yml"),
        include_str!("../../docker-compose.scale.yml"),
    ];
    for (name, service) in files.iter().flat_map(|file| {
        let writes = "THINKD_TOOLS__MCP_APPROVE: writes";
        assert!(
            file.contains(writes),
            "calls of a server of tools run unseen"
        );
        let file: Value = serde_yaml_ng::from_str(file).unwrap();
        file["services"].as_object().unwrap().clone()
    }) {
        assert!(service["pids_limit"].is_u64(), "{name}: no pids_limit");
        assert!(service["mem_limit"].is_string(), "{name}: no mem_limit");
        assert_eq!(service["cap_drop"], json!(["ALL"]), "{name}");
        assert_eq!(
            service["security_opt"],
            json!(["no-new-privileges:true"]),
            "{name}"
        );
        let added = service["cap_add"].as_array().map_or(0, Vec::len);
        assert_eq!(added, if name == "postgres" { 5 } else { 0 }, "{name}");
    }
}

// A direct address is of the database beside it: a flag that names another one does not lead there.
#[test]
fn a_direct_address_is_of_the_database_beside_it() {
    let direct = ("DATABASE_DIRECT_URL", "postgres://me:hidden@direct/minds");
    let pooler = ("DATABASE_URL", "postgres://me@pooler/minds");
    let both = thinkd(&[], &[pooler, direct], &["config"]);
    assert_eq!(both.code, 0, "{}", both.err);
    assert!(both.out.contains("@direct/minds"), "{}", both.out);
    assert!(!both.out.contains("hidden"), "{}", both.out);
    let other = ["config", "--database", "postgres://me@other/minds"];
    let other = thinkd(&[], &[pooler, direct], &other);
    assert!(other.out.contains("@other/minds"), "{}", other.out);
    assert!(!other.out.contains("@direct/minds"), "{}", other.out);
    let file = [("DATABASE_URL", "sqlite://x.db"), direct];
    let refused = thinkd(&[], &file, &["serve"]);
    assert_ne!(refused.code, 0);
    assert!(
        refused.err.contains("DATABASE_DIRECT_URL"),
        "{}",
        refused.err
    );
}

/// Keys that are no settings any more, wherever they stand: a warning names each with its source and
/// the number that holds, and nothing is refused, not even a value of the wrong kind.
#[test]
fn a_removed_key_starts_and_is_named_with_what_holds_instead() {
    let file = "[jwt]\nleeway_s = 5\n[doors]\nside_call_headers = [\"x\"]\n[memory]\nwaiting = \"many\"\n\
        [tools.approval_ms_of]\nsend = 5\n[models.low]\nmodel = \"m\"\nretries = 0\n";
    let env = [
        ("THINKD_LIMITS__READ_MS", "5"),
        ("THINKD_MODELS__MODULES__DECISION__MODEL", "n"),
        ("THINKD_MODELS__MODULES__DECISION__BACKOFF_MS", "1"),
        (
            "THINKD_TOOLS__MCP",
            "{ it = { url = \"http://x\", list_ms = 1 } }",
        ),
    ];
    let set = ["--set", "runtime.scan_ms=5"];
    let files = [("thinkd.toml", file)];
    let shown = config(&files, &env, &set);
    for said in [
        "jwt.leeway_s (thinkd.toml) is 60",
        "doors.side_call_headers (thinkd.toml) is [\"x-openwebui-task\"]",
        "memory.waiting (thinkd.toml) is 1000",
        "tools.approval_ms_of (thinkd.toml) is ",
        "models.low.retries (thinkd.toml) is 3",
        "limits.read_ms (the environment variable THINKD_LIMITS__READ_MS) is 10000",
        "models.modules.decision.backoff_ms (",
        "tools.mcp.it.list_ms (the environment variable THINKD_TOOLS__MCP) is 60000",
        "runtime.scan_ms (the flag --set runtime.scan_ms) is 3000",
    ] {
        assert!(shown.contains(said), "{said} is not in {shown}");
    }
    assert_eq!(shown.matches("no settings any more").count(), 1, "{shown}");
    assert!(!config(&[], &[], &[]).contains("no settings any more"));
    // What never was one is refused as ever, beside a removed one, too.
    refuses(
        &[("thinkd.toml", "[jwt]\nleeway_s = 5\nleeway = 5\n")],
        &[],
        &["jwt.leeway", "thinkd.toml"],
    );
}

#[tokio::test]
async fn the_start_warns_once_of_removed_keys() {
    let app = Setup::offline(Medium::sqlite())
        .file("thinkd.toml", "console = false\n")
        .env("THINKD_LIMITS__BODY_BYTES", 1)
        .start()
        .await;
    app.until_says("console (thinkd.toml) is true").await;
    let said = app.output();
    assert_eq!(said.matches("no settings any more").count(), 1, "{said}");
    assert!(
        said.contains("limits.body_bytes (the environment variable THINKD_LIMITS__BODY_BYTES) is"),
        "{said}"
    );
    assert_eq!(app.get("/console/").await.status, 200);
}

/// A key that has another name now is read as that, unless that is set beside it.
#[test]
fn a_key_with_another_name_now_is_read_as_that() {
    let file = "[models.low]\nmodel = \"m\"\nmax_tokens = 99\n[models.high]\nmodel = \"h\"\ntemperature = 1\nparameters = { temperature = 0.5 }\n\
        [tools.mcp.it]\ncommand = \"sh\"\nenv_file = \"secrets\"\n";
    let env = [
        ("THINKD_MODELS__LOW__TEMPERATURE", "0.2"),
        ("THINKD_MOOD__ENABLED", "false"),
    ];
    let shown = config(&[("thinkd.toml", file), ("secrets", "")], &env, &[]);
    for line in [
        "max_tokens = 99\n",
        "temperature = 0.2\n",
        "temperature = 0.5\n",
        "step = 0.0\n",
        "secrets_file = \"secrets\"\n",
    ] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
    assert!(!shown.contains("temperature = 1"), "{shown}");
}

/// One number serves several limits: the frame's and the body's, the text's and the result's.
#[tokio::test]
async fn limits_follow_the_key_that_sets_them() {
    let app = Setup::offline(Medium::sqlite())
        .env("THINKD_LIMITS__FRAME_BYTES", 16_384)
        .start()
        .await;
    let text = |count: usize| serde_json::json!({ "text": "a".repeat(count) });
    app.post("/threads/a/messages", text(1500))
        .await
        .expect(202);
    app.post("/threads/a/messages", text(3000))
        .await
        .expect_problem(413, "too-large");
}

/// A client is told of all limits, also of those that no key sets.
#[tokio::test]
async fn the_metadata_have_the_limits_without_a_key() {
    let app = Setup::offline(Medium::sqlite()).start().await;
    let shown = app.get("/metadata").await.expect(200);
    assert_eq!(shown["limits"]["read_ms"], 10_000, "{shown}");
    assert_eq!(shown["limits"]["tool_output_bytes"], 65_536);
    assert_eq!(shown["budget"]["sends"], 1000);
    assert_eq!(shown["budget"]["root"]["threads"], 64);
}

/// Keys that are no settings any more, from the list of the server.
fn removed() -> Vec<String> {
    let file = Path::new(kit::ROOT).join("server/program/settings/removed.rs");
    let source = std::fs::read_to_string(file).unwrap();
    let (_, list) = source.split_once("REMOVED: &str = \"\\\n").unwrap();
    let (list, _) = list.split_once("\";").unwrap();
    let tables = list.lines().filter_map(|line| line.split_once(": "));
    let keys = tables.flat_map(|(table, keys)| {
        let names = keys.split(", ").filter_map(|it| it.split_once(' '));
        names.map(move |(name, _)| format!("{table}.{name}"))
    });
    keys.filter(|key| !key.contains('*')).collect()
}

/// Returns the texts of a source that name one of the keys beside other words.
fn naming<'s>(source: &'s str, keys: &[String]) -> Vec<&'s str> {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    // A line behind a `\\` begins within a text.
    let mut goes_on = false;
    let texts = source.lines().filter(is_code).flat_map(move |line| {
        let outside = usize::from(!std::mem::replace(&mut goes_on, line.ends_with('\\')));
        line.split('"').skip(outside).step_by(2)
    });
    let part = |c: char| !c.is_ascii_lowercase() && c != '.' && c != '_';
    let names = |text: &str, key: &String| text != key && text.split(part).any(|word| word == key);
    texts
        .filter(|text| keys.iter().any(|key| names(text, key)))
        .collect()
}

// An error that advises to raise a number which no setting sets sends an operator nowhere.
#[test]
fn no_text_of_the_server_names_a_setting_that_there_is_not() {
    let keys = removed();
    assert!(keys.len() > 80, "{keys:?}");
    let wrong =
        r#"format!("at most {most} (limits.schedule_interval_ms)"); ("limits.frame_bytes")"#;
    assert_eq!(naming(wrong, &keys).len(), 1, "control");
    let split = "(\"none is free \\\n (limits.space_share)\")";
    assert_eq!(
        naming(split, &keys).len(),
        1,
        "control of a text of two lines"
    );
    let mut all = Vec::new();
    for (name, source) in kit::imports::sources_of("server", "rs") {
        let own = name.starts_with("program/settings/");
        all.extend(
            naming(&source, &keys)
                .into_iter()
                .filter(|_| !own)
                .map(|it| format!("{name}: {it}")),
        );
    }
    assert_eq!(all, Vec::<String>::new());
}
