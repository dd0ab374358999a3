//! Planted frameworks, good and bad ones, and the outcome of their use by their tallies, over 2,000
//! like tasks, beside the use of none. Each task is drawn once for both, solved or not, so that
//! every difference is the frameworks' doing. The bench uses it, too.

use thinkd_event::framework::{Begun, Tally};

/// Tasks of a seed.
pub const TASKS: usize = 2000;
/// The gain by good frameworks in the chance of a task, and the loss by costly ones.
const GAIN: f64 = 0.2;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Worth {
    /// Never works.
    Never,
    /// Takes 20 points.
    Costs,
    /// Adds 20 points.
    Gains,
}

pub struct Planted {
    pub worth: Worth,
    /// The chance of a like task without it.
    chance: f64,
    pub tally: Tally,
    pub uses: u32,
    /// The number of its uses when it was given up.
    pub ended: Option<u32>,
}

/// SplitMix64, from 0 to 1.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The outcome of a seed.
pub struct Came {
    pub planted: Vec<Planted>,
    /// Tasks solved more than without frameworks, of good ones' tasks and of all.
    pub good: i64,
    pub all: i64,
    /// The same of all at its lowest.
    pub lowest: i64,
}

pub fn came(seed: u64) -> Came {
    let mut draws = Draws(seed);
    let worth = |at| match at {
        0..10 => Worth::Never,
        10..20 => Worth::Costs,
        _ => Worth::Gains,
    };
    let plant = |at, draws: &mut Draws| {
        let chance = 0.4 + 0.4 * draws.next();
        Planted {
            worth: worth(at),
            chance,
            tally: Tally::default(),
            uses: 0,
            ended: None,
        }
    };
    let mut came = Came {
        planted: (0..40).map(|at| plant(at, &mut draws)).collect(),
        good: 0,
        all: 0,
        lowest: 0,
    };
    for _ in 0..TASKS {
        let which = (draws.next() * 40.0) as usize;
        let draw = draws.next();
        let planted = &mut came.planted[which];
        let without = draw < planted.chance;
        let Some((with, _)) = planted.tally.next(Begun::default()) else {
            continue;
        };
        let worked = match (with, planted.worth) {
            (false, _) => without,
            (true, Worth::Never) => false,
            (true, Worth::Costs) => draw < planted.chance - GAIN,
            (true, Worth::Gains) => draw < planted.chance + GAIN,
        };
        planted.uses += u32::from(with);
        planted.tally = planted.tally.and(with, worked);
        if planted.tally.next(Begun::default()).is_none() {
            planted.ended = Some(planted.uses);
        }
        let more = i64::from(worked) - i64::from(without);
        came.all += more;
        came.good += if planted.worth == Worth::Gains {
            more
        } else {
            0
        };
        came.lowest = came.lowest.min(came.all);
    }
    came
}

/// Tasks as points of all tasks.
pub fn points(tasks: i64) -> f64 {
    tasks as f64 * 100.0 / TASKS as f64
}
