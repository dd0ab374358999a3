//! The program: everything it can do is in `thinkd::program::command`.

/// Tasks free memory on one thread that another thread allocated, all the time; glibc's allocator
/// takes a fifth of a turn for that.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    thinkd::program::command::run(
        thinkd::pipelines::registry::built_in(),
        thinkd::tools::catalogue::built_in(),
    )
}
