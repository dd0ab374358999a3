//! The seal of a backup: the SHA-256 of all of the file before it, at its end, where SQLite does not look. The file's head says that
//! one follows, so that a backup that was cut is told from one that an older thinkd made, which has none.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::not_copied::NotCopied;

/// The beginning of a seal.
const MARK: &[u8; 16] = b"thinkd's sha256:";
/// A seal has so many bytes: the mark and the hash.
const SEAL: u64 = 48;
/// The `pragma user_version` in the head of a file that is to be sealed.
pub(super) const SEALED: u32 = 1;
/// The head of a SQLite file.
const HEAD: usize = 100;
const SQLITE: &[u8; 16] = b"SQLite format 3\0";

/// Seals a backup that is complete. The disk has all of it then.
pub(super) fn seal(file: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(file)?;
    let length = file.metadata()?.len();
    let hash = hash(&mut file, length)?;
    // Reading ended where this begins.
    file.write_all(MARK)?;
    file.write_all(&hash)?;
    file.sync_all()
}

/// Refuses a backup that differs from the one that was written. False: it has no seal.
pub(super) fn check(path: &Path) -> Result<bool, NotCopied> {
    let shown = path.display();
    let failed = |error: io::Error| NotCopied::refused(format!("{shown} cannot be read: {error}"));
    match found(path).map_err(failed)? {
        Found::Whole => Ok(true),
        Found::Unsealed => Ok(false),
        Found::Cut { length, whole } => Err(NotCopied::refused(format!(
            "{shown} is cut: it has {length} of {whole} bytes; nothing is restored; copy it again, or use another backup"
        ))),
        Found::Changed => Err(NotCopied::refused(format!(
            "{shown} is not as `thinkd backup` wrote it: its checksum is another one; nothing is restored; copy it again, or use \
             another backup"
        ))),
    }
}

/// Returns true if a file is a backup: opened as a database it would not be as it was written any
/// more.
pub(super) fn is_sealed(path: &Path) -> bool {
    let mark = || {
        let mut file = File::open(path)?;
        let at = file.metadata()?.len().saturating_sub(SEAL);
        file.seek(SeekFrom::Start(at))?;
        let mut mark = [0; MARK.len()];
        file.read_exact(&mut mark)?;
        io::Result::Ok(mark == *MARK)
    };
    // A file that is not there, or shorter than that, is none.
    mark().unwrap_or(false)
}

enum Found {
    Whole,
    Unsealed,
    Cut { length: u64, whole: u64 },
    Changed,
}

fn found(path: &Path) -> io::Result<Found> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let cut = |whole| Found::Cut { length, whole };
    let mut head = Vec::new();
    (&mut file).take(HEAD as u64).read_to_end(&mut head)?;
    if head.len() < HEAD {
        // Anything else that is so short is refused as what it is.
        let is_begun = SQLITE.starts_with(&head) || head.starts_with(SQLITE);
        return Ok(if is_begun {
            cut(HEAD as u64)
        } else {
            Found::Unsealed
        });
    }
    let mut mark = [0; MARK.len()];
    if length >= HEAD as u64 + SEAL {
        file.seek(SeekFrom::Start(length - SEAL))?;
        file.read_exact(&mut mark)?;
    }
    let number =
        |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let pages = match u16::from_be_bytes([head[16], head[17]]) {
        1 => 65536,
        size => u64::from(size),
    } * u64::from(number(28));
    // Either of the two is enough: damage to one of them must not make a sealed file one that never was.
    let says = number(60) == SEALED;
    let has = mark == *MARK;
    Ok(match (says, has) {
        (_, true) => {
            file.rewind()?;
            let own = hash(&mut file, length - SEAL)?;
            let mut sealed = [0; 32];
            file.seek(SeekFrom::End(-32))?;
            file.read_exact(&mut sealed)?;
            if own == sealed {
                Found::Whole
            } else {
                Found::Changed
            }
        }
        (true, false) if length < pages + SEAL => cut(pages + SEAL),
        (true, false) => Found::Changed,
        // A database in use (its journal is WAL, 2) may be shorter than it says; it is refused as what it is.
        (false, false) if head[..16] == *SQLITE && head[18] == 1 && length < pages => cut(pages),
        (false, false) => Found::Unsealed,
    })
}

/// Of the next so many bytes.
fn hash(file: &mut File, length: u64) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut left = length;
    let mut buffer = vec![0; 1 << 20];
    while left > 0 {
        let most = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = file.read(&mut buffer[..most])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        hash.update(&buffer[..read]);
        left -= read as u64;
    }
    Ok(hash.finalize().into())
}
