//! Vectors that a model makes: of questions when they are asked, of statements by a filler for each view (`filling.rs`). What a model made
//! once is stored by the hash of the text, and is not made again. Where no vectors come in time, recall goes on without them and says why.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use tokio::time::{timeout, timeout_at};

use super::meant::Meant;
use super::shelf::Slot;
use super::vectors::{Scale, Vector};
use super::view::View;
use crate::log::kernel::Store;
use crate::log::vectors::{Hash, Maker, VectorChange};
use crate::model::embedding::{Embedder, TEXTS_MAX};
use crate::words::failure::Failure;
use crate::words::text::counted;

/// Questions whose vectors are kept.
const QUESTIONS: usize = 1000;
/// After a failure the model is left alone for so long; twice as long after each further one.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest time that it is left alone.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// How a model makes vectors.
#[derive(Debug, Clone)]
pub struct Options {
    /// What it is sent before a question.
    pub question_prefix: String,
    /// What it is sent before a statement.
    pub statement_prefix: String,
    /// How long a recall waits for it.
    pub wait: Duration,
    /// Most vectors of a space that are kept in memory and scanned. Words and names alone find
    /// statements beyond them.
    pub exact: usize,
}

impl Default for Options {
    fn default() -> Self {
        let none = String::new();
        Self {
            question_prefix: none.clone(),
            statement_prefix: none,
            wait: Duration::from_secs(2),
            exact: 500_000,
        }
    }
}

/// Why there are no vectors, in words that are shown.
pub type Why = String;

/// See the module.
pub struct Meaning {
    pub(super) store: Arc<dyn Store>,
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) options: Options,
    /// Held by whoever measures the model.
    pub(super) measuring: tokio::sync::Mutex<()>,
    // Plain mutexes: held for a look-up, never across an await.
    pub(super) scale: Mutex<Option<Scale>>,
    questions: Mutex<Questions>,
    pub(super) trouble: Mutex<Trouble>,
}

/// The questions that were asked last, and their vectors.
#[derive(Default)]
struct Questions {
    vectors: HashMap<String, Vector>,
    order: VecDeque<String>,
}

/// What the model failed with last, how often in a row, and until when it is left alone.
#[derive(Default)]
pub(super) struct Trouble {
    failures: u32,
    pub(super) last: Option<(Why, Instant)>,
}

impl Meaning {
    /// Vectors by this model, kept in this store.
    pub fn new(store: Arc<dyn Store>, embedder: Arc<dyn Embedder>, options: Options) -> Arc<Self> {
        Arc::new(Self {
            store,
            embedder,
            options,
            measuring: tokio::sync::Mutex::default(),
            scale: Mutex::default(),
            questions: Mutex::default(),
            trouble: Mutex::default(),
        })
    }

    /// The vector of a question, once those of the statements are there as well; without, as far as
    /// they did not come in time.
    pub async fn of(self: &Arc<Self>, slot: &Arc<Slot>, text: &str) -> Meant {
        let until = tokio::time::Instant::now() + self.options.wait;
        let (vector, filled) = tokio::join!(
            timeout_at(until, self.asked(text)),
            timeout_at(until, self.filled(slot))
        );
        // The model was measured anew meanwhile.
        let filled = if self.is_stale(slot) {
            timeout_at(until, self.filled(slot)).await
        } else {
            filled
        };
        let vector = match vector.unwrap_or_else(|_| Err(self.late())) {
            Ok(vector) => vector,
            Err(why) => {
                return Meant {
                    without: Some(why),
                    ..Meant::default()
                };
            }
        };
        let filled = filled.unwrap_or_else(|_| Err(self.late()));
        Meant {
            vector: Some(vector),
            without: filled.err().map(|why| self.partly(slot, &why)),
        }
    }

    /// The same for a view that is made for one question: of its statements the stored vectors are taken, and no others are made.
    pub async fn of_past(self: &Arc<Self>, view: &mut View, text: &str) -> Meant {
        let asked = timeout(self.options.wait, self.asked(text)).await;
        let found = match asked.unwrap_or_else(|_| Err(self.late())) {
            Ok(vector) => self.fill_stored(view).await.map(|()| vector),
            Err(why) => Err(why),
        };
        match found {
            Ok(vector) => {
                let missing = Some(view.missing()).filter(|missing| *missing > 0);
                let without = missing.map(|missing| {
                    format!(
                        "{} of that time without a vector",
                        counted(missing as u64, "statement")
                    )
                });
                Meant {
                    vector: Some(vector),
                    without,
                }
            }
            Err(why) => Meant {
                without: Some(why),
                ..Meant::default()
            },
        }
    }

    pub(super) fn late(&self) -> Why {
        let wait = self.options.wait.as_millis();
        format!("the vectors did not come within {wait} ms (memory.vectors_wait_ms)")
    }

    pub(super) fn partly(&self, slot: &Slot, why: &str) -> Why {
        let missing = slot.read(View::missing);
        let have = if missing == 1 { "has" } else { "have" };
        format!(
            "{} {have} no vector: {why}",
            counted(missing as u64, "statement")
        )
    }

    /// The vector of a question. The work goes on where nobody waits any more: whoever asks the same next finds it.
    async fn asked(self: &Arc<Self>, text: &str) -> Result<Vector, Why> {
        if let Some(known) = lock(&self.questions).vectors.get(text) {
            return Ok(known.clone());
        }
        self.is_quiet()?;
        let (this, text) = (self.clone(), text.to_owned());
        let work = tokio::spawn(async move {
            let sent = vec![format!("{}{text}", this.options.question_prefix)];
            let made = async {
                Ok((
                    this.scale().await?,
                    this.embedded(&sent).await?.pop().flatten(),
                ))
            };
            let (scale, vector) = made.await.map_err(|why| this.failed(why))?;
            let without = || format!("{} has no vector for this question", this.embedder.model());
            let vector = vector.ok_or_else(without)?;
            if vector.dimensions() != scale.dimensions {
                // It is another model than it was: what it made is of no use, and it is measured anew.
                *lock(&this.scale) = None;
                *lock(&this.questions) = Questions::default();
                return Err(
                    this.failed(this.other_dimensions(vector.dimensions(), scale.dimensions))
                );
            }
            let vector = scale.question(vector).ok_or_else(without)?;
            lock(&this.questions).keep(text, &vector);
            Ok(vector)
        });
        work.await
            .unwrap_or_else(|_| Err("making the vector was cut off".to_owned()))
    }

    pub(super) fn as_statement(&self, text: &str) -> String {
        format!("{}{text}", self.options.statement_prefix)
    }

    pub(super) fn maker(&self, scale: &Scale) -> Maker {
        let dimensions = u32::try_from(scale.dimensions).unwrap_or(u32::MAX);
        Maker {
            model: self.embedder.model().to_owned(),
            dimensions,
        }
    }

    /// Those that are stored, by their hashes, as they are compared: at most a page.
    pub(super) async fn stored(
        &self,
        scale: &Scale,
        hashes: &[Hash],
    ) -> Result<HashMap<Hash, Vector>, Why> {
        let stored = self
            .store
            .vectors(&self.maker(scale), hashes)
            .await
            .map_err(|error| error.to_string())?;
        let vector = |bytes: &[u8]| scale.statement(Vector::from_bytes(bytes)?);
        Ok(stored
            .into_iter()
            .filter_map(|(hash, bytes)| Some((hash, vector(&bytes)?)))
            .collect())
    }

    /// The vectors of some texts, in their order: those that are stored, and the others made and stored. None where the model has none for a text.
    pub(super) async fn vectors(
        &self,
        scale: &Scale,
        texts: &[String],
    ) -> Result<Vec<Option<Vector>>, Why> {
        let hashes: Vec<Hash> = texts.iter().map(|text| hash(text)).collect();
        let mut known = self.stored(scale, &hashes).await?;
        let unknown: Vec<(&Hash, &String)> = hashes
            .iter()
            .zip(texts)
            .filter(|(it, _)| !known.contains_key(*it))
            .collect();
        for some in unknown.chunks(TEXTS_MAX) {
            let sent: Vec<String> = some.iter().map(|(_, text)| (*text).clone()).collect();
            let made = self.embedded(&sent).await?;
            let made = some
                .iter()
                .zip(made)
                .filter_map(|((hash, _), vector)| Some((**hash, vector?)));
            let made: Vec<(Hash, Vector)> = made
                .filter(|(_, it)| it.dimensions() == scale.dimensions)
                .collect();
            let rows = made
                .iter()
                .map(|(hash, vector)| (*hash, vector.to_bytes()))
                .collect();
            let put = self
                .store
                .change_vectors(VectorChange::Put(self.maker(scale), rows))
                .await;
            put.map_err(|error| error.to_string())?;
            known.extend(
                made.into_iter()
                    .filter_map(|(hash, vector)| Some((hash, scale.statement(vector)?))),
            );
        }
        Ok(hashes.iter().map(|hash| known.get(hash).cloned()).collect())
    }

    /// Asks the model. Where it refuses some texts, each is tried by itself: one that it cannot take has no vector.
    pub(super) async fn embedded(&self, texts: &[String]) -> Result<Vec<Option<Vector>>, Why> {
        let made = match self.embedder.embed(texts).await {
            Ok(vectors) => vectors.iter().map(|values| Vector::of(values)).collect(),
            Err(failure) if is_of_texts(&failure) => {
                let mut made = Vec::with_capacity(texts.len());
                for text in texts {
                    made.push(
                        match self.embedder.embed(std::slice::from_ref(text)).await {
                            Ok(vectors) => vectors.first().and_then(|values| Vector::of(values)),
                            Err(failure) if is_of_texts(&failure) => None,
                            Err(failure) => return Err(failure.text),
                        },
                    );
                }
                made
            }
            Err(failure) => return Err(failure.text),
        };
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

    /// Keeps what went wrong: recalls are told so, and the model is left alone for a while.
    pub(super) fn failed(&self, why: Why) -> Why {
        let mut trouble = lock(&self.trouble);
        if trouble.last.as_ref().is_none_or(|(known, _)| *known != why) {
            tracing::warn!(
                why,
                "there are no vectors for now: recall goes on by words and names"
            );
        }
        let pause = PAUSE
            .saturating_mul(1 << trouble.failures.min(10))
            .min(PAUSE_MAX);
        trouble.failures += 1;
        trouble.last = Some((why.clone(), Instant::now() + pause));
        why
    }
}

impl Questions {
    fn keep(&mut self, text: String, vector: &Vector) {
        if self.vectors.insert(text.clone(), vector.clone()).is_none() {
            self.order.push_back(text);
        }
        if self.order.len() > QUESTIONS
            && let Some(oldest) = self.order.pop_front()
        {
            self.vectors.remove(&oldest);
        }
    }
}

/// Whether it was refused for what the texts are, and others may be taken.
fn is_of_texts(failure: &Failure) -> bool {
    [400, 413, 422]
        .iter()
        .any(|status| failure.detail["status"] == *status)
}

pub(super) fn hash(text: &str) -> Hash {
    Sha256::digest(text).into()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while such a short lock was held left nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
