//! A program of tools ends with the server, however that ends, and so does all that it started; and process 1 waits for every orphan.

use std::time::Duration;

use super::*;

/// Starts four more, of which two leave its group and two are orphans, writes the numbers of all, and looks at no input.
const MULTIPLIES: &str = r#"
trap '' TERM HUP
more() { sh -c 'trap "" TERM HUP; echo $$ >>numbers.part; exec sleep 600'; }
more & (more &)
setsid sh -c 'trap "" TERM HUP; echo $$ >>numbers.part; exec sleep 600' &
(setsid sh -c 'trap "" TERM HUP; echo $$ >>numbers.part; exec sleep 600' &)
echo $$ >>numbers.part
grep Cap /proc/self/status >capabilities
while [ "$(wc -l <numbers.part)" -lt 5 ]; do sleep 0.01; done
mv numbers.part numbers
while :; do sleep 600; done
"#;

async fn multiplied(script: &str) -> (App, Vec<String>) {
    let stub = Stub::start().await;
    stub.on(decision, reply("yes"));
    let app = Setup::new(Medium::sqlite(), &stub)
        .file(
            "thinkd.toml",
            "[tools.mcp.sh]\ncommand = \"sh\"\nargs = [\"server.sh\"]\n",
        )
        .file("server.sh", script)
        .env("PATH", std::env::var("PATH").unwrap())
        .start()
        .await;
    let asked = app.get("/tools");
    let numbers = async {
        let file = app.folder().join("numbers");
        polled_some("the numbers of the processes", async || {
            let text = std::fs::read_to_string(&file).ok()?;
            Some(text.lines().map(str::to_owned).collect())
        })
        .await
    };
    let (_, numbers) = tokio::join!(asked, numbers);
    (app, numbers)
}

/// Returns the processes that have not ended.
fn there(numbers: &[String]) -> Vec<&String> {
    let is_there = |number: &&String| {
        std::fs::read_to_string(format!("/proc/{number}/stat"))
            .is_ok_and(|stat| !stat.contains(") Z "))
    };
    numbers.iter().filter(is_there).collect()
}

async fn end_within(numbers: &[String], limit: Duration) {
    let ended = polled("the end of the processes", async || {
        there(numbers).is_empty()
    });
    let is_late = tokio::time::timeout(limit, ended).await.is_err();
    assert!(!is_late, "{:?} of {numbers:?} live on", there(numbers));
}

#[tokio::test]
async fn t1_04_a_program_and_what_it_started_end_with_a_killed_server() {
    let (mut app, numbers) = multiplied(MULTIPLIES).await;
    assert_eq!(there(&numbers).len(), 5);
    app.kill();
    end_within(&numbers, Duration::from_secs(2)).await;
}

#[tokio::test]
async fn t1_04_a_program_and_what_it_started_end_with_a_stopped_server() {
    let (mut app, numbers) = multiplied(MULTIPLIES).await;
    app.stop().await;
    end_within(&numbers, Duration::from_secs(2)).await;
}

// A program that ends leaves nothing behind, although the server goes on.
#[tokio::test]
async fn t1_04_what_a_program_started_ends_with_it() {
    let script = MULTIPLIES.replace("while :; do sleep 600; done", "exit 3");
    let (app, numbers) = multiplied(&script).await;
    end_within(&numbers, Duration::from_secs(2)).await;
    assert_eq!(app.get("/livez").await.status, 200);
}

// A wrapper that ignores signals and sends one to its whole group, or a script that signals its parent, ends no launcher.
#[tokio::test]
async fn t1_04_a_launcher_outlives_the_signals_of_its_program() {
    let signals = "for signal in HUP INT QUIT USR1 USR2 ALRM ABRT XCPU TSTP TERM; do kill -s $signal $PPID; done\n\
                   trap '' HUP INT QUIT USR1 USR2; kill -s TERM 0\nwhile :; do sleep 600; done";
    let script = MULTIPLIES.replace("while :; do sleep 600; done", signals);
    let (mut app, numbers) = multiplied(&script).await;
    app.kill();
    end_within(&numbers, Duration::from_secs(2)).await;
}

// Root without capabilities is nobody in particular, and gets none back.
#[tokio::test]
async fn t1_01_a_program_has_no_capability() {
    let (app, _) = multiplied(MULTIPLIES).await;
    let text = std::fs::read_to_string(app.folder().join("capabilities")).unwrap();
    for line in text.lines() {
        let (name, bits) = line.split_once(":\t").unwrap();
        assert!(
            name == "CapBnd" && !is_root() || bits.bytes().all(|bit| bit == b'0'),
            "{text}"
        );
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Starts the server as process 1 of a namespace of its own, beside orphans and with a program that leaves some.
const FIRST: &str = r#"
for number in $(seq 20); do (sleep 0.01 &); (sleep 0.3 &); done
sleep 0.1
exec "$0"
"#;

// The image has no other process that could do it.
#[tokio::test]
async fn process_1_waits_for_what_is_not_its_own() {
    let stub = Stub::start().await;
    let orphans =
        "for number in $(seq 40); do (setsid sleep 0.3 &); done; touch numbers; exec sleep 600";
    let setup = Setup::new(Medium::sqlite(), &stub)
        .file(
            "thinkd.toml",
            "[tools.mcp.sh]\ncommand = \"sh\"\nargs = [\"server.sh\"]\n",
        )
        .file("server.sh", orphans)
        .env("PATH", std::env::var("PATH").unwrap());
    let mut command = tokio::process::Command::new("unshare");
    let user = if is_root() {
        &[][..]
    } else {
        &["--user", "--map-root-user"]
    };
    let mut server = command
        .args(user)
        .args([
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "sh",
            "-c",
            FIRST,
        ])
        .arg(kit::program())
        .env_clear()
        .envs(setup.environment())
        .current_dir(setup.folder())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let line = {
        use tokio::io::AsyncBufReadExt as _;
        let mut lines = tokio::io::BufReader::new(server.stdout.take().unwrap()).lines();
        within("the address", lines.next_line())
            .await
            .unwrap()
            .unwrap()
    };
    let address = line.rsplit_once(' ').unwrap().1;
    drop(http::send(http::client().get(format!("{address}/tools"))).await);
    let first = children(server.id().unwrap())[0];
    polled("the orphans", async || {
        setup.folder().join("numbers").exists()
    })
    .await;
    // Until all have ended.
    let zombies = || {
        let all = children(first);
        let stats = all
            .iter()
            .filter_map(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok());
        stats.filter(|stat| stat.contains(") Z ")).count()
    };
    polled("the end of the last sleep", async || {
        children(first).len() <= 1
    })
    .await;
    assert_eq!(zombies(), 0);
}

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let texts = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let all: Vec<String> = texts.collect();
    all.iter()
        .flat_map(|text| text.split_whitespace())
        .filter_map(|pid| pid.parse().ok())
        .collect()
}
