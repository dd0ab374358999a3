//! `thinkd reembed`: makes the vectors of all that is held anew, after a change of the model for vectors.

use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use secrecy::ExposeSecret as _;

use crate::program::output::say;
use crate::program::parts;
use crate::program::settings::Settings;
use thinkd_log::store;
use thinkd_log::vectors::Maker;
use thinkd_recall::filling::Made;
use thinkd_recall::meaning::Meaning;
use thinkd_tasks::supervisor::Supervisor;
use thinkd_words::id::Space;
use thinkd_words::secret::shown_url;

/// Interval between two reports of progress.
const TOLD: Duration = Duration::from_secs(2);

/// Makes them, and says how far it is.
pub async fn run(settings: &Settings) -> anyhow::Result<()> {
    let Some(embeddings) = parts::embeddings(settings)? else {
        bail!(
            "no model for vectors is configured (models.embedding); recall goes by words and names, and no vectors are stored"
        );
    };
    settings.check_database()?;
    let url = settings.database.expose_secret();
    if store::is_in_use(url)? {
        bail!(
            "a server has the database {} open, and an SQLite file is for one process: stop the server, run this again, and start it with the same \
             configuration; or start it at once: it makes the vectors of a space when somebody recalls there",
            shown_url(url)
        );
    }
    let store = parts::open_store(settings, &Supervisor::default()).await?;
    let meaning = Meaning::new(store.clone(), embeddings, settings.recall());
    let mut told = Instant::now();
    let made = meaning.reembed(|space: &Space, made: &Made, is_whole: bool| {
        if is_whole || told.elapsed() >= TOLD {
            told = Instant::now();
            let why = made.why.iter().map(|why| format!(": {why}"));
            // Whoever should read it may be gone: the work goes on.
            let _ = say(format_args!(
                "{space}: {} statements, {} vectors made, {} without one{}",
                made.statements,
                made.made,
                made.without,
                why.collect::<String>()
            ));
        }
    });
    let made = made.await;
    store.close().await;
    let Maker { model, dimensions } =
        made.map_err(|why| anyhow!("{why}; what was made is kept: run it again"))?;
    Ok(say(format_args!(
        "all vectors are those of {model}, of {dimensions} numbers; those of other models are gone"
    ))?)
}
