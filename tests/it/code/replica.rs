//! Code that another process runs for the server: `thinkd replica`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use super::*;
use kit::db::Folder;

const TOKEN: &str = "a-token-of-32-characters-or-more!";

/// `thinkd replica`; it ends with this.
struct Replica {
    child: Child,
    address: String,
    _folder: Folder,
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(folder: &Folder, listen: &str, env: &[(&str, &str)]) -> Command {
    let mut command = Command::new(kit::program());
    command
        .arg("replica")
        .current_dir(folder.path())
        .env_clear()
        .env("THINKD_LISTEN", listen);
    command
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Replica {
    fn start(listen: &str) -> Self {
        let folder = Folder::new();
        let own = [
            ("THINKD_TEST_TOOLS__CODE__TIME_MS", "60"),
            ("THINKD_TOOLS__CODE__BACKGROUND", "false"),
        ];
        let env = [("THINKD_TOKEN", TOKEN), own[0], own[1]];
        let mut child = command(&folder, listen, &env)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(address.starts_with("127.0.0.1:"), "it said {line:?}");
        Self {
            child,
            address,
            _folder: folder,
        }
    }
}

fn setup(medium: Medium, stub: &Stub, address: &str, token: &str) -> Setup {
    let url = format!("http://{address}");
    let setup = Setup::new(medium, stub).env("THINKD_TOOLS__CODE__REPLICA__URL", url);
    setup.env("THINKD_TOOLS__CODE__REPLICA__TOKEN", token)
}

// D2, replicas at work: the same tool, elsewhere by configuration alone.
on_sqlite!(
    code_runs_on_another_machine_by_configuration_alone,
    |medium| {
        let replica = Replica::start("127.0.0.1:0");
        let stub = Stub::start().await;
        let app = setup(medium, &stub, &replica.address, TOKEN).start().await;
        let sum = json!({ "language": "javascript", "code": "print('é'); [input[0] + 1n.toString(), 1.5, null]", "input": "[\"a\"]" });
        stub.script(
            decision,
            [
                call("run_code", sum),
                runs("x"),
                runs("for (;;) {}"),
                reply("Done."),
            ],
        );
        app.tell("compute").await;
        let log = app.public_log().await;
        let results = results(&log);
        assert_eq!(
            *output(results[0]),
            json!({ "value": ["a1", 1.5, null], "printed": "é\n" }),
            "{}",
            story(&log)
        );
        assert_eq!(output(results[1])["error"]["line"], 1, "{}", results[1]);
        // The limit is that of the machine where it runs.
        assert_eq!(reason(results[2]), "time");
        assert!(results[2].to_string().contains("60 ms"), "{}", results[2]);
        assert!(
            workers(app.pid()).is_empty(),
            "the server has no worker of its own"
        );
    }
);

#[tokio::test]
async fn a_replica_that_goes_is_a_failure_and_one_that_comes_back_is_found() {
    let mut replica = Replica::start("127.0.0.1:0");
    let address = replica.address.clone();
    let stub = Stub::start().await;
    let app = setup(Medium::sqlite(), &stub, &address, TOKEN)
        .start()
        .await;
    stub.script(decision, [runs("1"), reply("One.")]);
    app.tell("first").await;
    replica.child.kill().unwrap();
    replica.child.wait().unwrap();
    stub.script(decision, [runs("2"), reply("Gone.")]);
    app.tell("second").await;
    drop(replica);
    let _replica = Replica::start(&address);
    stub.script(decision, [runs("3"), reply("Back.")]);
    app.tell("third").await;
    let log = app.public_log().await;
    let [one, two, three] = results(&log)[..] else {
        panic!("{}", story(&log))
    };
    assert_eq!(
        (&output(one)["value"], &output(three)["value"]),
        (&json!(1), &json!(3)),
        "{}",
        story(&log)
    );
    assert_eq!(reason(two), "unavailable");
}

#[tokio::test]
async fn a_replica_serves_nobody_without_its_token() {
    let replica = Replica::start("127.0.0.1:0");
    let stub = Stub::start().await;
    let app = setup(
        Medium::sqlite(),
        &stub,
        &replica.address,
        "another-token-of-enough-characters",
    )
    .start()
    .await;
    stub.script(decision, [runs("1"), reply("No.")]);
    app.tell("try").await;
    let log = app.public_log().await;
    assert_eq!(reason(results(&log)[0]), "unavailable", "{}", story(&log));
    assert!(
        !app.output().contains(TOKEN) && !story(&log).contains("another-token"),
        "a token was said"
    );
}

#[test]
fn a_replica_that_others_could_reach_does_not_start_without_a_token() {
    let output = command(&Folder::new(), "0.0.0.0:0", &[]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("set a token of 16"),
        "{said}"
    );
}

// Its flag is that of the server, and counts before what is configured.
#[test]
fn a_replica_listens_where_its_flag_says() {
    let folder = Folder::new();
    let mut child = command(&folder, "127.0.0.1:1", &[])
        .args(["--listen", "127.0.0.1:0"])
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        line.contains(" at 127.0.0.1:") && !line.ends_with(":1\n"),
        "it said {line:?}"
    );
    let wrong = command(&folder, "127.0.0.1:0", &[])
        .args(["--listen", "here"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        wrong.status.code() == Some(2) && said.contains("--listen"),
        "{said}"
    );
}
