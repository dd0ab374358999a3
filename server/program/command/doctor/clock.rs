//! This machine's clock, compared with others that were met: the log's last time, the database's, a model server's.

use anyhow::bail;

use thinkd_words::time::Timestamp;

/// Nothing was built before this moment: seconds since 1970.
const BUILT: i64 = 1_760_000_000;

/// The time of another clock, against this one.
pub struct Clock {
    /// The owner of the clock.
    whose: String,
    /// By how many seconds it is ahead.
    ahead: i64,
    /// By how many it may be ahead.
    fine: i64,
    /// True if it may be behind by any number: the log's end is as old as its last event.
    may_rest: bool,
}

impl Clock {
    /// A clock that went when this was asked, `fine` seconds more or less.
    pub fn running(whose: impl Into<String>, said: Timestamp, fine: i64) -> Self {
        let ahead = said.seconds() - thinkd_words::time::now().seconds();
        Self {
            whose: whose.into(),
            ahead,
            fine,
            may_rest: false,
        }
    }

    /// The time of the last event of a log.
    pub fn log(last: Timestamp) -> Self {
        Self {
            may_rest: true,
            ..Self::running("the log's last time", last, 5)
        }
    }
}

/// Checks the machine's clock against the others.
pub fn check(now: Timestamp, others: &[Clock]) -> anyhow::Result<String> {
    if now.seconds() < BUILT {
        bail!("it says {now}, which is past: set it (timedatectl set-ntp true)");
    }
    let is_behind = |it: &&Clock| it.may_rest && it.ahead > it.fine;
    if let Some(Clock { whose, ahead, .. }) = others.iter().find(is_behind) {
        bail!(
            "it says {now}, and {whose} is {ahead} s ahead of that: this clock was set back, or another server's is ahead. Set it \
             (timedatectl set-ntp true); until it has caught up, all that is stored has that same time"
        );
    }
    let is_off = |it: &&Clock| !it.may_rest && it.ahead.abs() > it.fine;
    if let Some(Clock { whose, ahead, .. }) = others.iter().find(is_off) {
        let by = ahead.abs();
        let how = if *ahead > 0 { "ahead" } else { "behind" };
        bail!(
            "it says {now}, and {whose} is {by} s {how}: set the one that is wrong (timedatectl set-ntp true)"
        );
    }
    let with: Vec<&str> = others.iter().map(|other| other.whose.as_str()).collect();
    Ok(match with.as_slice() {
        [] => format!("{now}, compared with nothing"),
        with => format!("{now}, as far as one can tell from {}", with.join(", ")),
    })
}
