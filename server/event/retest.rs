//! The rule by which held statements are tested again while nothing else is due. Pure;
//! `memory/retesting.rs` looks for them.

use std::collections::BTreeSet;

use super::statement::{Instrument, Judged, Status};
use thinkd_words::time::Timestamp;

/// Returns the experiment by which a held statement can be tested again: one that is there, can say
/// something of it, and has not carried it. An instrument does not refute a statement that it has
/// carried. People are not asked of the server's own accord. `testable`: those that can say
/// something of it.
pub fn by_another(
    judged: &Judged,
    testable: &[Instrument],
    there: &BTreeSet<Instrument>,
) -> Option<Instrument> {
    let is_another = |it: &Instrument| {
        !matches!(it, Instrument::User | Instrument::Reflection)
            && testable.contains(it)
            && !judged.carried.contains(it)
    };
    there.iter().copied().find(is_another)
}

/// Returns true if a held statement may be tested again at all: nothing else is to be done about
/// it.
pub fn is_at_rest(status: Status, due: Option<Timestamp>) -> bool {
    status.is_held() && due.is_none()
}

/// Returns the urgency of another test: the time since the last one in microseconds, once more for
/// each recall that returned the statement.
pub fn urgency(recalled: u32, tested: Timestamp, now: Timestamp) -> u128 {
    let age = u128::try_from(now.micros().saturating_sub(tested.micros())).unwrap_or(0);
    age * (u128::from(recalled) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_and_age_make_it_urgent() {
        let at = Timestamp::from_micros;
        assert!(
            urgency(0, at(0), at(100)) > urgency(0, at(50), at(100)),
            "the older one"
        );
        assert!(
            urgency(3, at(50), at(100)) > urgency(0, at(0), at(100)),
            "the used one"
        );
        assert_eq!(urgency(3, at(200), at(100)), 0, "a clock that went back");
    }
}
