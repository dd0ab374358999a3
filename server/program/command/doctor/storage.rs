//! The database, the feed and the file; through the server, where one has the file.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;

use super::Report;
use super::clock::Clock;
use super::speed::Submodule;
use crate::program::command::client::{Page, Server};
use crate::program::parts::open_store;
use crate::program::settings::Settings;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::fact::set::Change;
use thinkd_log::appended::{Append, Appended};
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::projections::submodules::SubmoduleRow;
use thinkd_log::query::{Query, Show};
use thinkd_log::store;
use thinkd_log::upkeep::Checked;
use thinkd_session::follow::{Follow, Seen};
use thinkd_session::space::Unserved;
use thinkd_tasks::share::Places;
use thinkd_tasks::supervisor::Supervisor;
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::secret::shown_url;
use thinkd_words::time::Timestamp;

/// The space of the events that are written to try it.
const SPACE: &str = "doctor";
/// Longest wait for a tried store to close.
const CLOSING: Duration = Duration::from_secs(5);
/// By how many seconds the database's clock may differ.
const CLOCK: i64 = 5;

/// Tries them, and notes their clocks.
pub async fn check(
    settings: &Settings,
    server: &Server,
    report: &mut Report,
) -> anyhow::Result<()> {
    let url = settings.database.expose_secret();
    // What cannot be looked at is said when it is opened.
    if store::is_in_use(url).unwrap_or(false) {
        return ask(server, report).await;
    }
    let Some(Tried {
        stores,
        follow,
        event,
        begin,
        took,
    }) = report.check("database", write(settings)).await?
    else {
        return Ok(());
    };
    report.write = Some(took);
    report.look("feed", hear(follow, &event, begin)).await?;
    let store = &stores[0];
    report.submodules = submodules_of(store).await;
    if !store.is_shared() {
        report.look("file", read(store)).await?;
    }
    if let Ok(Ok(found)) = timeout(report.limit, look_at_clocks(store, settings)).await {
        report.clocks.extend(found);
    }
    for store in stores {
        // Nothing is under way that would be lost.
        let _ = timeout(CLOSING, store.close()).await;
    }
    Ok(())
}

/// A store that took a write.
struct Tried {
    /// The one that wrote, and on Postgres another one, as another server would have it.
    stores: Vec<Arc<dyn Store>>,
    /// At the last of them, since before the write.
    follow: Follow,
    event: Event,
    begin: Instant,
    /// From the append to its acknowledgement.
    took: Duration,
}

/// Stores an event in a space of its own, and reads it again.
async fn write(settings: &Settings) -> anyhow::Result<(String, Tried)> {
    let space = Space::parse(SPACE).context("the space of these events")?;
    let mut stores = vec![open_store(settings, &Supervisor::default()).await?];
    if stores[0].is_shared() {
        stores.push(open_store(settings, &Supervisor::default()).await?);
    }
    let writer = stores[0].clone();
    let reader = &stores[stores.len() - 1];
    let pages = Places::new("pages", 1, 1.0);
    let (follow, _) = Follow::start(reader, &pages, &space, Query::default(), None).await?;
    let begin = Instant::now();
    let draft = Draft::set(
        &ThreadId::default(),
        "write",
        Change::Doctor(&json!({ "was": "tried" })),
    );
    let Appended::Stored(placed) = writer.append(Append::free(&space, vec![draft])).await? else {
        bail!("a write that needs no lease was refused for want of one");
    };
    let took = begin.elapsed();
    let first = placed
        .first()
        .context("a write was acknowledged and made no event")?;
    let event = first.shown.event.clone();
    if reader.event(&space, event.event_id).await?.as_ref() != Some(&event) {
        bail!(
            "event {} of the space {SPACE} was acknowledged, but is not in the log as it was written",
            event.seq
        );
    }
    let shown = shown_url(settings.database.expose_secret());
    Ok((
        format!("{shown}: a durable write took {} ms", took.as_millis()),
        Tried {
            stores,
            follow,
            event,
            begin,
            took,
        },
    ))
}

/// The submodules of the space that is served without a key; none: it is new, or cannot be read, which is said elsewhere.
async fn submodules_of(store: &Arc<dyn Store>) -> Option<Vec<Submodule>> {
    let space = Space::default();
    if !store.ever(&space, "set:submodule").await.ok()? {
        return None;
    }
    let rows = store.submodules(&space).await.ok()?;
    let submodule = |row: &SubmoduleRow| Submodule {
        prompt_bytes: row.prompt.len(),
        follow_up: row.follow_up,
    };
    Some(rows.iter().map(submodule).collect())
}

/// Waits until a follower is told of the event.
async fn hear(mut follow: Follow, written: &Event, begin: Instant) -> anyhow::Result<String> {
    loop {
        let Seen::Events { events, .. } = follow.next().await? else {
            continue;
        };
        let is_it = |event: Cow<'_, Event>| event.event_id == written.event_id;
        if events.iter().any(|told| told.event().is_ok_and(is_it)) {
            let seq = written.seq;
            let took = begin.elapsed().as_millis();
            return Ok(format!(
                "a live client was told of event {seq} of the space {SPACE}, which was written to try this, after {took} ms"
            ));
        }
    }
}

/// Reads all that is stored.
async fn read(store: &Arc<dyn Store>) -> anyhow::Result<String> {
    let checked = store.check(Duration::ZERO).await?;
    whole(&checked)
}

fn whole(checked: &Checked) -> anyhow::Result<String> {
    let Checked { events, pages, .. } = checked;
    match checked.faults.as_slice() {
        [] => Ok(format!(
            "all of it can be read: {events} events, {pages} pages"
        )),
        faults => bail!(
            "it is damaged: {}. Stop everything that uses it, keep a copy of it, and restore a backup",
            faults.join("; ")
        ),
    }
}

/// The newest event of the spaces that are configured, and the database's own clock.
async fn look_at_clocks(
    store: &Arc<dyn Store>,
    settings: &Settings,
) -> Result<Vec<Clock>, StoreError> {
    let mut found = Vec::new();
    if let Some(said) = store.clock().await? {
        found.push(Clock::running("the database's", said, CLOCK));
    }
    let mut last: Option<Timestamp> = None;
    let newest = Query {
        show: Show::All,
        limit: 1,
        ..Query::default()
    };
    let spaces = settings.keys.iter().map(|key| key.space.clone());
    let spaces = spaces.chain([Space::default()]).chain(Space::parse(SPACE));
    for space in &Vec::from_iter(spaces) {
        let newest = store.events(space, &newest).await?;
        last = last.max(newest.first().map(|event| event.ts));
    }
    found.extend(last.map(Clock::log));
    Ok(found)
}

/// The server's account of itself, in full, as far as it is needed here.
#[derive(Deserialize)]
struct Readiness {
    unserved: Vec<Unserved>,
    checked: Option<Checked>,
}

#[derive(Deserialize)]
struct Listed {
    prompt: String,
    follow_up: bool,
}

/// Asks the server that has the file.
async fn ask(server: &Server, report: &mut Report) -> anyhow::Result<()> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    if !report.look("server", is_ready(server, &client)).await? {
        return Ok(());
    }
    report.look("file", in_full(server, &client)).await?;
    let all = [("limit", "500".to_owned())];
    let submodules = server.ask::<Page<Listed>>(&client, "/submodules", &all);
    if let Ok(Ok(Page { items, .. })) = timeout(report.limit, submodules).await {
        let submodule = |it: &Listed| Submodule {
            prompt_bytes: it.prompt.len(),
            follow_up: it.follow_up,
        };
        report.submodules = Some(items.iter().map(submodule).collect());
    }
    let limit = [("limit", "1".to_owned())];
    let newest = server.ask::<Page<Event>>(&client, "/events", &limit);
    if let Ok(Ok(page)) = timeout(report.limit, newest).await {
        let newest = page.items.first();
        report
            .clocks
            .extend(newest.map(|event| Clock::log(event.ts)));
    }
    Ok(())
}

async fn is_ready(server: &Server, client: &reqwest::Client) -> anyhow::Result<String> {
    let base = &server.base;
    let nobody = || {
        format!(
            "another thinkd has this database open, and none answers at {base}: say with --url where it listens, or stop it and \
             ask again"
        )
    };
    let answer = client.get(format!("{base}/readyz")).send().await;
    let answer = answer.map_err(|_| anyhow!(nobody()))?;
    let not_ready = "the server that has the database open is not ready";
    if let Err(error) = server.accepted(answer).await {
        // Why, it tells an admin.
        let full = server.get(client, "/readyz?full=true").send().await?;
        if matches!(full.status().as_u16(), 401 | 403) {
            return Err(error.context(format!(
                "{not_ready} (why, it tells an admin: --token, or THINKD_TOKEN)"
            )));
        }
        server.accepted(full).await.context(not_ready)?;
    }
    Ok(format!(
        "another thinkd has this database open; the one at {base} is ready, and takes writes"
    ))
}

async fn in_full(server: &Server, client: &reqwest::Client) -> anyhow::Result<String> {
    let answer = server.get(client, "/readyz?full=true").send().await?;
    if matches!(answer.status().as_u16(), 401 | 403) {
        let text = "not looked at: what the server found in it, it tells an admin (--token, or THINKD_TOKEN)";
        return Ok(text.to_owned());
    }
    let Readiness { unserved, checked } = server.accepted(answer).await?.json().await?;
    if !unserved.is_empty() {
        let each = unserved
            .iter()
            .map(|it| format!("the {} of the space {}: {}", it.work, it.space, it.reason));
        bail!(
            "the server cannot go on with {}",
            Vec::from_iter(each).join("; ")
        );
    }
    match checked {
        Some(checked) => {
            let at = checked.at;
            Ok(format!("{}, the server found at {at}", whole(&checked)?))
        }
        None => {
            Ok("the server has not looked through it yet; it does soon after its start".to_owned())
        }
    }
}
