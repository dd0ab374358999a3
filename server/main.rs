//! The program: everything it can do is in `thinkd::command`.

/// Tasks free on one thread what another one made, all the time; glibc's allocator takes a fifth of a turn for that.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[global_allocator]
static MEMORY: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    thinkd::command::run(thinkd::pipelines::built_in())
}
