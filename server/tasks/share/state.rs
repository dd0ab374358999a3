//! The count of places by space, and the order in which waiters get one.

use std::collections::{BTreeMap, HashMap, VecDeque};

use thinkd_words::id::Space;

/// Places, counted by space, and their waiters: each is told with a `W`.
pub(super) struct State<W> {
    /// The number of places.
    pub all: u32,
    /// The most that one space may hold.
    pub most: u32,
    /// The places that are taken.
    pub taken: u32,
    tickets: u64,
    pub(super) spaces: HashMap<Space, Held<W>>,
    /// Spaces that have nothing are kept: they are few, and come again soon.
    keeps: bool,
    /// The spaces with waiting tasks; the first is served next.
    round: VecDeque<Space>,
}

/// The places of a space, and its waiters, the lowest rank first.
pub(super) struct Held<W> {
    taken: u32,
    waiting: BTreeMap<(i64, u64), W>,
}

impl<W> Default for Held<W> {
    fn default() -> Self {
        Self {
            taken: 0,
            waiting: BTreeMap::new(),
        }
    }
}

impl<W> State<W> {
    /// Returns so many places, of which a space may hold the fraction `share`, one at least.
    pub fn new(places: u32, share: f64, keeps: bool) -> Self {
        let mut state = Self {
            all: 0,
            most: 0,
            taken: 0,
            tickets: 0,
            spaces: HashMap::new(),
            keeps,
            round: VecDeque::new(),
        };
        state.resize(places, share);
        state
    }

    /// Changes the number of places.
    pub fn resize(&mut self, places: u32, share: f64) {
        self.all = places.max(1);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within 1..=all"
        )]
        let most = (f64::from(self.all) * share)
            .floor()
            .clamp(1.0, f64::from(self.all)) as u32;
        // A share that is no number is none.
        self.most = most.max(1);
    }

    /// Takes a place, if the space may have one now.
    pub fn take(&mut self, space: &Space) -> bool {
        // Whoever waits while one is free has its share already.
        if self.taken >= self.all {
            return false;
        }
        let held = match self.spaces.get_mut(space) {
            Some(held) => held,
            None => self.spaces.entry(space.clone()).or_default(),
        };
        let may = held.taken < self.most;
        held.taken += u32::from(may);
        self.taken += u32::from(may);
        may
    }

    /// Adds a waiter of a space.
    pub fn wait(&mut self, space: &Space, rank: i64, waiter: W) {
        let held = self.spaces.entry(space.clone()).or_default();
        if held.waiting.is_empty() {
            self.round.push_back(space.clone());
        }
        self.tickets += 1;
        held.waiting.insert((rank, self.tickets), waiter);
    }

    /// Gives a place of a space back.
    pub fn give_back(&mut self, space: &Space) {
        self.taken -= 1;
        let Some(held) = self.spaces.get_mut(space) else {
            return;
        };
        held.taken -= 1;
        if held.taken == 0 && held.waiting.is_empty() && !self.keeps {
            self.spaces.remove(space);
        }
    }

    /// Takes a free place for the next waiter, space by space; none for a space that has its share.
    pub fn next(&mut self) -> Option<(Space, W)> {
        if self.taken >= self.all {
            return None;
        }
        let spaces = &self.spaces;
        let most = self.most;
        let at = self
            .round
            .iter()
            .position(|space| spaces.get(space).is_none_or(|held| held.taken < most))?;
        let space = self.round.remove(at)?;
        let held = self.spaces.get_mut(&space)?;
        let (_, waiter) = held.waiting.pop_first()?;
        if !held.waiting.is_empty() {
            self.round.push_back(space.clone());
        }
        held.taken += 1;
        self.taken += 1;
        Some((space, waiter))
    }
}
