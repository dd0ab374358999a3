//! Limits that several files of the trials share.

/// Most statements that are looked at for one question of the rules.
pub(super) const REACH: u32 = 1000;
/// So often is something tried again that was overtaken.
pub(super) const TRIES: usize = 16;
