//! A fair semaphore: spaces share places of one kind (turns, readers, pages for catching up, streams). A space holds at most its
//! share of them, and waiters are served space by space, so that a crowd of one tenant costs another at most one place's turn.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use thinkd_words::id::Space;

mod processors;
mod state;

pub use processors::{Processors, Work};
use state::State;

/// The fraction of the places that one space may hold: above 0, at most 1.
pub const SPACE_SHARE: f64 = 0.75;

/// Returns how many processors there are: two at least, for one space leaves one to others.
pub fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
    u32::try_from(cores).unwrap_or(2)
}

/// Places that spaces share; cheap to clone.
#[derive(Clone)]
pub struct Places(Arc<Inner>);

struct Inner {
    of: &'static str,
    share: f64,
    // A plain mutex: held to count, never across an await.
    state: Mutex<State<oneshot::Sender<Place>>>,
}

/// One place; dropping it gives it back.
pub struct Place(Option<(Arc<Inner>, Space)>);

impl Places {
    /// Makes this many places, of which a space may hold the fraction `share` (rounded down, at least one). `of` is their name in the metrics.
    pub fn new(of: &'static str, places: u32, share: f64) -> Self {
        let state = Mutex::new(State::new(places, share, false));
        Self(Arc::new(Inner { of, share, state }))
    }

    /// Returns the number of places.
    pub fn all(&self) -> u32 {
        self.0.state.lock().all
    }

    /// Returns the number of places that one space may hold.
    pub fn of_a_space(&self) -> u32 {
        self.0.state.lock().most
    }

    /// The number of places that are taken.
    pub fn taken(&self) -> u32 {
        self.0.state.lock().taken
    }

    /// Changes how many there are. Places that are taken beyond that stay taken until they are given back.
    pub fn resize(&self, places: u32) {
        self.0.state.lock().resize(places, self.0.share);
        self.0.hand_out();
    }

    /// Takes a place if the space may have one now.
    pub fn try_take(&self, space: &Space) -> Option<Place> {
        let taken = self.0.state.lock().take(space);
        if !taken {
            metrics::counter!("thinkd_limit_total", "limit" => self.0.of).increment(1);
        }
        taken.then(|| self.0.place(space.clone()))
    }

    /// Waits for a place.
    pub async fn take(&self, space: &Space) -> Place {
        self.take_ranked(space, 0).await
    }

    /// Waits for a place. Of the waiters of one space the lowest rank goes first, then the one that came first.
    pub async fn take_ranked(&self, space: &Space, rank: i64) -> Place {
        let place = {
            let mut state = self.0.state.lock();
            if state.take(space) {
                drop(state);
                return self.0.place(space.clone());
            }
            let (sender, place) = oneshot::channel();
            state.wait(space, rank, sender);
            place
        };
        let _waits = Waits::begin(self.0.of);
        // The sender is dropped only with its place in it, which then goes to the next one.
        place.await.unwrap_or(Place(None))
    }
}

/// Counts a waiting task for as long as it lives.
struct Waits(&'static str);

impl Waits {
    fn begin(of: &'static str) -> Self {
        metrics::gauge!("thinkd_places_awaited", "of" => of).increment(1.0);
        metrics::counter!("thinkd_limit_total", "limit" => of).increment(1);
        Self(of)
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        metrics::gauge!("thinkd_places_awaited", "of" => self.0).decrement(1.0);
    }
}

impl Inner {
    fn place(self: &Arc<Self>, space: Space) -> Place {
        metrics::gauge!("thinkd_places_taken", "of" => self.of).increment(1.0);
        Place(Some((self.clone(), space)))
    }

    /// Gives the free places to those that wait.
    fn hand_out(self: &Arc<Self>) {
        loop {
            let next = self.state.lock().next();
            let Some((space, sender)) = next else { return };
            // A waiter may have gone: the place is for the next one, in a loop because many may have gone.
            if let Err(mut place) = sender.send(self.place(space))
                && let Some((_, space)) = place.0.take()
            {
                self.given_back(&space);
            }
        }
    }

    fn given_back(&self, space: &Space) {
        metrics::gauge!("thinkd_places_taken", "of" => self.of).decrement(1.0);
        self.state.lock().give_back(space);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((inner, space)) = self.0.take() {
            inner.given_back(&space);
            inner.hand_out();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use futures_util::poll;
    use proptest::prelude::*;

    use super::*;

    fn space(name: &str) -> Space {
        Space::parse(name).unwrap()
    }

    #[tokio::test]
    async fn one_space_leaves_places_to_others() {
        let places = Places::new("tests", 4, SPACE_SHARE);
        let a = space("a");
        let b = space("b");
        let held: Vec<_> = (0..4).map_while(|_| places.try_take(&a)).collect();
        assert_eq!(held.len(), 3);
        let of_b = places.try_take(&b);
        assert!(of_b.is_some());
        assert!(places.try_take(&b).is_none(), "there are four");
    }

    #[tokio::test]
    async fn a_share_of_one_is_everything_and_a_single_place_goes_round() {
        let places = Places::new("tests", 2, 1.0);
        assert_eq!(
            (0..3)
                .map_while(|_| places.try_take(&space("a")))
                .collect::<Vec<_>>()
                .len(),
            2
        );
        let single = Places::new("tests", 1, SPACE_SHARE);
        let a = space("a");
        let b = space("b");
        let first = single.take(&a).await;
        let mut second = Box::pin(single.take(&a));
        let mut third = Box::pin(single.take(&a));
        let mut other = Box::pin(single.take(&b));
        assert!(
            poll!(&mut second).is_pending()
                && poll!(&mut third).is_pending()
                && poll!(&mut other).is_pending()
        );
        drop(first);
        let Poll::Ready(second) = poll!(&mut second) else {
            panic!("who came first")
        };
        drop(second);
        assert!(
            poll!(&mut third).is_pending(),
            "the other space before the rest of the first"
        );
        let Poll::Ready(other) = poll!(&mut other) else {
            panic!("the other space is next")
        };
        drop(other);
        assert!(poll!(&mut third).is_ready());
    }

    #[tokio::test]
    async fn the_lowest_rank_of_a_space_goes_first() {
        let places = Places::new("tests", 1, 1.0);
        let a = space("a");
        let first = places.take(&a).await;
        let mut deep = Box::pin(places.take_ranked(&a, 2));
        let mut high = Box::pin(places.take_ranked(&a, 1));
        assert!(poll!(&mut deep).is_pending() && poll!(&mut high).is_pending());
        drop(first);
        assert!(poll!(&mut deep).is_pending());
        assert!(poll!(&mut high).is_ready());
    }

    #[tokio::test]
    async fn more_places_serve_those_that_wait_and_fewer_are_given_back_first() {
        let places = Places::new("tests", 2, 1.0);
        let a = space("a");
        let first = places.take(&a).await;
        let second = places.take(&a).await;
        places.resize(1);
        let mut third = Box::pin(places.take(&a));
        assert!(poll!(&mut third).is_pending());
        drop(first);
        assert!(poll!(&mut third).is_pending(), "one is taken still");
        drop(second);
        let Poll::Ready(third) = poll!(&mut third) else {
            panic!("the one place is free")
        };
        let mut fourth = Box::pin(places.take(&a));
        assert!(poll!(&mut fourth).is_pending());
        places.resize(2);
        assert!(poll!(&mut fourth).is_ready());
        drop(third);
        assert_eq!(places.taken(), 0);
    }

    proptest! {
        /// In any order of taking, waiting, giving up and giving back, no place is lost or made. No
        /// space has more than its share, and no task waits for a free place.
        #[test]
        fn places_are_neither_lost_nor_made(places in 1u32..6, share in 0.2f64..=1.0, steps in prop::collection::vec((0u8..3, 0usize..4, 0usize..8), 1..80)) {
            let all = Places::new("tests", places, share);
            let most = all.of_a_space();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let spaces: Vec<Space> = ["a", "b", "c", "d"].map(space).into();
                let mut held: Vec<(usize, Place)> = Vec::new();
                let mut waiting = Vec::new();
                for (step, of, at) in steps {
                    match step {
                        0 => {
                            let places = all.clone();
                            let space = spaces[of].clone();
                            waiting.push((of, Box::pin(async move { places.take(&space).await })));
                        }
                        1 if !held.is_empty() => drop(held.swap_remove(at % held.len())),
                        _ if !waiting.is_empty() => drop(waiting.swap_remove(at % waiting.len())),
                        _ => {}
                    }
                    let mut still = Vec::new();
                    for (of, mut take) in waiting {
                        match poll!(&mut take) {
                            Poll::Ready(place) => held.push((of, place)),
                            Poll::Pending => still.push((of, take)),
                        }
                    }
                    waiting = still;
                    let count = |of: usize| u32::try_from(held.iter().filter(|(space, _)| *space == of).count()).unwrap();
                    let free = places - (0..4).map(count).sum::<u32>();
                    assert_eq!(all.taken(), places - free);
                    assert!((0..4).all(|of| count(of) <= most));
                    assert!(free == 0 || waiting.iter().all(|(of, _)| count(*of) == most), "somebody waits for what is free");
                }
                drop((waiting, held));
                assert_eq!(all.taken(), 0);
                assert!(all.0.state.lock().spaces.is_empty(), "nothing is kept of who has gone");
            });
        }
    }
}
