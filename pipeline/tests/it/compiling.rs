//! Programs that the compiler accepts or refuses, and its messages. By the compiler itself, on
//! small programs beside this one's library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The newest library of the name that cargo has built for these tests.
fn library(folder: &Path, name: &str) -> PathBuf {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    let ours = files.filter(|file| {
        let file = file.file_name().into_string().unwrap();
        file.starts_with(&format!("lib{name}-")) && file.ends_with(".rlib")
    });
    ours.max_by_key(|file| file.metadata().unwrap().modified().unwrap())
        .unwrap()
        .path()
}

/// Returns the compiler's output about this program: nothing, or its errors and warnings.
fn said_of(program: &str) -> String {
    said_as("unhurried", program)
}

/// The same where the program knows the library by another name.
fn said_as(library_name: &str, program: &str) -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let name = format!(
        "pipeline-{}-{}",
        std::process::id(),
        NUMBER.fetch_add(1, Ordering::SeqCst)
    );
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir(&folder).unwrap();
    let source = folder.join("program.rs");
    std::fs::write(&source, format!("#![allow(dead_code)]\n{program}")).unwrap();
    let libraries = Path::new(&std::env::current_exe().unwrap())
        .parent()
        .unwrap()
        .to_owned();
    let ours = format!(
        "{library_name}={}",
        library(&libraries, "unhurried").display()
    );
    let said = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "lib",
            "--emit",
            "metadata",
            "--color",
            "never",
        ])
        .args(["--extern", &ours])
        .arg("-L")
        .arg(format!("dependency={}", libraries.display()))
        .arg("--out-dir")
        .args([&folder, &source])
        .output()
        .unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    String::from_utf8(said.stderr).unwrap()
}

#[track_caller]
fn accepted(program: &str) {
    assert_eq!(said_of(program), "", "of: {program}");
}

/// Asserts that the program is refused, with each of these words in the output.
#[track_caller]
fn refused(program: &str, words: &[&str]) {
    let said = said_of(program);
    assert!(said.contains("error"), "accepted: {program}\n{said}");
    for word in words {
        assert!(
            said.contains(word),
            "nothing of {word:?} in what is said of: {program}\n{said}"
        );
    }
}

#[test]
fn methods_may_be_called_call_and_clone() {
    accepted(
        "use unhurried::*;
        #[derive(Clone)]
        struct Add(i64);
        #[node]
        impl Add { async fn call(&self, n: i64) -> i64 { n + self.0 } }
        #[derive(Clone)]
        struct Sub(i64);
        #[node]
        impl Sub { pub async fn clone(&self, n: i64) -> i64 { n - self.0 } }
        #[node]
        async fn clone(call: i64, clone: i64) -> i64 { call + clone }
        struct Tool;
        #[replica]
        impl Tool {
            pub fn new() -> Self { Tool }
            pub async fn call(&self, n: i64) -> i64 { n }
            pub fn clone(&self, text: &str) -> Result<String, String> { Ok(text.to_owned()) }
        }
        pub async fn all() {
            let sum: Context<i64> = clone(Add(1).call(Context::new(1)), Sub(1).clone(Context::new(1)));
            let tool = Tool::get().await.unwrap();
            let one: i64 = tool.call(sum.await.unwrap()).await.unwrap();
            let two: String = tool.clone(&one.to_string()).await.unwrap();
            drop(two);
        }",
    );
}

#[test]
fn a_type_of_ones_own_may_be_called_context() {
    accepted(
        "use unhurried::node;
        #[derive(Clone)]
        pub struct Context { pub user: String }
        #[node]
        pub async fn login(user: String) -> Context { Context { user } }
        #[node]
        pub async fn known(context: Context, list: Vec<Context>) -> Result<Option<Context>, String> {
            Ok(list.into_iter().find(|other| other.user == context.user))
        }
        pub fn flow(user: unhurried::Context<String>) -> unhurried::Context<Option<Context>> {
            known(login(user), Vec::<Context>::new())
        }",
    );
}

#[test]
fn a_run_may_be_dropped_and_a_call_that_is_dropped_is_warned_of() {
    let program = |last: &str| {
        format!(
            "use unhurried::*;
            #[node]
            async fn double(n: i64) -> i64 {{ n * 2 }}
            pub async fn flow() -> Result<(), NodeExecutionError> {{
                let four = double(Context::new(2));
                four.run().await?;
                four.blocking_run()?;
                {last}
                Ok(())
            }}"
        )
    };
    accepted(&program(""));
    let said = said_of(&program("double(&four);"));
    assert!(
        said.contains("does nothing until its value is read"),
        "{said}"
    );
}

#[test]
fn a_pending_context_behind_a_pointer_is_refused() {
    let program = |ty: &str, value: &str| {
        format!(
            "use unhurried::*; use std::sync::Arc;
            type Later = Context<i64>;
            type Shared = Arc<Context<i64>>;
            #[node]
            async fn forgets(n: i64) -> {ty} {{ {value} }}"
        )
    };
    for (ty, value) in [
        ("Context<i64>", "Context::new(n)"),
        ("Later", "Context::new(n)"),
        ("Box<Context<i64>>", "Box::new(Context::new(n))"),
        ("Arc<Context<i64>>", "Arc::new(Context::new(n))"),
        ("Arc<Later>", "Arc::new(Context::new(n))"),
        ("Shared", "Arc::new(Context::new(n))"),
        ("Option<Shared>", "Some(Arc::new(Context::new(n)))"),
        (
            "Result<Vec<Box<Later>>, String>",
            "Ok(vec![Box::new(Context::new(n))])",
        ),
        (
            "(i64, Arc<Vec<Context<i64>>>)",
            "(n, Arc::new(vec![Context::new(n)]))",
        ),
    ] {
        refused(
            &program(ty, value),
            &[
                "a pending `Context` is in this one",
                "`.await` it in the body",
            ],
        );
    }
    // Pointers to anything else are plain values.
    for (ty, value) in [
        ("Arc<i64>", "Arc::new(n)"),
        ("Option<Box<Vec<i64>>>", "Some(Box::new(vec![n]))"),
        ("Arc<dyn std::any::Any + Send + Sync>", "Arc::new(n)"),
        ("Box<str>", "n.to_string().into()"),
        (
            "Arc<tokio_like::Notify>",
            "{ let _ = n; Default::default() }",
        ),
    ] {
        let own =
            "mod tokio_like { #[derive(Default)] pub struct Notify(std::marker::PhantomPinned); }";
        accepted(&format!("{} {own}", program(ty, value)));
    }
}

#[test]
fn what_is_lent_may_be_given_where_a_reference_is_taken() {
    accepted(
        "use unhurried::*;
        #[node]
        async fn greet(name: &str, others: &[String], times: &usize) -> String {
            format!(\"{name} {others:?} {times}\")
        }
        pub fn flow(name: &String, list: &Vec<String>, times: Context<usize>) -> [Context<String>; 3] {
            [greet(name, list, &times), greet(name.as_str(), list.as_slice(), &times), greet(\"x\", list.clone(), times)]
        }",
    );
}

#[test]
fn a_parameter_that_cannot_be_one_is_named_with_the_cure() {
    refused(
        "#[unhurried::node] async fn map(n: i64, change: impl Fn(i64) -> i64) -> i64 { change(n) }",
        &[
            "the parameter `change` needs a type with a name",
            "`change: fn(i64) -> i64`",
            "a type parameter with",
        ],
    );
    refused(
        "#[unhurried::node] async fn greet(name: &'static str) -> String { name.to_owned() }",
        &[
            "the parameter `name` is lent for one call only",
            "write `name: &str`",
        ],
    );
    refused(
        "#[unhurried::node] async fn push(list: &mut Vec<i64>) { list.push(1) }",
        &[
            "the parameter `list` is not the caller's own",
            "`mut list: Vec",
        ],
    );
    refused(
        "use unhurried::*;
        type Many = Vec<Context<i64>>;
        #[node] async fn sum(parts: Many) -> usize { parts.len() }",
        &[
            "the parameter `parts` of this node is, or holds, a pending `Context`",
            "name the plain type",
            "parts: Many",
        ],
    );
    refused(
        "use unhurried::*;
        type Many = Vec<Context<i64>>;
        #[node] async fn split(n: i64) -> Many { vec![Context::new(n)] }",
        &[
            "a pending `Context` is in this one",
            "`.await` it in the body",
        ],
    );
    let replica = |method: &str| {
        format!(
            "struct Tool; #[unhurried::replica] impl Tool {{ pub fn new() -> Self {{ Tool }} {method} }}"
        )
    };
    refused(
        &replica("pub fn map(&self, change: impl Fn(i64) -> i64) -> i64 { change(1) }"),
        &[
            "the parameter `change` needs a type with a name",
            "`Serialize` and `Deserialize`",
        ],
    );
    refused(
        &replica("pub fn greet(&self, name: &'static str) -> String { name.to_owned() }"),
        &[
            "the parameter `name` is lent for one call only",
            "write `name: &str`",
        ],
    );
    // The cures work.
    accepted(
        "use unhurried::*;
        #[node] async fn by_pointer(n: i64, change: fn(i64) -> i64) -> i64 { change(n) }
        #[node] async fn by_parameter<F: Fn(i64) -> i64 + Clone + Send + Sync + Unpin + 'static>(n: i64, change: F) -> i64 {
            change(n)
        }
        pub fn flow(n: Context<i64>) -> Context<i64> {
            let by: fn(i64) -> i64 = |n| n + 1;
            by_parameter(by_pointer(n, by), |n: i64| n + 2)
        }",
    );
}

#[test]
fn an_alias_of_result_that_depends_on_a_type_parameter_is_to_be_written_out() {
    let program = |returned: &str| {
        format!(
            "use unhurried::*;
            type ApiResult<T> = Result<T, String>;
            #[node]
            async fn first<T: Value>(list: Vec<T>) -> {returned} {{ list.into_iter().next().ok_or(String::new()) }}"
        )
    };
    accepted(&program("Result<T, String>"));
    refused(
        &program("ApiResult<T>"),
        &["a `Result` by another name", "write `Result<…, …>` out"],
    );
}

/// Under the name `lazy`, as `lazy = { package = "…" }` has it, or from within another library.
#[test]
fn the_library_may_have_another_name() {
    let program = |library: &str, path: &str| {
        format!(
            "{library}
            use {path}::{{Context, Replica, Value}};
            struct Tool;
            #[{path}::replica(crate = {path}, n = 2)]
            impl Tool {{
                pub fn new() -> Self {{ Tool }}
                pub fn shout(&self, text: &str) -> Result<String, String> {{ Ok(text.to_uppercase()) }}
            }}
            #[{path}::node(name = \"shouted\", crate = {path})]
            async fn shout(text: String) -> Result<String, {path}::ReplicaError> {{
                fn within<T: Value>(value: T) -> T {{ value }}
                Tool::get().await?.shout(&within(text)).await
            }}
            #[derive(Clone)]
            struct Add(i64);
            #[{path}::node(crate = {path})]
            impl Add {{ async fn to(&self, n: i64) -> i64 {{ n + self.0 }} }}
            pub fn flow() -> (Context<String>, Context<i64>) {{ (shout(Context::new(String::new())), Add(1).to(Context::new(1))) }}"
        )
    };
    assert_eq!(said_as("lazy", &program("", "lazy")), "");
    assert_eq!(
        said_as(
            "lazy",
            &program(
                "mod within { pub use lazy as ours; }",
                "crate::within::ours"
            )
        ),
        ""
    );
    assert!(
        said_as("lazy", "#[lazy::node] async fn f(n: i64) -> i64 { n }")
            .contains("could not find `unhurried`")
    );
}
