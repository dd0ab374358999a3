//! The whole, put together: in which order the parts start, and stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use axum::Router;
use secrecy::ExposeSecret as _;
use tokio::net::TcpListener;
use tokio::task::JoinError;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::greeting::{About, greet};
use super::jwks;
use super::key_files::KeyFiles;
use super::parts::{model, open_store, recall};
use super::settings::{Invalid, Settings};
use super::stop::Stop;
use super::telemetry;
use super::{descriptors, orphans};
use thinkd_edge::auth::Authority;
use thinkd_edge::context::{Edge, Parts};
use thinkd_edge::jwt::Tokens;
use thinkd_edge::keys::Keys;
use thinkd_edge::limits::ms;
use thinkd_edge::server;
use thinkd_log::kernel::Store;
use thinkd_mcp::servers::Mcp;
use thinkd_model::prompt::Prompts;
use thinkd_model::provider::Model;
use thinkd_pipelines::registry::Pipelines;
use thinkd_runtime::ground::Ground;
use thinkd_runtime::handle::Runtime;
use thinkd_session::handle::Sessions;
use thinkd_session::kinds::Kinds;
use thinkd_tasks::supervisor::Supervisor;
use thinkd_tools::catalogue::{Audience, Catalogue, DECISIONS};
use thinkd_tools::code::runner::Runner;
use thinkd_tools::supplies::Supplies;
use thinkd_words::secret::shown_url;

/// Time that a server at its end gives the rest of its writes.
const LAST_COMMITS: Duration = Duration::from_secs(5);

/// Serves until a signal, or until a part dies.
pub fn serve(settings: &Settings, pipelines: Pipelines, tools: &Catalogue) -> anyhow::Result<()> {
    serve_with(settings, pipelines, tools, Router::new())
}

/// The same, with the addresses of features.
pub fn serve_with(
    settings: &Settings,
    pipelines: Pipelines,
    tools: &Catalogue,
    routes: Router<Arc<Edge>>,
) -> anyhow::Result<()> {
    let prompts = settings.check_all(tools)?;
    pipelines.check().map_err(Invalid::new)?;
    // Held to the end: what was said last is written, too.
    let log = telemetry::start_log(&settings.log, settings.secrets())?;
    if let Some(warning) = settings.warning() {
        tracing::warn!("{warning}");
    }
    let tools = &settings.switched_on(tools);
    let model = model(&settings.models)?;
    let threads = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let tokens = Tokens::new(&settings.jwt)
        .map_err(Invalid::new)?
        .map(Arc::new);
    let keys = Keys::new(settings.token.clone(), &settings.keys).map_err(Invalid::new)?;
    let following = KeyFiles {
        keys: Arc::new(
            keys.beside_tokens(tokens.is_some())
                .reachable(!settings.listen.ip().is_loopback()),
        ),
        loading: settings.loading.clone(),
        named: settings.keys_file.clone(),
        hidden: log.hidden.clone(),
    };
    let outcome = threads.block_on(run(
        settings,
        prompts,
        model,
        pipelines,
        tools,
        (following, tokens, routes),
    ));
    // Everything that matters has been waited for.
    threads.shutdown_background();
    outcome
}

/// The time after which a start says that it waits for its database.
const SLOW: Duration = Duration::from_secs(2);

/// Opens the store; returns none where a signal ends the start. A migration that had begun is
/// undone, as after a crash.
async fn opened<S>(
    opening: impl Future<Output = anyhow::Result<S>>,
    stop: &mut Stop,
) -> anyhow::Result<Option<S>> {
    let slow = tokio::time::sleep(SLOW);
    tokio::pin!(opening, slow);
    let mut is_told = false;
    loop {
        tokio::select! {
            opened = &mut opening => return opened.map(Some),
            signal = stop.signalled() => {
                tracing::info!(signal, "stopped before the database was open");
                return Ok(None);
            }
            () = &mut slow, if !is_told => {
                is_told = true;
                tracing::info!(
                    "still opening the database: it brings tables up to date, waits for a lock that \
                     another session holds, or for a connection of a pooler"
                );
            }
        }
    }
}

/// Starts from the bottom up, waits, stops from the top down.
async fn run(
    settings: &Settings,
    prompts: Prompts,
    model: Arc<dyn Model>,
    pipelines: Pipelines,
    tools: &Catalogue,
    (key_files, tokens, routes): (KeyFiles, Option<Arc<Tokens>>, Router<Arc<Edge>>),
) -> anyhow::Result<()> {
    // First of all: a signal that comes while starting is not lost.
    let mut stop = Stop::listen()?;
    // The clock of the metrics is measured for some milliseconds; the database opens meanwhile.
    let metrics = tokio::task::spawn_blocking(telemetry::start_metrics);
    let supervisor = Supervisor::default();
    let Some(store) = opened(open_store(settings, &supervisor), &mut stop).await? else {
        return Ok(());
    };
    let metrics = metrics.await??;
    tokio::spawn(supervisor.watch(
        "the upkeep of metrics",
        telemetry::keep_metrics_small(metrics.clone()),
    ));
    let listener = listen(settings.listen).await?;
    let database = shown_url(settings.database.expose_secret());
    let about = About {
        database,
        model: match settings.models.unused() {
            Some(why) => format!("{}; {why}", model.name()),
            None => model.name(),
        },
        pipelines: pipelines.names(),
    };
    let options = settings.runtime(pipelines, &supervisor);
    let supplies = Supplies {
        store: store.clone(),
        prompts: Arc::new(prompts),
        budget: Arc::new(settings.budget.clone()),
        approvals: Arc::new(settings.tools.approvals()),
        limits: settings.tool_limits(),
        recall: Arc::new(recall(settings, store.clone())?),
        code: Arc::new(Runner::new(settings.tools.code.clone())),
        mission: settings.mission.budget(),
    };
    let mut tools = tools.clone();
    let mcp = Arc::new(Mcp::new(&settings.tools.servers(), &supplies)?);
    if !settings.tools.mcp.is_empty() {
        tools = tools.with_shared_source(
            Audience {
                mission: true,
                ..DECISIONS
            },
            mcp.clone(),
        );
    }
    let tools = Arc::new(tools.tools(&supplies, &settings.chosen_tools())?);
    let leave = CancellationToken::new();
    let servers = mcp.start(&leave);
    let ground = Ground::new(supplies, tools, model, settings.history.clone(), options);
    mcp.tells(ground.waker.on_stored());
    let kinds = Kinds::new(&ground);
    let runtime = Runtime::start(ground, kinds.all());
    tokio::spawn(kinds.trials.clone().look_through());
    if orphans::is_first() {
        tokio::spawn(supervisor.watch("the wait for orphans", orphans::reap()?));
    }
    let unseen = settings.tools.unseen();
    if !settings.listen.ip().is_loopback() && !unseen.is_empty() {
        tracing::warn!(
            servers = unseen.join(", "),
            "calls to the tools of these servers run without a person, whatever they do: set approve = \"writes\" of each, \
             or tools.mcp_approve"
        );
    }
    // Whoever should read it may be gone: that is no reason not to serve.
    let _ = greet(settings, listener.local_addr()?, &about);
    let checking = tokio::spawn(supervisor.watch(
        "looking through the log for damage",
        keep_checking(store.clone()),
    ));

    let shutdown = CancellationToken::new();
    let mut options = settings.edge();
    descriptors::bound(&mut options.limits);
    let sessions = Sessions::new(runtime.clone(), kinds, options.space_share());
    let authority = Authority {
        keys: key_files.keys.clone(),
        tokens: tokens.clone(),
    };
    let parts = Parts {
        sessions,
        authority,
        metrics,
        about: about.lines(),
        routes,
    };
    tokio::spawn(supervisor.watch("the keys", key_files.follow()?));
    if let Some(tokens) = tokens {
        tokio::spawn(supervisor.watch("the keys of the issuer", jwks::follow(tokens)?));
    }
    let mut edge = tokio::spawn(server::serve(listener, options, parts, shutdown.clone()));
    let died = tokio::select! {
        signal = stop.signalled() => {
            tracing::info!(signal, "stopping");
            None
        }
        ended = &mut edge => Some(edge_ended(ended)),
        ended = supervisor.ended() => Some(anyhow!(ended)),
    };
    if let Some(why) = &died {
        tracing::error!(
            why = format!("{why:#}"),
            "stopping: a part of the server is dead"
        );
    }
    let going = async {
        shutdown.cancel();
        checking.abort();
        if died.is_none() {
            // Clients are let go while turns come to their end: what those still say is in the log.
            let (edge, ()) = tokio::join!(edge, runtime.drain(ms(settings.runtime.grace_ms)));
            runtime.hand_over().await;
            // Nobody calls their tools any more.
            leave.cancel();
            servers.wait().await;
            edge.context("the boundary failed while it stopped")?
                .map_err(anyhow::Error::msg)?;
        }
        store.close().await;
        anyhow::Ok(())
    };
    // A database that is silent keeps nobody from going.
    let drains = ms(settings.runtime.grace_ms.max(settings.limits.drain_ms));
    let limit = if died.is_none() {
        drains
    } else {
        Duration::ZERO
    } + LAST_COMMITS;
    let going = async {
        timeout(limit, going).await.unwrap_or_else(|_| {
            tracing::warn!(
                "the database was not closed in order; nothing that was acknowledged is lost"
            );
            Ok(())
        })
    };
    tokio::select! {
        gone = going => gone?,
        signal = stop.signalled_again() => anyhow::bail!("{signal} again: stopped at once; what was under way is taken up at the next start"),
    }
    died.map_or(Ok(()), Err)
}

/// Returns the error that ended the boundary, which takes the requests.
fn edge_ended(ended: Result<Result<(), String>, JoinError>) -> anyhow::Error {
    match ended {
        Err(error) => anyhow!("the boundary failed: {error}"),
        Ok(Err(error)) => anyhow!("the boundary failed: {error}"),
        Ok(Ok(())) => anyhow!("the boundary ended by itself"),
    }
}

/// When the whole log is looked at: soon after a start, then from time to time, and slowly. Some thousand events a second.
const CHECK_AFTER: Duration = Duration::from_secs(1);
const CHECK_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
const CHECK_PAUSE: Duration = Duration::from_millis(50);

/// Looks for damage in the store, as long as the server lives.
async fn keep_checking(store: Arc<dyn Store>) {
    tokio::time::sleep(CHECK_AFTER).await;
    loop {
        if let Err(error) = store.check(CHECK_PAUSE).await {
            tracing::warn!(%error, "the log could not be looked through for damage; it is tried again in a day");
        }
        tokio::time::sleep(CHECK_EVERY).await;
    }
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!(
            "cannot listen on {address} (choose another address with --listen or THINKD_LISTEN)"
        )
    })
}
