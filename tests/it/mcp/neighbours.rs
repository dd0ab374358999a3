//! A program of `tools.mcp` has the user of the server, and sees nothing of it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use kit::*;

/// Tries to read its parent, writes the names of the files that it could read, and ends.
const PROGRAM: &str = "for file in environ mem maps stat; do \
    if head -c 1 /proc/$PPID/$file >/dev/null 2>&1; then echo $file; fi; done >tried.part; \
    ls /proc/$PPID/fd >/dev/null 2>&1 && echo fd >>tried.part; mv tried.part tried";

/// Runs a program as a user without rights: root reads everything.
fn as_somebody(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(program);
    command
}

// SECURITY: a program cannot read the environment of the server, and so neither its keys.
#[tokio::test]
async fn a_program_reads_neither_environment_nor_memory_nor_descriptors_of_the_server() {
    let medium = Medium::sqlite();
    let folder = medium.folder();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder, open.clone()).unwrap();
    let binary = folder.join("thinkd");
    // By a process of its own: a file that another test's child has inherited for writing cannot be run.
    let copied = Command::new("cp")
        .args([Path::new(kit::program()), &binary])
        .status();
    assert!(copied.await.unwrap().success());
    std::fs::set_permissions(&binary, open).unwrap();
    let tries = format!("cd {}; {PROGRAM}", folder.display());
    let settings = format!(
        "listen = \"127.0.0.1:0\"\ntoken = \"a-token-of-a-test\"\n\
         [tools.mcp.p]\ncommand = \"sh\"\nargs = [\"-c\", {tries:?}]\n"
    );
    std::fs::write(folder.join("thinkd.toml"), settings).unwrap();
    let mut server = as_somebody(&binary)
        .current_dir(folder)
        // It refuses settings that it does not know, and tests have some of their own.
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("THINKD_MODELS__LOW__API_KEY", "a-key-of-a-test")
        .env("THINKD_MODELS__LOW__MODEL", "any")
        .env("THINKD_MODELS__LOW__BASE_URL", "http://127.0.0.1:9/v1")
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = within("the address", lines.next_line()).await.unwrap();
    let line = line.unwrap();
    let address = line.rsplit_once(' ').unwrap().1;
    let asked = http::client()
        .get(format!("{address}/tools"))
        .bearer_auth("a-token-of-a-test");
    drop(http::send(asked).await);
    let tried = polled_some("what the program tried", async || {
        std::fs::read_to_string(folder.join("tried")).ok()
    })
    .await;
    // Everybody may read `stat`: the program did look at the server.
    assert_eq!(tried, "stat\n");
}
