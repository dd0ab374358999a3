//! A server with pipelines of its own, as any user of thinkd as a library has: this test binary,
//! started once more.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thinkd::model::provider::Tier;
use thinkd::pipelines::host::Host;
use thinkd::pipelines::registry::{self, Pipelines};
use thinkd::program::app;
use thinkd::program::settings::{Flags, Settings, environment};
use thinkd::tools::catalogue;
use thinkd::words::failure::{Failure, FailureKind};
use unhurried::{Context, NodeExecutionError, Run, node};

use kit::*;

const NAME: &str = "pipelines::own::a_server_with_pipelines_of_its_own";

/// A server that has the pipelines below.
pub fn setup(medium: Medium, stub: &Stub) -> Setup {
    let setup = Setup::new(medium, stub).env("THINKD_TEST_PIPELINES", 1);
    setup
        .program(std::env::current_exe().unwrap())
        .arguments(&[NAME, "--exact", "--nocapture"])
}

/// Passes when it is run as a test; is a server when it is started as one.
#[test]
fn a_server_with_pipelines_of_its_own() {
    if std::env::var_os("THINKD_TEST_PIPELINES").is_none() {
        return;
    }
    let _ = rustls::crypto::ring::default_provider().install_default();
    let settings = Settings::load(&Flags::default(), &environment())
        .unwrap()
        .settings;
    app::serve(&settings, all(), &catalogue::built_in()).unwrap();
}

fn all() -> Pipelines {
    registry::built_in()
        .with(
            "steps",
            "Asks the model so many times, one after the other.",
            steps,
        )
        .with("wide", "Asks the model so many times at once.", wide)
        .with("odd", "Does what is not usually done.", odd)
        .with("long", "Gives a text of so many bytes.", long)
        .with("pause", "Takes so many milliseconds.", pause)
        .with(
            "race",
            "Two branches, of which each decides on what it found.",
            race,
        )
        .with(
            "nameless",
            "Flows without names, one after the other, in an order that the model decides.",
            nameless,
        )
}

#[node]
async fn step(so_far: Vec<String>, host: Host) -> Result<Vec<String>, Failure> {
    let answer = host
        .ask(
            Tier::Low,
            "You count.",
            &format!("step {}", so_far.len() + 1),
        )
        .await?;
    Ok([so_far, vec![answer]].concat())
}

async fn steps(
    count: Context<usize>,
    host: Host,
) -> Result<Context<Vec<String>>, NodeExecutionError> {
    let mut steps = Context::new(Vec::new());
    for _ in 0..count.data().await? {
        steps = step(steps, host.clone());
    }
    Ok(steps)
}

#[node]
async fn part(number: usize, host: Host) -> Result<String, Failure> {
    host.ask(Tier::Low, "You count.", &format!("part {number}"))
        .await
}

async fn wide(
    count: Context<usize>,
    host: Host,
) -> Result<Context<Vec<String>>, NodeExecutionError> {
    let parts: Vec<_> = (1..=count.data().await?)
        .map(|number| part(Context::new(number), host.clone()))
        .collect();
    Ok(Context::new(
        futures_util::future::try_join_all(parts.iter().map(Context::data)).await?,
    ))
}

#[node]
async fn found(topic: String, host: Host) -> Result<String, Failure> {
    host.ask(Tier::Low, "You count.", &format!("look at {topic}"))
        .await
}

#[node]
async fn thought(about: String, host: Host) -> Result<String, Failure> {
    host.ask(Tier::Low, "You count.", &format!("think of {about}"))
        .await
}

/// Decides on a partial result. Its first question is the same in every branch.
async fn ponder(topic: String, host: Host) -> Result<String, NodeExecutionError> {
    let draw = found(Context::new("the draw".to_owned()), host.clone()).await?;
    let about = found(Context::new(topic.clone()), host.clone()).await?;
    Ok(format!(
        "{topic}: {draw}, {}",
        thought(Context::new(about), host).await?
    ))
}

async fn race(
    topics: Context<Vec<String>>,
    host: Host,
) -> Result<Context<Vec<String>>, NodeExecutionError> {
    let topics = topics.data().await?;
    let flows = topics
        .into_iter()
        .map(|topic| Run::spawn(topic.clone(), ponder(topic, host.clone())));
    let flows = futures_util::future::join_all(flows.collect::<Vec<_>>()).await;
    // A task that does not end itself is ended by nobody here.
    Ok(Context::new(
        flows
            .into_iter()
            .map(Result::unwrap)
            .collect::<Result<_, _>>()?,
    ))
}

#[node]
async fn lucky(topic: String, host: Host) -> Result<String, Failure> {
    let answer = host
        .ask(Tier::Low, "You count.", &format!("look at {topic}"))
        .await?;
    let no = || Failure::new(FailureKind::Node, format!("no luck with {topic}"));
    if answer == "no" {
        Err(no())
    } else {
        Ok(answer)
    }
}

/// Asks for each topic if it may begin, and goes on with any answer, which is never recorded.
/// Leaves out the topics without luck.
async fn nameless(
    topics: Context<Vec<String>>,
    host: Host,
) -> Result<Context<Vec<String>>, NodeExecutionError> {
    let flows = topics.data().await?.into_iter().map(async |topic| {
        // A failure of the model itself is no pause.
        drop(
            host.ask(Tier::Low, "You count.", &format!("may {topic} begin"))
                .await,
        );
        lucky(Context::new(topic), host.clone()).await.ok()
    });
    let found = futures_util::future::join_all(flows)
        .await
        .into_iter()
        .flatten()
        .collect::<Vec<_>>();
    Ok(Context::new(vec![
        found.join(", "),
        found_last(Context::new(found), host.clone()).await?,
    ]))
}

#[node]
async fn found_last(found: Vec<String>, host: Host) -> Result<String, Failure> {
    host.ask(
        Tier::Low,
        "You count.",
        &format!("close with {}", found.len()),
    )
    .await
}

#[node]
async fn of_length(bytes: usize) -> String {
    "x".repeat(bytes)
}

async fn long(bytes: Context<usize>, _: Host) -> Result<Context<String>, NodeExecutionError> {
    Ok(of_length(bytes))
}

#[node]
async fn after(time: u64) -> u64 {
    // Time is what the node takes.
    tokio::time::sleep(Duration::from_millis(time)).await;
    time
}

async fn pause(time: Context<u64>, _: Host) -> Result<Context<u64>, NodeExecutionError> {
    Ok(after(time))
}

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Oddity {
    /// Builds nodes and reads none.
    OnlyBuild,
    /// A node fails, and the pipeline does without.
    FailAndGoOn,
    /// A node fails.
    Fail,
    /// A node within a node fails.
    FailInside,
    /// A node panics.
    PanicInNode,
    /// The pipeline itself panics.
    Panic,
    /// A node's value is no data.
    NoData,
    /// A node's value is nested deeper than JSON readers go.
    TooDeep,
    /// A node's value has a NUL.
    Nul,
    /// A node that is not to be recorded.
    Transient,
    /// A node into which more values flow than its event names.
    ManyNeeds,
}

#[derive(Clone, Serialize)]
struct Unreadable;

#[node]
async fn fine(_: ()) -> String {
    "fine".to_owned()
}

#[node]
async fn broken(_: ()) -> Result<String, String> {
    Err("it is broken".to_owned())
}

#[node]
async fn around(_: ()) -> Result<String, NodeExecutionError> {
    broken(Context::new(())).await
}

#[node]
async fn panics(_: ()) -> String {
    panic!("a node gave up")
}

#[node]
async fn unreadable(_: ()) -> Unreadable {
    Unreadable
}

#[node]
async fn too_deep(_: ()) -> Value {
    (0..500).fold(Value::Null, |inner, _| Value::from(vec![inner]))
}

#[node]
async fn with_nul(_: ()) -> String {
    "a\0b".to_owned()
}

#[node(transient)]
async fn passing(_: ()) -> String {
    "passing".to_owned()
}

#[node]
async fn counted(all: Vec<String>) -> String {
    all.len().to_string()
}

#[node]
async fn shown(value: Value) -> Value {
    Value::from(value.to_string().len())
}

async fn odd(oddity: Context<Oddity>, _: Host) -> Result<Context<String>, NodeExecutionError> {
    let nothing = Context::new(());
    Ok(match oddity.data().await? {
        Oddity::OnlyBuild => {
            let _never_read = (fine(&nothing), broken(&nothing), panics(&nothing));
            Context::new("built".to_owned())
        }
        Oddity::FailAndGoOn => match broken(&nothing).await {
            Ok(text) => Context::new(text),
            Err(_) => fine(&nothing),
        },
        Oddity::Fail => broken(&nothing),
        Oddity::FailInside => around(&nothing),
        Oddity::PanicInNode => panics(&nothing),
        Oddity::Panic => panic!("the pipeline gave up"),
        Oddity::NoData => {
            unreadable(&nothing).await?;
            fine(&nothing)
        }
        Oddity::TooDeep => Context::new(shown(too_deep(&nothing)).await?.to_string()),
        Oddity::Nul => with_nul(&nothing),
        Oddity::Transient => passing(&nothing),
        Oddity::ManyNeeds => counted((0..70).map(|_| fine(&nothing)).collect::<Vec<_>>()),
    })
}
