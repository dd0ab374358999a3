//! A watchdog kills processes that must not outlive the tests: a shell reads from a pipe, and when the pipe closes (the tests
//! ended, or were killed) it kills the processes on its list.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

static SHELL: OnceLock<Mutex<Child>> = OnceLock::new();

/// Reads `+pid` and `-pid`; at the end of its input kills the processes that were added and not
/// taken off.
const SCRIPT: &str = r#"
on=" "
while read -r line; do
    case $line in
        +*) on="$on${line#+} " ;;
        -*) pid=${line#-}; case $on in *" $pid "*) on="${on%%" $pid "*} ${on#*" $pid "}" ;; esac ;;
    esac
done
for pid in $on; do kill -9 "$pid" 2>/dev/null; done
"#;

fn tell(line: &str) {
    let shell = SHELL.get_or_init(|| Mutex::new(guarded(Command::new("sh").args(["-c", SCRIPT]))));
    let mut shell = shell.lock().unwrap_or_else(PoisonError::into_inner);
    // A watchdog that is gone must not fail a test.
    let _ = shell.stdin.as_mut().map(|pipe| writeln!(pipe, "{line}"));
}

/// Ends this process when the tests end.
pub fn watch(pid: u32) {
    tell(&format!("+{pid}"));
}

/// Forgets a process that has ended: another one may have its id soon.
pub fn forget(pid: u32) {
    tell(&format!("-{pid}"));
}

/// Starts a command in a process group of its own (a Ctrl-C at the tests is not for it), its input a pipe held by this process.
pub fn guarded(command: &mut Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap()
}
