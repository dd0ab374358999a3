//! Vectors that a model makes: of questions when they are asked, of statements by a filler for each
//! view (`filling.rs`). A statement's vector is stored by the hash of the text, and is not made
//! again. Where no vectors come in time, recall goes on without them and says why.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::options::Options;
use super::shelf::Slot;
use super::vectors::{Scale, Vector};
use super::view::View;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_model::embedding::Embedder;
use thinkd_tasks::lock::lock;
use thinkd_words::failure::Failure;
use thinkd_words::text::counted;

/// Most questions that are kept with their vectors.
const QUESTIONS: usize = 1000;
/// After a failure the model is left alone for so long; twice as long after each further one.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest time that it is left alone.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Why there are no vectors, in words that are shown.
pub type Why = String;

/// A question as recall takes it.
#[derive(Debug, Clone, Default)]
pub struct Meant {
    /// Its vector, if there is one.
    pub vector: Option<Vector>,
    /// Why vectors say nothing, or not of all statements.
    pub without: Option<Why>,
}

impl Meant {
    fn of(vector: Result<Vector, Why>, without: Option<Why>) -> Self {
        let why = vector.as_ref().err().cloned();
        Self {
            vector: vector.ok(),
            without: why.or(without),
        }
    }
}

/// See the module.
pub struct Meaning {
    pub(super) store: Arc<dyn Store>,
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) options: Options,
    /// The scale of the model; its lock is held while it is measured.
    pub(super) scale: tokio::sync::RwLock<Option<Scale>>,
    /// The questions that were asked last, and their vectors.
    questions: Mutex<VecDeque<(String, Vector)>>,
    trouble: Mutex<Trouble>,
}

/// The last failure of the model, the number of failures in a row, and the time until which the
/// model is left alone.
#[derive(Default)]
struct Trouble {
    failures: u32,
    last: Option<(Why, Instant)>,
}

impl Meaning {
    /// Vectors by this model, kept in this store.
    pub fn new(store: Arc<dyn Store>, embedder: Arc<dyn Embedder>, options: Options) -> Arc<Self> {
        Arc::new(Self {
            store,
            embedder,
            options,
            scale: tokio::sync::RwLock::default(),
            questions: Mutex::default(),
            trouble: Mutex::default(),
        })
    }

    /// The vector of a question, once those of the statements are there as well; without, as far as
    /// they did not come in time.
    pub async fn of(self: &Arc<Self>, slot: &Arc<Slot>, text: &str) -> Meant {
        let until = Instant::now() + self.options.wait;
        let filled = || self.in_time(until, self.filled(slot));
        let asked = self.in_time(until, self.asked(text));
        let (vector, mut is_filled) = tokio::join!(asked, filled());
        // The model was measured anew meanwhile.
        if self.is_stale(slot) {
            is_filled = filled().await;
        }
        Meant::of(vector, self.partly(slot, is_filled))
    }

    /// The same for a view that is made for one question: of its statements the stored vectors are taken, and no others are made.
    pub async fn of_past(self: &Arc<Self>, view: &mut View, text: &str) -> Meant {
        let until = Instant::now() + self.options.wait;
        let vector = match self.in_time(until, self.asked(text)).await {
            Ok(vector) => self.fill_stored(view).await.map(|()| vector),
            why => why,
        };
        let missing = view.missing() as u64;
        let without = || {
            let statements = counted(missing, "statement");
            format!("{statements} of that time without a vector")
        };
        Meant::of(vector, (missing > 0).then(without))
    }

    /// Why vectors of the statements say nothing, or not of all; none: all have one.
    pub async fn without(self: &Arc<Self>, slot: &Arc<Slot>) -> Option<Why> {
        let until = Instant::now() + self.options.wait;
        self.partly(slot, self.in_time(until, self.filled(slot)).await)
    }

    /// Returns the result of work that ends by `until`; otherwise an error that names the limit.
    async fn in_time<T>(
        &self,
        until: Instant,
        work: impl Future<Output = Result<T, Why>>,
    ) -> Result<T, Why> {
        timeout_at(until, work).await.unwrap_or_else(|_| {
            let wait = self.options.wait.as_millis();
            Err(format!("the vectors did not come within {wait} ms"))
        })
    }

    /// Returns how many statements of a view have no vector, and why, where it is not filled.
    fn partly(&self, slot: &Slot, filled: Result<(), Why>) -> Option<Why> {
        let why = filled.err()?;
        let missing = slot.read(View::missing);
        let have = if missing == 1 { "has" } else { "have" };
        let statements = counted(missing as u64, "statement");
        Some(format!("{statements} {have} no vector: {why}"))
    }

    /// The vectors in force in a space, for people; by its view, where one is kept.
    pub fn in_force(&self, slot: Option<&Slot>) -> String {
        let model = self.embedder.model();
        let in_force = match (&lock(&self.trouble).last, self.known_scale()) {
            (Some((why, _)), _) => format!("{model}, not in use now: {why}"),
            (None, Some(scale)) => format!("{model}, {} numbers", scale.dimensions),
            (None, None) => format!("{model}, not asked yet"),
        };
        if slot.is_some_and(|slot| self.is_full(slot) && slot.read(View::missing) > 0) {
            let most = self.options.exact;
            return format!(
                "{in_force}; beyond {most} statements (memory.exact_vectors) none: words and names alone"
            );
        }
        in_force
    }

    /// Returns the vector of a question. The work goes on where no caller waits any more: the next
    /// caller with the same question finds it.
    async fn asked(self: &Arc<Self>, text: &str) -> Result<Vector, Why> {
        let known = |(known, _): &&(String, Vector)| known == text;
        if let Some((_, vector)) = lock(&self.questions).iter().find(known) {
            return Ok(vector.clone());
        }
        self.is_quiet()?;
        let this = self.clone();
        let text = text.to_owned();
        let work = tokio::spawn(async move { this.made(text).await });
        let cut_off = |_| Err("making the vector was cut off".to_owned());
        work.await.unwrap_or_else(cut_off)
    }

    /// Makes the vector of a question, and keeps it for a while.
    async fn made(&self, text: String) -> Result<Vector, Why> {
        let scale = self.scale().await.map_err(|why| self.failed(why))?;
        let made = self.embedded(&[self.as_question(&text)]).await;
        let vector = made.map_err(|why| self.failed(why))?.pop().flatten();
        let without = || format!("{} has no vector for this question", self.embedder.model());
        let vector = vector.ok_or_else(without)?;
        if vector.dimensions() != scale.dimensions {
            // It is another model than it was: what it made is of no use, and it is measured anew.
            *self.scale.write().await = None;
            lock(&self.questions).clear();
            let why = self.other_dimensions(vector.dimensions(), scale.dimensions);
            return Err(self.failed(why));
        }
        let vector = scale.question(vector).ok_or_else(without)?;
        let mut questions = lock(&self.questions);
        questions.push_back((text, vector.clone()));
        if questions.len() > QUESTIONS {
            questions.pop_front();
        }
        Ok(vector)
    }

    pub(super) fn as_question(&self, text: &str) -> String {
        format!("{}{text}", self.options.question_prefix)
    }

    pub(super) fn as_statement(&self, text: &str) -> String {
        format!("{}{text}", self.options.statement_prefix)
    }

    /// Asks the model. Where it refuses some texts, each is tried by itself: one that it cannot take has no vector.
    pub(super) async fn embedded(&self, texts: &[String]) -> Result<Vec<Option<Vector>>, Why> {
        let of = |values: &Vec<f32>| Vector::of(values);
        let mut made = Vec::with_capacity(texts.len());
        match self.embedder.embed(texts).await {
            Ok(vectors) => made.extend(vectors.iter().map(of)),
            Err(failure) if !is_of_texts(&failure) => return Err(failure.text),
            Err(_) => {
                for text in texts {
                    let vectors = self.embedder.embed(std::slice::from_ref(text)).await;
                    made.push(match vectors {
                        Ok(vectors) => vectors.first().and_then(of),
                        Err(failure) if is_of_texts(&failure) => None,
                        Err(failure) => return Err(failure.text),
                    });
                }
            }
        }
        *lock(&self.trouble) = Trouble::default();
        Ok(made)
    }

    /// Why the model is left alone for a while, if it is.
    pub(super) fn is_quiet(&self) -> Result<(), Why> {
        match &lock(&self.trouble).last {
            Some((why, until)) if Instant::now() < *until => Err(why.clone()),
            _ => Ok(()),
        }
    }

    /// Keeps a failure: recalls are told of it, and the model is left alone for a while.
    pub(super) fn failed(&self, why: Why) -> Why {
        let mut trouble = lock(&self.trouble);
        if trouble.last.as_ref().is_none_or(|(known, _)| *known != why) {
            tracing::warn!(
                why,
                "there are no vectors for now: recall goes on by words and names"
            );
        }
        let pause = PAUSE * (1 << trouble.failures.min(10));
        let until = Instant::now() + pause.min(PAUSE_MAX);
        trouble.failures += 1;
        trouble.last = Some((why.clone(), until));
        why
    }
}

/// Returns true if the model refused these texts, and may take others.
fn is_of_texts(failure: &Failure) -> bool {
    let statuses = [400, 413, 422];
    statuses.iter().any(|it| failure.detail["status"] == *it)
}

/// Returns an error of the store, as it is shown.
pub(super) fn told(error: StoreError) -> Why {
    error.to_string()
}
