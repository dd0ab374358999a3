//! Documents that tests write from the code: each is compared byte by byte with the one that is committed.

use std::path::Path;

/// Compares a file of the repository with what it should be; where it differs, leaves the right one for the reader to copy.
pub fn is_fresh(file: &str, fresh: &str) {
    let committed = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap_or_default();
    if committed != fresh {
        let right = Path::new(env!("CARGO_TARGET_TMPDIR")).join(Path::new(file).file_name().unwrap());
        std::fs::write(&right, fresh).unwrap();
        panic!("{file} is not what the code says today: cp {} {file}", right.display());
    }
}
