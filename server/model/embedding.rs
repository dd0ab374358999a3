//! Asking a model for vectors: the trait, and the endpoints that speak as OpenAI's `/embeddings`
//! does. The answer of an endpoint is data: it is bounded, and counted, and no number that is none
//! gets through.

use std::time::Duration;

use async_trait::async_trait;
use metrics::counter;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout_at};

use super::endpoint::Options;
use super::openai::backoff;
use super::wire::{Trouble, Wire};
use thinkd_words::failure::{Failure, FailureKind};

/// Most texts of one call.
pub const TEXTS_MAX: usize = 64;
/// Most numbers of a vector.
pub const DIMENSIONS_MAX: usize = 8192;
/// Most bytes of an answer: 64 vectors of 8192 numbers, written out, are about half of it.
const ANSWER_MAX: usize = 24 << 20;
/// Longest pause that an endpoint may ask for.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Calls, by `outcome` (`done`, `failed`).
pub const CALLS: &str = "thinkd_embedding_calls_total";
/// Texts that got a vector.
pub const TEXTS: &str = "thinkd_embedding_texts_total";

/// Makes vectors of texts.
#[async_trait]
pub trait Embedder: Send + Sync + 'static {
    /// The name of the model: vectors of two models have nothing to do with each other.
    fn model(&self) -> &str;

    /// The vectors of these texts, in their order, all of the same length; at most [`TEXTS_MAX`] texts.
    /// Fails where the model cannot be asked, or answers anything else: a failure that is retryable may pass by itself.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Failure>;
}

/// A model for vectors behind an endpoint.
pub struct Embeddings {
    options: Options,
    wire: Wire,
}

impl Embeddings {
    /// Fails where the options name no endpoint that can be asked.
    pub fn new(options: Options) -> Result<Self, Failure> {
        Ok(Self {
            wire: Wire::new(&options)?,
            options,
        })
    }

    /// One try.
    async fn once(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Trouble> {
        let mut body = self.options.parameters.clone();
        body.extend([
            ("model".into(), json!(self.options.model)),
            ("input".into(), json!(texts)),
        ]);
        let body = serde_json::Value::Object(body).to_string().into_bytes();
        let answer = self.wire.post("/embeddings", body, ANSWER_MAX).await?;
        self.read(&answer, texts.len()).map_err(Trouble::from)
    }

    /// The vectors of an answer, where it has one for each text.
    fn read(&self, answer: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, Failure> {
        let refuse = |what: String| Err(self.wire.failure(format_args!("{what}")));
        let Ok(Answer { mut data }) = serde_json::from_slice::<Answer>(answer) else {
            return refuse("answered without vectors: is it a model for embeddings?".into());
        };
        data.sort_by_key(|one| one.index);
        if data.len() != texts
            || data
                .iter()
                .zip(0..)
                .any(|(one, at)| one.index.is_some_and(|index| index != at))
        {
            return refuse(format!(
                "answered with {} vectors for {texts} texts, or numbered them wrongly",
                data.len()
            ));
        }
        let vectors: Vec<Vec<f32>> = data.into_iter().map(|one| one.embedding).collect();
        let dimensions = vectors.first().map_or(0, Vec::len);
        if !(1..=DIMENSIONS_MAX).contains(&dimensions)
            || vectors.iter().any(|vector| vector.len() != dimensions)
        {
            return refuse(format!(
                "answered with vectors of {dimensions} numbers, or of several lengths: one length from 1 to {DIMENSIONS_MAX} can be used"
            ));
        }
        Ok(vectors)
    }

    /// Tries until the vectors are there, a failure that trying again cannot cure, or the tries or the time are used up.
    async fn tried(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Failure> {
        let deadline = Instant::now() + Duration::from_millis(self.options.timeout_ms);
        let mut tries = 1;
        loop {
            let Ok(outcome) = timeout_at(deadline, self.once(texts)).await else {
                let text = format!(
                    "{} did not answer within {} ms",
                    self.wire.name(),
                    self.options.timeout_ms
                );
                return Err(Failure::new(FailureKind::Timeout, text).retryable());
            };
            let Trouble { failure, pause, .. } = match outcome {
                Ok(vectors) => return Ok(vectors),
                Err(trouble) => trouble,
            };
            let pause = pause.map_or_else(
                || backoff(self.options.backoff_ms, tries),
                |pause| pause.min(PAUSE_MAX),
            );
            if !failure.retryable
                || tries > self.options.retries
                || Instant::now() + pause >= deadline
            {
                return Err(failure);
            }
            sleep(pause).await;
            tries += 1;
        }
    }
}

#[async_trait]
impl Embedder for Embeddings {
    fn model(&self) -> &str {
        &self.options.model
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Failure> {
        let outcome = self.tried(texts).await;
        counter!(CALLS, "outcome" => if outcome.is_ok() { "done" } else { "failed" }).increment(1);
        if outcome.is_ok() {
            counter!(TEXTS).increment(texts.len() as u64);
        }
        outcome
    }
}

/// An answer, as far as it is read.
#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedded>,
}

#[derive(Deserialize)]
struct Embedded {
    /// The index of its text; absent: they come in order.
    index: Option<usize>,
    embedding: Vec<f32>,
}
