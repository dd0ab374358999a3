//! Calls at a time: a queue in front of one model of one server. Spaces take turns in it; within a space the decision goes
//! first. Without a configured limit the queue learns one from a server that is busy.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

use super::endpoint::Options;
use super::provider::Prepared;
use super::refusal_text::has_any;
use super::wire::Trouble;
use thinkd_tasks::share::{Place, Places};
use thinkd_words::failure::Who;

/// The name of these places in the metrics.
pub const PLACES: &str = "model_calls";

/// Calls that met a busy server and went back to the queue.
pub const BUSY: &str = "thinkd_model_busy_total";

/// A learned limit doubles after so long without a busy answer.
const LONGER: Duration = Duration::from_mins(1);

/// The longest pause that a busy server may ask for.
const PAUSE_MAX: Duration = Duration::from_mins(1);

/// Queues of the process by base URL and model: two tiers may share a model.
static QUEUES: LazyLock<Mutex<Queues>> = LazyLock::new(Mutex::default);

type Queues = HashMap<(String, String), Weak<AtOnce>>;

/// The queue of one model.
pub struct AtOnce {
    places: Places,
    /// Configured; none: no limit.
    most: u32,
    // A plain mutex: held for a look, never across an await.
    learned: Mutex<Option<Instant>>,
}

impl AtOnce {
    /// Returns the queue of these options: the one that the process has, or a new one.
    pub fn of(options: &Options) -> Arc<Self> {
        let most = options.at_once.map_or(u32::MAX, |most| most.max(1));
        let key = (options.base_url.clone(), options.model.clone());
        let mut queues = QUEUES.lock();
        queues.retain(|_, queue| queue.strong_count() > 0);
        let known = queues.get(&key).and_then(Weak::upgrade);
        if let Some(queue) = known.filter(|queue| queue.most == most) {
            return queue;
        }
        let queue = Arc::new(Self {
            // A space alone may have them all.
            places: Places::new(PLACES, most, 1.0),
            most,
            learned: Mutex::default(),
        });
        queues.insert(key, Arc::downgrade(&queue));
        queue
    }

    /// Waits for a place for a call.
    pub async fn place(&self, call: &Prepared) -> Place {
        self.grow();
        let rank = i64::from(call.module != Who::Decision);
        let _waits = call.waited.begin();
        self.places.take_ranked(&call.space, rank).await
    }

    /// Takes a place back from a call that met a busy server, and waits for another one. Returns the place where no other call
    /// is under way: then the server is busy for a reason of its own, and the call is tried again like any other.
    pub async fn again(
        &self,
        call: &Prepared,
        place: Place,
        trouble: &Trouble,
    ) -> Result<Place, Place> {
        let under_way = self.places.taken();
        if !is_busy(trouble) || under_way < 2 {
            return Err(place);
        }
        self.places.resize((under_way - 1).min(self.places.all()));
        *self.learned.lock() = Some(Instant::now());
        metrics::counter!(BUSY).increment(1);
        let pause = trouble.pause.map(|pause| pause.min(PAUSE_MAX));
        let until = pause.map(|pause| Instant::now() + pause);
        drop(place);
        let place = self.place(call).await;
        if let Some(until) = until {
            let _waits = call.waited.begin();
            sleep_until(until).await;
        }
        Ok(place)
    }

    /// Lets more calls go at a time again, should the server have become less busy.
    fn grow(&self) {
        let mut learned = self.learned.lock();
        if learned.is_some_and(|at| at.elapsed() >= LONGER) {
            let more = self.places.all().saturating_mul(2).min(self.most);
            *learned = (more < self.most).then(Instant::now);
            self.places.resize(more);
        }
    }
}

/// True where a server says that it has no place for a call just now.
fn is_busy(trouble: &Trouble) -> bool {
    match trouble.failure.detail["status"].as_u64() {
        Some(503 | 529) => true,
        Some(429 | 500) => {
            let busy = "concurren|并发|overload|busy|in-flight|in flight|capacity";
            has_any(&trouble.failure.text.to_lowercase(), busy)
        }
        _ => false,
    }
}
