//! The rules of a trial, as they are configured, with the instruments that there are now.

use std::collections::BTreeSet;

use super::bench::OnTrial;
use super::journal::Stored;
use super::people::has_people_for;
use thinkd_event::statement::Instrument;
use thinkd_event::trial::Rules;
use thinkd_runtime::ground::Ground;
use thinkd_runtime::memory;

/// Returns the instruments that this server has for any statement.
pub(super) fn instruments(ground: &Ground) -> BTreeSet<Instrument> {
    let is_known = ground.options.memory.knowledge.is_on();
    let knowledge = is_known.then_some(Instrument::Knowledge);
    let code = ground.code.is_enabled().then_some(Instrument::Code);
    let all = [knowledge, code, Some(Instrument::Reflection)];
    all.into_iter().flatten().collect()
}

/// Returns the time from a trial in vain to the next one, in microseconds.
pub(super) fn retry_micros(memory: &memory::Options) -> i64 {
    let retry_ms = i64::try_from(memory.retry_ms).unwrap_or(i64::MAX);
    retry_ms.saturating_mul(1000)
}

/// Returns the rules, with the instruments that there are for this statement.
pub(super) async fn rules(on: &OnTrial<'_>) -> Stored<Rules> {
    let journal = on.bench.journal;
    let memory = journal.memory();
    let mut available = instruments(journal.ground);
    // People are not asked of the server's own accord.
    if !on.trial.is_retest && has_people_for(journal, &on.row).await? {
        available.insert(Instrument::User);
    }
    Ok(Rules {
        available,
        two_of_three: memory.two_of_three,
        require_experiment: memory.require_experiment,
        tries: memory.tries,
        retry_micros: retry_micros(memory),
    })
}
