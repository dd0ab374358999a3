//! The views of all spaces with recalls, within one limit of memory that the spaces share
//! (`level`). Of the views that have more than their share the one that was used longest ago goes
//! first; a view that is not used for a while goes by itself. The memory of a question about
//! another time is counted with the view of its space.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::view::View;
use thinkd_tasks::level::level;
use thinkd_tasks::lock::lock;
use thinkd_words::id::Space;

/// The view of a space, and the locks of the work on it.
pub struct Slot {
    /// The held statements.
    pub view: RwLock<View>,
    /// Held while the view is brought up to date.
    pub turn: tokio::sync::Mutex<()>,
    /// Held while vectors are filled in.
    pub filler: Arc<tokio::sync::Mutex<()>>,
    /// Told whenever some vectors came, or none will for a while.
    pub filled: Notify,
    bytes: AtomicUsize,
    /// When it was seen that there is no room for it, and how many bytes it had by then.
    refused: Mutex<Option<(Instant, usize)>>,
}

/// See the module.
pub struct Shelf {
    idle: Duration,
    spaces: Arc<Mutex<Spaces>>,
}

/// The space has more than fits: of all spaces there may be so many bytes.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "the statements of this space take more memory than its share of what there is for recall ({0} bytes of all spaces, memory.recall_bytes)"
)]
pub struct TooLarge(usize);

struct Spaces {
    most: usize,
    empty: fn() -> View,
    /// The metric of the bytes that are kept.
    metric: &'static str,
    kept: HashMap<Space, Kept>,
    /// True while a task looks from time to time whether a view is in use still.
    is_swept: bool,
}

/// The place of a space on the shelf.
struct Kept {
    slot: Arc<Slot>,
    used: Instant,
    /// Bytes of views that are made for questions about another time.
    past: usize,
}

/// The memory of a view that is made for one question; dropping it gives that back.
pub struct Room<'a> {
    shelf: &'a Shelf,
    space: &'a Space,
    bytes: usize,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.slot.bytes() + self.past
    }
}

impl Spaces {
    /// Returns the bytes that a space may have, where it wants so many.
    fn level(&self, space: &Space, bytes: usize) -> usize {
        let others = self.kept.iter().filter(|(other, _)| *other != space);
        let sizes = others.map(|(_, kept)| kept.bytes()).chain([bytes]);
        level(self.most, sizes.collect())
    }

    /// Others that have more than their share make room for so many bytes of a space. False: it has more than its own.
    fn make_room(&mut self, space: &Space, bytes: usize) -> bool {
        loop {
            let level = self.level(space, bytes);
            let others = self.kept.iter().filter(|(other, _)| *other != space);
            let views = others.filter(|(_, it)| it.bytes() > level && it.slot.bytes() > 0);
            let oldest = views.min_by_key(|(_, kept)| kept.used);
            match oldest.map(|(other, _)| other.clone()) {
                Some(oldest) => self.let_go(&oldest),
                // What others have beyond their share yet is for questions, and soon given back.
                None => return bytes <= level,
            }
        }
    }

    /// Lets the view of a space go: it is read anew at the next recall there.
    fn let_go(&mut self, space: &Space) {
        match self.kept.get_mut(space) {
            Some(kept) if kept.past > 0 => kept.slot = Slot::new(self.empty),
            _ => drop(self.kept.remove(space)),
        }
    }

    fn tell(&self) {
        let bytes: usize = self.kept.values().map(Kept::bytes).sum();
        #[expect(clippy::cast_precision_loss, reason = "a metric")]
        metrics::gauge!(self.metric).set(bytes as f64);
    }

    /// Tells how much there is now; fails where a space has no room.
    fn told(&self, fits: bool) -> Result<(), TooLarge> {
        self.tell();
        fits.then_some(()).ok_or(TooLarge(self.most))
    }
}

impl Shelf {
    /// Returns a shelf for `most` bytes. A view that is not used for `idle` goes; `empty` makes a
    /// new view; `metric` names the metric of the bytes.
    pub fn new(most: usize, idle: Duration, empty: fn() -> View, metric: &'static str) -> Self {
        let spaces = Spaces {
            most,
            empty,
            metric,
            kept: HashMap::new(),
            is_swept: false,
        };
        Self {
            idle,
            spaces: Arc::new(Mutex::new(spaces)),
        }
    }

    /// The view of a space, which may be empty still.
    pub fn of(&self, space: &Space) -> Arc<Slot> {
        let mut spaces = lock(&self.spaces);
        self.kept(&mut spaces, space, None).slot.clone()
    }

    /// The view that is kept of a space, if there is one; to ask for it is no use of it.
    pub fn kept_of(&self, space: &Space) -> Option<Arc<Slot>> {
        let spaces = lock(&self.spaces);
        spaces.kept.get(space).map(|kept| kept.slot.clone())
    }

    /// Returns the place of a space, which is in use now. Where there is none, one is made with
    /// this slot, or with an empty one.
    fn kept<'a>(
        &self,
        spaces: &'a mut Spaces,
        space: &Space,
        slot: Option<&Arc<Slot>>,
    ) -> &'a mut Kept {
        if !std::mem::replace(&mut spaces.is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(&self.spaces), self.idle));
        }
        let empty = spaces.empty;
        let used = Instant::now();
        let kept = spaces.kept.entry(space.clone()).or_insert_with(|| Kept {
            slot: slot.cloned().unwrap_or_else(|| Slot::new(empty)),
            used,
            past: 0,
        });
        kept.used = used;
        kept
    }

    /// A view has this size now: others make room that have more than their share.
    ///
    /// # Errors
    /// Where it has more than its own; then it is empty again.
    pub fn hold(&self, space: &Space, slot: &Arc<Slot>) -> Result<(), TooLarge> {
        self.hold_bytes(space, slot, slot.read(View::bytes))
    }

    fn hold_bytes(&self, space: &Space, slot: &Arc<Slot>, bytes: usize) -> Result<(), TooLarge> {
        slot.bytes.store(bytes, Ordering::Relaxed);
        let mut spaces = lock(&self.spaces);
        // It may have been let go while it grew.
        let kept = self.kept(&mut spaces, space, Some(slot));
        // Of one that another took the place of nothing is counted but that it is not too large.
        let wants = kept.past + bytes.max(kept.slot.bytes());
        let fits = spaces.make_room(space, wants);
        if !fits {
            *lock(&slot.refused) = Some((Instant::now(), bytes));
            slot.bytes.store(0, Ordering::Relaxed);
            slot.write(|view| *view = (spaces.empty)());
        }
        spaces.told(fits)
    }

    /// Fails where there was no room for it a while ago, and there is none now: it is not read again at every question.
    pub fn check(&self, space: &Space, slot: &Slot) -> Result<(), TooLarge> {
        let refused = *lock(&slot.refused);
        let since = refused.filter(|(at, _)| at.elapsed() < self.idle);
        let Some((_, bytes)) = since else {
            return Ok(());
        };
        let spaces = lock(&self.spaces);
        match bytes > spaces.level(space, bytes) {
            true => Err(TooLarge(spaces.most)),
            false => Ok(()),
        }
    }

    /// Room for a view that is made for one question: none so far.
    pub fn room<'a>(&'a self, space: &'a Space) -> Room<'a> {
        Room {
            shelf: self,
            space,
            bytes: 0,
        }
    }
}

impl Room<'_> {
    /// The view takes so many bytes now. Others make room that have more than their share, and then the view that is kept of the same space.
    ///
    /// # Errors
    /// Where it has no room.
    pub fn hold(&mut self, bytes: usize) -> Result<(), TooLarge> {
        let mut spaces = lock(&self.shelf.spaces);
        let kept = self.shelf.kept(&mut spaces, self.space, None);
        kept.past = kept.past - self.bytes + bytes;
        self.bytes = bytes;
        let view = kept.slot.bytes();
        let past = kept.past;
        let mut fits = spaces.make_room(self.space, past + view);
        if !fits && view > 0 {
            spaces.let_go(self.space);
            fits = spaces.make_room(self.space, past);
        }
        spaces.told(fits)
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let mut spaces = lock(&self.shelf.spaces);
        if let Some(kept) = spaces.kept.get_mut(self.space) {
            kept.past -= self.bytes;
        }
        spaces.tell();
    }
}

/// Lets unused views go, as long as there are any views.
async fn sweep(spaces: Weak<Mutex<Spaces>>, idle: Duration) {
    loop {
        tokio::time::sleep(idle / 4).await;
        let Some(spaces) = spaces.upgrade() else {
            return;
        };
        let mut spaces = lock(&spaces);
        let is_used = |kept: &Kept| kept.past > 0 || kept.used.elapsed() < idle;
        spaces.kept.retain(|_, kept| is_used(kept));
        spaces.tell();
        if spaces.kept.is_empty() {
            spaces.is_swept = false;
            return;
        }
    }
}

impl Slot {
    fn new(empty: fn() -> View) -> Arc<Self> {
        Arc::new(Self {
            view: RwLock::new(empty()),
            turn: tokio::sync::Mutex::default(),
            filler: Arc::default(),
            filled: Notify::new(),
            bytes: AtomicUsize::new(0),
            refused: Mutex::default(),
        })
    }

    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
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
        /// No space that has at most an equal share loses its view or is refused, in any order of
        /// wants. Together the spaces have no more than there is, but for the memory of questions
        /// under way.
        #[test]
        fn no_space_takes_from_another_below_an_equal_share(steps in steps()) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(async {
                let shelf = Shelf::new(100, Duration::from_secs(600), View::default, "bytes");
                let spaces: Vec<Space> = (0..6).map(|at| Space::parse(&format!("s{at}")).unwrap()).collect();
                let mut rooms: BTreeMap<usize, Room> = BTreeMap::new();
                for step in steps {
                    let before: Vec<usize> = spaces.iter().map(|space| lock(&shelf.spaces).kept.get(space).map_or(0, Kept::bytes)).collect();
                    let (of, wants, fits) = match step {
                        Step::Holds(of, bytes) => {
                            let past = rooms.get(&of).map_or(0, |room| room.bytes);
                            (of, past + bytes, shelf.hold_bytes(&spaces[of], &shelf.of(&spaces[of]), bytes).is_ok())
                        }
                        Step::Past(of, bytes) => {
                            let room = rooms.entry(of).or_insert_with(|| shelf.room(&spaces[of]));
                            let fits = room.hold(bytes).is_ok();
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
                    let after: Vec<usize> = spaces.iter().map(|space| lock(&shelf.spaces).kept.get(space).map_or(0, Kept::bytes)).collect();
                    for at in (0..6).filter(|at| *at != of && before[*at] <= equal) {
                        prop_assert_eq!(after[at], before[at], "a space lost its view to {:?}", step);
                    }
                    let past: usize = rooms.values().map(|room| room.bytes).sum();
                    prop_assert!(after.iter().sum::<usize>() <= 100 + past, "{after:?}");
                }
                drop(rooms);
                let past: usize = lock(&shelf.spaces).kept.values().map(|kept| kept.past).sum();
                prop_assert_eq!(past, 0);
                Ok(())
            })?;
        }
    }
}
