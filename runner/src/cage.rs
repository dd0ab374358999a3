//! The cage takes rights from a process before it reads untrusted code: new files, sockets,
//! processes, and memory beyond its share. On Linux it also takes every system call that an engine
//! does not need. None of it can be taken back.

use std::fmt::Display;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, nice, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::request::Limits;

/// Memory of the process itself and of its copies, beside the values of the code.
const OWN_BYTES: u64 = 64 << 20;

/// Names of the limits that the kernel refused.
#[derive(Default)]
struct Kept(Vec<String>);

impl Kept {
    fn give_up(&mut self, what: &str, result: Result<(), impl Display>) {
        if let Err(error) = result {
            self.0.push(format!("{what} ({error})"));
        }
    }
}

/// Gives up all rights that the kernel lets go, for good, and names the others. Only for a process
/// with one thread.
pub fn enter(limits: &Limits) -> Vec<String> {
    let mut kept = Kept::default();
    kept.give_up("the working directory", std::env::set_current_dir("/"));
    if limits.background {
        // The server goes first where both want to compute. Idle before nice: nobody becomes less nice again.
        #[cfg(target_os = "linux")]
        kept.give_up("its turn before the server's", linux::idle());
        kept.give_up("priority", nice(19).map(drop));
    }
    kept.give_up("memory", limit(Resource::As, address_space(limits)));
    kept.give_up("the size of files", limit(Resource::Fsize, 0));
    kept.give_up("core dumps", limit(Resource::Core, 0));
    kept.give_up("processes", limit(Resource::Nproc, 0));
    #[cfg(target_os = "linux")]
    linux::before_files_go(&mut kept);
    // No file that is open goes away by this, and no new one can be opened.
    kept.give_up("files", limit(Resource::Nofile, 0));
    #[cfg(target_os = "linux")]
    kept.give_up("system calls", linux::filter());
    #[cfg(not(target_os = "linux"))]
    kept.give_up(
        "system calls",
        Err("there is a filter for them on Linux only"),
    );
    kept.0
}

/// Gives up root's rights, and the set from which a program could get some. A process without any has nothing to give up.
#[cfg(target_os = "linux")]
pub fn give_up_capabilities() -> Result<(), String> {
    linux::no_capabilities().map_err(|error| error.to_string())
}

/// Lets the kernel end this process where it computes for longer than a run may, also if its server
/// is gone.
pub(crate) fn compute_until(limits: &Limits) {
    // Whole seconds, and those begun on both sides; the worker's own watch and the server are earlier.
    let until = computed()
        .saturating_add(limits.time)
        .as_secs()
        .saturating_add(3);
    // Where it cannot be set the others still watch.
    let _ = setrlimit(
        Resource::Cpu,
        Rlimit {
            current: Some(until),
            maximum: None,
        },
    );
}

/// Returns the CPU time of this process: a busy machine takes nothing from a run's time.
pub(crate) fn computed() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

fn limit(resource: Resource, most: u64) -> rustix::io::Result<()> {
    let most = Some(most);
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
    setrlimit(resource, limit)
}

/// Returns the memory that is mapped already, mostly the program, and the memory of the run.
fn address_space(limits: &Limits) -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    // Elsewhere than on Linux nobody says what is mapped.
    let mapped = pages.map_or(1 << 40, |pages| {
        pages.saturating_mul(rustix::param::page_size() as u64)
    });
    mapped
        .saturating_add(limits.memory_bytes)
        .saturating_add(OWN_BYTES)
        .saturating_add(limits.output_bytes)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;

    use rustix::io::Errno;
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    use rustix::thread::{
        CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
        set_capabilities,
    };
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule,
    };
    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
        set_thread_priority_and_policy, thread_native_id, thread_schedule_policy,
    };

    use super::Kept;

    /// Lets everything else go first, at once: one that is only nicer computes on for some milliseconds when another one wakes.
    pub(super) fn idle() -> Result<(), thread_priority::Error> {
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        let set = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
        // It also sets how nice it is, which fails where the server itself is nice.
        match thread_schedule_policy() {
            Ok(policy) if policy == idle => Ok(()),
            _ => set,
        }
    }

    /// Limits that are set by writing to a file, and protection from observers.
    pub(super) fn before_files_go(kept: &mut Kept) {
        // Where the machine runs out of memory the kernel ends a worker, not the server.
        let first = std::fs::write("/proc/self/oom_score_adj", "1000");
        kept.give_up("going first where memory ends", first);
        // No other process of this user may look into it or attach to it.
        let hidden = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        kept.give_up("being looked into", hidden);
        // A second wall behind the filter: root without them is nobody in particular.
        kept.give_up("capabilities", no_capabilities());
    }

    pub(super) fn no_capabilities() -> Result<(), Errno> {
        if capabilities(None)?.permitted.is_empty() {
            return Ok(());
        }
        let dropped = (0..u64::BITS)
            .map(|number| {
                remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number))
            })
            .find_map(Result::err);
        let none = CapabilitySet::empty();
        let sets = CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        };
        set_capabilities(None, sets)?;
        match dropped {
            // The first number of which the kernel knows no capability.
            None | Some(Errno::INVAL) => Ok(()),
            Some(error) => Err(error),
        }
    }

    /// Lets only these system calls through; any other kills the process.
    pub(super) fn filter() -> Result<(), String> {
        let architecture = std::env::consts::ARCH
            .try_into()
            .map_err(|error| format!("{error}"))?;
        let filter = rules().and_then(|rules| {
            SeccompFilter::new(
                rules,
                SeccompAction::KillProcess,
                SeccompAction::Allow,
                architecture,
            )
        });
        let program: BpfProgram = filter
            .and_then(TryInto::try_into)
            .map_err(|error| error.to_string())?;
        seccompiler::apply_filter(&program).map_err(|error| error.to_string())
    }

    type Rules = BTreeMap<libc::c_long, Vec<SeccompRule>>;

    /// Reading, writing, memory, the clock, and ending: on open files, and for this process alone.
    fn rules() -> Result<Rules, seccompiler::BackendError> {
        let plain = [
            libc::SYS_read,
            libc::SYS_write,
            libc::SYS_close,
            libc::SYS_munmap,
            libc::SYS_mremap,
            libc::SYS_brk,
            libc::SYS_madvise,
            libc::SYS_futex,
            libc::SYS_getrandom,
            libc::SYS_clock_gettime,
            libc::SYS_gettimeofday,
            libc::SYS_getcpu,
            libc::SYS_getpid,
            libc::SYS_gettid,
            libc::SYS_sched_yield,
            libc::SYS_sigaltstack,
            libc::SYS_rt_sigaction,
            libc::SYS_rt_sigprocmask,
            libc::SYS_rt_sigreturn,
            libc::SYS_restart_syscall,
            libc::SYS_exit,
            libc::SYS_exit_group,
        ];
        let mut rules: Rules = plain.into_iter().map(|call| (call, Vec::new())).collect();
        let no_code = || MaskedEq(u64::from(libc::PROT_EXEC.cast_unsigned()));
        // Memory, but none that could be executed.
        rules.insert(libc::SYS_mmap, vec![rule(&[(2, no_code(), 0)])?]);
        rules.insert(libc::SYS_mprotect, vec![rule(&[(2, no_code(), 0)])?]);
        // `abort` signals itself; nobody else may be signalled.
        let own = u64::from(std::process::id());
        rules.insert(libc::SYS_tgkill, vec![rule(&[(0, Eq, own)])?]);
        // The name of memory that was mapped: an allocator such as mimalloc gives it one, where it needs more than it began with.
        let name = u64::from(libc::PR_SET_VMA.cast_unsigned());
        rules.insert(libc::SYS_prctl, vec![rule(&[(0, Eq, name)])?]);
        // Its own limit of computing, run by run.
        rules.insert(
            libc::SYS_prlimit64,
            vec![rule(&[(0, Eq, 0), (1, Eq, u64::from(libc::RLIMIT_CPU))])?],
        );
        Ok(rules)
    }

    use SeccompCmpOp::{Eq, MaskedEq};

    fn rule(
        arguments: &[(u8, SeccompCmpOp, u64)],
    ) -> Result<SeccompRule, seccompiler::BackendError> {
        let condition = |(index, operator, value): &(u8, SeccompCmpOp, u64)| {
            SeccompCondition::new(*index, SeccompCmpArgLen::Dword, operator.clone(), *value)
        };
        SeccompRule::new(arguments.iter().map(condition).collect::<Result<_, _>>()?)
    }
}
