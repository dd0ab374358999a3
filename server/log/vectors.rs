//! Vectors as they are stored: by the model that made them and the hash of the text, for all spaces together. They are no part of the log: a model makes
//! them again.

use crate::words::id::Space;
use crate::words::text::sha256;

/// The hash of what a model was sent.
pub type Hash = [u8; 32];

/// Most vectors that are read or written at once.
pub const PAGE: usize = 500;

/// Who made a vector: a model, and how many numbers its vectors have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Maker {
    /// The name of the model.
    pub model: String,
    /// How many numbers there are.
    pub dimensions: u32,
}

/// What becomes of the stored vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VectorChange {
    /// These are stored; what is there already stays as it is.
    Put(Maker, Vec<(Hash, Vec<u8>)>),
    /// All others go.
    KeepOnly(Maker),
}

/// What an index of vectors is of: the statements of a space, by one maker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexOf {
    /// The space.
    pub space: Space,
    /// Who made the vectors.
    pub maker: Maker,
}

impl IndexOf {
    /// What the names of a maker's tables begin with.
    pub fn prefix(maker: &Maker) -> String {
        // Of how they are compared, too: what was indexed otherwise is another table, and goes with those of other makers.
        let of = format!(
            "without what all have in common {} {}",
            maker.dimensions, maker.model
        );
        format!("vectors_near_{}_", &sha256(of.as_bytes())[..16])
    }

    /// The name of its table: a name of a model may have any characters.
    pub fn table(&self) -> String {
        format!(
            "{}{}",
            Self::prefix(&self.maker),
            &sha256(self.space.as_str().as_bytes())[..16]
        )
    }
}

/// A statement's vector in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The statement.
    pub statement: String,
    /// The hash of what the model was sent.
    pub hash: Hash,
    /// The numbers, in 8 bits; their scale does not matter to an angle.
    pub parts: Vec<i8>,
}

/// How an index is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// By its graph of neighbours, which may miss some.
    Indexed,
    /// By all vectors, one after the other.
    Exact,
}
