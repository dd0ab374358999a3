//! The program: everything it can do is in `thinkd::command`.

fn main() -> std::process::ExitCode {
    thinkd::command::run(thinkd::pipelines::built_in())
}
