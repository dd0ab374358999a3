//! Documents that tests write from the code: each is compared byte by byte with the one that is committed.

use std::path::{Path, PathBuf};

/// Compares a file of the repository with its fresh text; where they differ, leaves the right one
/// for the reader to copy, and panics.
pub fn is_fresh(file: &str, fresh: &str) {
    compare(file, fresh.as_bytes(), |committed| {
        committed == fresh.as_bytes()
    });
}

/// Compares the bytes of a file by a function, as [`is_fresh`] does.
pub fn compare(file: &str, fresh: &[u8], is_fresh: impl Fn(&[u8]) -> bool) {
    let committed = std::fs::read(Path::new(crate::ROOT).join(file)).unwrap_or_default();
    if !is_fresh(&committed) {
        let right = target()
            .join("tmp")
            .join(Path::new(file).file_name().unwrap());
        std::fs::write(&right, fresh).unwrap();
        panic!(
            "{file} is not what the code says today: cp {} {file}",
            right.display()
        );
    }
}

/// Returns the target folder, in which cargo makes `tmp` for tests.
fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().nth(3).unwrap().to_owned()
}
