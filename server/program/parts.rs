//! The parts that configuration names: which store, which models.

use std::sync::Arc;

use anyhow::Context as _;
use secrecy::ExposeSecret as _;

use super::settings::{self, Invalid, Settings};
use thinkd_log::kernel::Store;
use thinkd_log::store;
use thinkd_log::thread_row::ThreadRow;
use thinkd_model::embedding::{Embedder, Embeddings};
use thinkd_model::endpoint;
use thinkd_model::metered::metered;
use thinkd_model::models::Models;
use thinkd_model::offline::Offline;
use thinkd_model::openai::OpenAi;
use thinkd_model::provider::Model;
use thinkd_recall::finder::Recall;
use thinkd_tasks::supervisor::Supervisor;
use thinkd_words::secret::shown_url;

/// The configured store, its tables made or brought up to date.
pub async fn open_store(
    settings: &Settings,
    supervisor: &Supervisor,
) -> anyhow::Result<Arc<dyn Store>> {
    settings.check_database()?;
    let url = settings.database.expose_secret();
    let store = store::open(url, settings.store(supervisor), ThreadRow::apply).await;
    store.with_context(|| format!("database {}", shown_url(url)))
}

/// The configured models, or the built-in one.
pub fn model(models: &settings::Models) -> Result<Arc<dyn Model>, Invalid> {
    let tier = |options: &Option<endpoint::Options>| options.as_ref().map(openai).transpose();
    let offline = || Models::new(Some(Arc::new(Offline::new())), None);
    let Some(mut all) = Models::new(tier(&models.low)?, tier(&models.high)?).or_else(offline)
    else {
        return Err(Invalid::new("no model to ask"));
    };
    for (module, options) in &models.modules {
        all = all.with_module(module, openai(options)?);
    }
    Ok(metered(Arc::new(all)))
}

/// Returns the recall: with the configured model for vectors, or the built-in one.
pub fn recall(settings: &Settings, store: Arc<dyn Store>) -> Result<Recall, Invalid> {
    let recall = Recall::new(store, settings.recall(), settings.edge().space_share());
    Ok(match embeddings(settings)? {
        Some(embeddings) => recall.with_model(embeddings),
        None => recall,
    })
}

/// The configured model for vectors, if there is one.
pub fn embeddings(settings: &Settings) -> Result<Option<Arc<dyn Embedder>>, Invalid> {
    let of = |options: &endpoint::Options| {
        Embeddings::new(options.clone()).map(|it| Arc::new(it) as Arc<dyn Embedder>)
    };
    settings
        .models
        .embedding
        .as_ref()
        .map(of)
        .transpose()
        .map_err(|failure| Invalid::new(failure.to_string()))
}

/// A model behind an endpoint.
pub fn openai(options: &endpoint::Options) -> Result<Arc<dyn Model>, Invalid> {
    Ok(Arc::new(
        OpenAi::new(options.clone()).map_err(|failure| Invalid::new(failure.to_string()))?,
    ))
}
