//! The views of all spaces that somebody recalls in, within one limit of memory that the spaces share (`level`). Of the views that have more than their
//! share the one that was used longest ago goes first; one that nobody uses for a while goes by itself. What a question about another time takes is
//! counted with the view of its space.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::view::View;
use crate::words::id::Space;

/// The view of a space, and who brings it up to date.
pub struct Slot {
    /// What is held.
    pub view: RwLock<View>,
    /// Held by whoever brings it up to date.
    pub turn: tokio::sync::Mutex<()>,
    /// Held by whoever fills in vectors.
    pub filler: Arc<tokio::sync::Mutex<()>>,
    /// Told whenever some vectors came, or none will for a while.
    pub filled: Notify,
    bytes: AtomicUsize,
    /// When it was seen that there is no room for it, and how many bytes it had by then.
    refused: Mutex<Option<(Instant, usize)>>,
}

/// See the module; cheap to clone.
#[derive(Clone)]
pub struct Shelf(Arc<Inner>);

struct Inner {
    most: usize,
    idle: Duration,
    empty: fn() -> View,
    /// The metric of the bytes that are kept.
    metric: &'static str,
    // A plain mutex: held to count, never across an await.
    spaces: Mutex<Spaces>,
}

#[derive(Default)]
struct Spaces {
    kept: HashMap<Space, Kept>,
    /// Somebody looks from time to time whether a view is in use still.
    is_swept: bool,
}

/// What is kept of a space.
struct Kept {
    slot: Arc<Slot>,
    used: Instant,
    /// Bytes of views that are made for questions about another time.
    past: usize,
}

/// What a view takes that is made for one question; dropping it gives that back.
pub struct Room {
    shelf: Shelf,
    space: Space,
    bytes: usize,
}

/// What a space may have at most, where all together want more than there is: one that wants less than an equal share leaves the rest of it to the
/// others. `usize::MAX`: there is enough.
fn level(most: usize, mut sizes: Vec<usize>) -> usize {
    if sizes.iter().sum::<usize>() <= most {
        return usize::MAX;
    }
    sizes.sort_unstable();
    let mut left = most;
    for (at, size) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - at);
        if *size > share {
            return share;
        }
        left -= size;
    }
    usize::MAX
}

impl Kept {
    fn bytes(&self) -> usize {
        self.slot.bytes() + self.past
    }
}

impl Spaces {
    /// What a space may have, where it wants so many bytes.
    fn level(&self, most: usize, space: &Space, bytes: usize) -> usize {
        let others = self
            .kept
            .iter()
            .filter(|(other, _)| *other != space)
            .map(|(_, kept)| kept.bytes());
        level(most, others.chain([bytes]).collect())
    }

    /// Others that have more than their share make room for so many bytes of a space. False: it has more than its own.
    fn make_room(&mut self, most: usize, space: &Space, bytes: usize, empty: fn() -> View) -> bool {
        loop {
            let level = self.level(most, space, bytes);
            let above = self
                .kept
                .iter()
                .filter(|(other, kept)| *other != space && kept.bytes() > level);
            let views = above.filter(|(_, kept)| kept.slot.bytes() > 0);
            match views
                .min_by_key(|(_, kept)| kept.used)
                .map(|(other, _)| other.clone())
            {
                Some(oldest) => self.let_go(&oldest, empty),
                // What others have beyond their share yet is for questions, and soon given back.
                None => return bytes <= level,
            }
        }
    }

    /// Lets the view of a space go: it is read anew when somebody recalls there.
    fn let_go(&mut self, space: &Space, empty: fn() -> View) {
        match self.kept.get_mut(space) {
            Some(kept) if kept.past > 0 => kept.slot = Arc::new(Slot::new(empty)),
            _ => drop(self.kept.remove(space)),
        }
    }
}

impl Shelf {
    /// A shelf for so many bytes, on which nothing stays that nobody uses for so long, what a view on it begins as, and the metric of the bytes.
    pub fn new(most: usize, idle: Duration, empty: fn() -> View, metric: &'static str) -> Self {
        Self(Arc::new(Inner {
            most,
            idle,
            empty,
            metric,
            spaces: Mutex::default(),
        }))
    }

    /// How many bytes there may be.
    pub fn most(&self) -> usize {
        self.0.most
    }

    /// The view of a space, which may be empty still.
    pub fn of(&self, space: &Space) -> Arc<Slot> {
        let mut spaces = self.0.lock();
        self.kept(&mut spaces, space, None).slot.clone()
    }

    /// The view that is kept of a space, if there is one; to ask for it is no use of it.
    pub fn kept_of(&self, space: &Space) -> Option<Arc<Slot>> {
        let spaces = self.0.lock();
        spaces.kept.get(space).map(|kept| kept.slot.clone())
    }

    /// What is kept of a space, which is in use now. This slot is put there where there is none.
    fn kept<'a>(
        &self,
        spaces: &'a mut Spaces,
        space: &Space,
        slot: Option<&Arc<Slot>>,
    ) -> &'a mut Kept {
        if !std::mem::replace(&mut spaces.is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(&self.0)));
        }
        let slot = || {
            slot.cloned()
                .unwrap_or_else(|| Arc::new(Slot::new(self.0.empty)))
        };
        let kept = spaces.kept.entry(space.clone()).or_insert_with(|| Kept {
            slot: slot(),
            used: Instant::now(),
            past: 0,
        });
        kept.used = Instant::now();
        kept
    }

    /// A view has this size now: others make room that have more than their share. False: it has more than its own, and is empty again.
    pub fn holds(&self, space: &Space, slot: &Arc<Slot>, bytes: usize) -> bool {
        slot.bytes.store(bytes, Ordering::Relaxed);
        let mut spaces = self.0.lock();
        // It may have been let go while it grew.
        let kept = self.kept(&mut spaces, space, Some(slot));
        // Of one that another took the place of nothing is counted but that it is not too large.
        let wants = kept.past + bytes.max(kept.slot.bytes());
        let fits = spaces.make_room(self.0.most, space, wants, self.0.empty);
        if !fits {
            slot.refuse(bytes, self.0.empty);
        }
        self.0.tell(&spaces);
        fits
    }

    /// Whether there was no room for it a while ago, and there is none now: it is not read again at every question.
    pub fn is_refused(&self, space: &Space, slot: &Slot) -> bool {
        let refused = *slot.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let since = refused.filter(|(at, _)| at.elapsed() < self.0.idle);
        since.is_some_and(|(_, bytes)| bytes > self.0.lock().level(self.0.most, space, bytes))
    }

    /// Room for a view that is made for one question: none so far.
    pub fn room(&self, space: &Space) -> Room {
        Room {
            shelf: self.clone(),
            space: space.clone(),
            bytes: 0,
        }
    }
}

impl Room {
    /// The view takes so many bytes now. Others make room that have more than their share, and then the view that is kept of the same space. False: it
    /// has no room.
    pub fn holds(&mut self, bytes: usize) -> bool {
        let Inner { most, empty, .. } = *self.shelf.0;
        let mut spaces = self.shelf.0.lock();
        let kept = self.shelf.kept(&mut spaces, &self.space, None);
        kept.past = kept.past - self.bytes + bytes;
        self.bytes = bytes;
        let (view, past) = (kept.slot.bytes(), kept.past);
        let mut fits = spaces.make_room(most, &self.space, past + view, empty);
        if !fits && view > 0 {
            spaces.let_go(&self.space, empty);
            fits = spaces.make_room(most, &self.space, past, empty);
        }
        self.shelf.0.tell(&spaces);
        fits
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut spaces = self.shelf.0.lock();
        if let Some(kept) = spaces.kept.get_mut(&self.space) {
            kept.past -= self.bytes;
        }
        self.shelf.0.tell(&spaces);
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Spaces> {
        // Counting cannot be left half done.
        self.spaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, spaces: &Spaces) {
        #[expect(clippy::cast_precision_loss, reason = "a metric")]
        metrics::gauge!(self.metric)
            .set(spaces.kept.values().map(Kept::bytes).sum::<usize>() as f64);
    }
}

/// Lets views go that nobody uses, as long as there are any.
async fn sweep(shelf: Weak<Inner>) {
    let Some(idle) = shelf.upgrade().map(|shelf| shelf.idle) else {
        return;
    };
    loop {
        tokio::time::sleep(idle / 4).await;
        let Some(shelf) = shelf.upgrade() else { return };
        let mut spaces = shelf.lock();
        spaces
            .kept
            .retain(|_, kept| kept.past > 0 || kept.used.elapsed() < idle);
        shelf.tell(&spaces);
        if spaces.kept.is_empty() {
            spaces.is_swept = false;
            return;
        }
    }
}

impl Slot {
    fn new(empty: fn() -> View) -> Self {
        Self {
            view: RwLock::new(empty()),
            turn: tokio::sync::Mutex::default(),
            filler: Arc::default(),
            filled: Notify::new(),
            bytes: AtomicUsize::new(0),
            refused: Mutex::default(),
        }
    }

    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn refuse(&self, bytes: usize, empty: fn() -> View) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Instant::now(), bytes));
        self.bytes.store(0, Ordering::Relaxed);
        self.write(|view| *view = empty());
    }

    /// Reads the view.
    pub fn read<T>(&self, read: impl FnOnce(&View) -> T) -> T {
        read(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the view.
    pub fn write<T>(&self, write: impl FnOnce(&mut View) -> T) -> T {
        write(&mut self.view.write().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn who_wants_less_than_an_equal_share_leaves_the_rest_to_the_others() {
        assert_eq!(level(100, vec![]), usize::MAX);
        assert_eq!(level(100, vec![70, 30]), usize::MAX);
        assert_eq!(level(100, vec![101]), 100);
        assert_eq!(level(100, vec![90, 20]), 80);
        assert_eq!(level(100, vec![60, 10, 60]), 45);
    }

    /// One step: which space, and how large its view, or that of a question about another time, is now.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Holds(usize, usize),
        Past(usize, usize),
        Ends(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0..6usize, 0..120usize).prop_map(|(of, bytes)| Step::Holds(of, bytes)),
            1 => (0..6usize, 0..60usize).prop_map(|(of, bytes)| Step::Past(of, bytes)),
            1 => (0..6usize).prop_map(Step::Ends),
        ];
        prop::collection::vec(step, 1..60)
    }

    proptest! {
        /// Whatever spaces want in whatever order: none that has no more than an equal share loses its view or is refused, and together they have no
        /// more than there is, but for what questions under way have.
        #[test]
        fn no_space_takes_from_another_below_an_equal_share(steps in steps()) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(async {
                let shelf = Shelf::new(100, Duration::from_secs(600), View::default, "bytes");
                let spaces: Vec<Space> = (0..6).map(|at| Space::parse(&format!("s{at}")).unwrap()).collect();
                let mut rooms: BTreeMap<usize, Room> = BTreeMap::new();
                for step in steps {
                    let before: Vec<usize> = spaces.iter().map(|space| shelf.0.lock().kept.get(space).map_or(0, Kept::bytes)).collect();
                    let (of, wants, fits) = match step {
                        Step::Holds(of, bytes) => {
                            let past = rooms.get(&of).map_or(0, |room| room.bytes);
                            (of, past + bytes, shelf.holds(&spaces[of], &shelf.of(&spaces[of]), bytes))
                        }
                        Step::Past(of, bytes) => {
                            let room = rooms.entry(of).or_insert_with(|| shelf.room(&spaces[of]));
                            let fits = room.holds(bytes);
                            if !fits {
                                rooms.remove(&of);
                            }
                            (of, bytes, fits)
                        }
                        Step::Ends(of) => {
                            rooms.remove(&of);
                            continue;
                        }
                    };
                    let equal = 100 / spaces.len();
                    prop_assert!(fits || wants > equal, "{step:?} was refused");
                    let after: Vec<usize> = spaces.iter().map(|space| shelf.0.lock().kept.get(space).map_or(0, Kept::bytes)).collect();
                    for at in (0..6).filter(|at| *at != of && before[*at] <= equal) {
                        prop_assert_eq!(after[at], before[at], "a space lost its view to {:?}", step);
                    }
                    let past: usize = rooms.values().map(|room| room.bytes).sum();
                    prop_assert!(after.iter().sum::<usize>() <= 100 + past, "{after:?}");
                }
                drop(rooms);
                let past: usize = shelf.0.lock().kept.values().map(|kept| kept.past).sum();
                prop_assert_eq!(past, 0);
                Ok(())
            })?;
        }
    }
}
