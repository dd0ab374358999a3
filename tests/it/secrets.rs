//! Secrets: passwords and keys in printed, logged and stored text; files that other users of the
//! machine could read.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use kit::db::Folder;
use kit::*;

/// One run of the program in an empty folder, to its end.
fn thinkd(env: &[(&str, &str)], arguments: &[&str]) -> Output {
    let folder = Folder::new();
    let mut command = Command::new(kit::program());
    command
        .args(arguments)
        .env_clear()
        .envs(env.iter().copied())
        .current_dir(folder.path())
        .stdin(Stdio::null());
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn credentials_in_a_model_s_address_are_not_printed() {
    let places = [
        "OPENAI_BASE_URL",
        "THINKD_MODELS__LOW__BASE_URL",
        "THINKD_MODELS__MODULES__DECISION__BASE_URL",
    ];
    let addresses = [
        "https://canary@provider.example/v1",
        "https://user:canary@provider.example/v1",
        "https://canary:@provider.example/v1",
        "https://user:can/ary@provider.example/v1",
        "https://provider.example/v1?key=canary",
        "https://provider.example/v1?canary",
        "https://provider.example/v1#canary",
        "https:/user:canary@provider.example/v1",
        "user:canary@provider.example/v1",
    ];
    for place in places {
        for address in addresses {
            let env = [
                ("THINKD_MODEL", "m"),
                ("THINKD_MODELS__MODULES__DECISION__MODEL", "m"),
                (place, address),
            ];
            let run = thinkd(&env, &["config"]);
            // An address that is none is refused.
            assert!(matches!(run.status.code(), Some(0 | 2)), "{address}");
            assert!(
                !said(&run).contains("ary"),
                "{place} = {address}: {}",
                said(&run)
            );
        }
        let env = [
            ("THINKD_MODEL", "m"),
            ("THINKD_MODELS__MODULES__DECISION__MODEL", "m"),
            (place, addresses[4]),
        ];
        let shown = said(&thinkd(&env, &["config"]));
        assert!(
            shown.contains("https://provider.example/v1?key=(redacted)"),
            "the rest is shown: {shown}"
        );
        let plain = [
            ("THINKD_MODEL", "m"),
            ("THINKD_MODELS__MODULES__DECISION__MODEL", "m"),
            (place, "http://h:1/v1"),
        ];
        assert!(
            said(&thinkd(&plain, &["config"])).contains("\"http://h:1/v1\""),
            "and so is what hides nothing"
        );
    }
}

#[test]
fn a_database_s_address_is_never_printed_with_its_password_however_it_is_mistyped() {
    let addresses = [
        "postgress://me:canary@db.example/thinkd",
        "mysql://me:canary@db.example/thinkd",
        "postgres:/me:canary@db.example/thinkd",
        "postgres//me:canary@db.example/thinkd",
        "postgres:me:canary@db.example/thinkd",
        "me:canary@db.example/thinkd",
        "canary",
        "://canary",
        "postgres://me:canary@127.0.0.1:port/thinkd",
        "postgres://me:c/canary@127.0.0.1:1/thinkd",
        "postgres://me:c?canary@127.0.0.1:1/thinkd",
        "postgres://me:c#canary@127.0.0.1:1/thinkd",
        "postgres://me:c@canary@127.0.0.1:1/thinkd",
        "postgres://me@127.0.0.1:1/thinkd?password=canary",
        "postgres://me@127.0.0.1:1/thinkd?pasword=canary",
        "postgres://me@127.0.0.1:1/thinkd?password=can@canary",
        "postgres://me:%63anary@127.0.0.1:1/thinkd?x=canary",
    ];
    for address in addresses {
        for arguments in [
            &["serve"][..],
            &["config"],
            &["backup", "copy"],
            &["rebuild", "--check"],
            &["doctor"],
        ] {
            let env = [
                ("DATABASE_URL", address),
                ("THINKD_LISTEN", "127.0.0.1:0"),
                ("THINKD_LOG__LEVEL", "trace"),
            ];
            let run = thinkd(&env, arguments);
            assert!(
                arguments == ["config"] || !run.status.success(),
                "{address} {arguments:?}: {}",
                said(&run)
            );
            assert!(
                !said(&run).contains("anary"),
                "{address} {arguments:?}: {}",
                said(&run)
            );
        }
    }
    let shown = said(&thinkd(
        &[(
            "DATABASE_URL",
            "postgres://me:canary@db.example/thinkd?sslmode=require",
        )],
        &["config"],
    ));
    assert!(
        shown.contains("postgres://me:(redacted)@db.example/thinkd?sslmode="),
        "the rest is shown: {shown}"
    );
}

#[test]
fn what_should_be_a_table_of_secrets_and_is_none_is_not_printed() {
    for (variable, value) in [
        ("THINKD_KEYS", "[{ key = \"canary\" "),
        ("THINKD_KEYS", "canary"),
        ("THINKD_KEYS", "[\"canary\"]"),
        ("THINKD_MODELS", "canary"),
        ("THINKD_MODELS__LOW", "{ api_key = \"canary\", "),
        ("THINKD_MODELS__MODULES", "canary"),
        ("THINKD_MODELS__MODULES__DECISION", "canary"),
    ] {
        let run = thinkd(&[(variable, value)], &["config"]);
        assert_eq!(run.status.code(), Some(2), "{variable}: {}", said(&run));
        assert!(
            said(&run).contains(variable) && !said(&run).contains("canary"),
            "{variable}: {}",
            said(&run)
        );
    }
}

fn mode(file: &Path) -> u32 {
    std::fs::metadata(file).unwrap().permissions().mode() & 0o777
}

/// With any mask of the user that starts it: every file with words of a mind is readable by its
/// owner only.
#[tokio::test]
async fn what_holds_the_log_can_be_read_by_its_owner_only() {
    let stub = Stub::start().await;
    let medium = Medium::sqlite();
    let folder = medium.folder().to_owned();
    let url = medium.url().to_owned();
    let line = format!("umask 0; : > control; exec {}", kit::program());
    let masked = ["-c", &line];
    let app = Setup::new(medium, &stub)
        .program("sh".into())
        .arguments(&masked)
        .start()
        .await;
    app.tell("hello").await;
    assert_eq!(
        mode(&folder.join("control")),
        0o666,
        "the mask allows everything"
    );
    let masked = |arguments: &str, url: &str| {
        let line = format!("umask 0; exec {} {arguments}", kit::program());
        let mut command = Command::new("sh");
        command
            .args(["-c", &line])
            .env_clear()
            .env("DATABASE_URL", url)
            .current_dir(&folder);
        let run = command.output().unwrap();
        assert!(run.status.success(), "{}", said(&run));
    };
    masked("backup copy", &url);
    masked("restore copy", "sqlite://restored.db");
    let files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let named = |name: &str| files.iter().any(|file| file.ends_with(name));
    for name in [
        "thinkd.db",
        "thinkd.db-wal",
        "thinkd.db.index",
        "thinkd.db.index-wal",
        "copy",
        "restored.db",
    ] {
        assert!(named(name), "{name} is not among {files:?}");
    }
    for file in files.iter().filter(|file| !file.ends_with("control")) {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
}
