//! `/models`: the models that this server asks, and the habits that were learned of each.

use serde::Serialize;
use utoipa::ToSchema;

use super::Answer;
use super::needs::{Needs, Read};
use super::params::NoParams;
use thinkd_model::habits::Learned;
use thinkd_words::time::Timestamp;

resource! {
    /// See the module.
    RESOURCE tagged "models": "The models that are asked";
    "/models" => get(list);
}

/// The models that this server asks.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelList {
    /// The models, the one of the tier `low` first. Empty: the built-in offline model answers.
    pub items: Vec<ModelItem>,
}

/// A model.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelItem {
    /// The model and its endpoint, without secrets.
    #[schema(example = "model qwen3:4b at http://localhost:11434/v1")]
    pub name: String,
    /// Its askers: tiers, and modules with a model of their own.
    #[schema(example = json!(["low", "high"]))]
    pub askers: Vec<String>,
    /// The habits that its answers and refusals showed in the last day.
    pub learned: Vec<ModelHabit>,
}

/// A habit of a model at its endpoint.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelHabit {
    /// The habit, as the predicate of a sentence about the model.
    #[schema(example = "refuses `tool_choice`, which is left out")]
    pub habit: String,
    /// The failure that showed it, with the provider's words; null: an answer showed it.
    pub words: Option<String>,
    /// The time when it was learned. It is forgotten a day later.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.000000Z")]
    pub since: Timestamp,
}

impl From<Learned> for ModelHabit {
    fn from(learned: Learned) -> Self {
        let words = (!learned.words.is_empty()).then_some(learned.words);
        Self {
            habit: learned.habit.sentence(),
            words,
            since: learned.since,
        }
    }
}

/// Lists the models and the habits learned of them
#[utoipa::path(get, path = "/models", operation_id = "list_models", tag = "models", responses((status = 200, body = ModelList)))]
async fn list(session: Needs<Read>, _: NoParams) -> Answer<ModelList> {
    let items = session.models()?.into_iter().map(|known| ModelItem {
        name: known.name,
        askers: known.of,
        learned: known.learned.into_iter().map(ModelHabit::from).collect(),
    });
    Ok(axum::Json(ModelList {
        items: items.collect(),
    }))
}
