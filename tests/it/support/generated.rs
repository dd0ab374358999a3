//! Documents that tests write from the code: each is compared byte by byte with the one that is committed.

use std::path::Path;

use thinkd::edge::packed::{packed, unpacked};

/// Compares a file of the repository with its fresh text; where they differ, leaves the right one
/// for the reader to copy, and panics.
pub fn is_fresh(file: &str, fresh: &str) {
    compare(file, fresh.as_bytes(), |committed| {
        committed == fresh.as_bytes()
    });
}

/// The same of a file that lies compressed in the repository: its unpacked text is compared.
pub fn is_fresh_packed(file: &str, fresh: &str) {
    compare(file, &packed(fresh), |committed| {
        unpacked(committed) == fresh
    });
}

fn compare(file: &str, fresh: &[u8], is_fresh: impl Fn(&[u8]) -> bool) {
    let committed =
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap_or_default();
    if !is_fresh(&committed) {
        let right =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(Path::new(file).file_name().unwrap());
        std::fs::write(&right, fresh).unwrap();
        panic!(
            "{file} is not what the code says today: cp {} {file}",
            right.display()
        );
    }
}
