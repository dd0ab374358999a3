//! Vectors as they are stored: by the model that made them and the hash of the text, for all spaces together. They are no part of the log: a model makes
//! them again.

/// The hash of what a model was sent.
pub type Hash = [u8; 32];

/// Vectors as they are stored, by their hashes.
pub type Stored = Vec<(Hash, Vec<u8>)>;

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
    Put(Maker, Stored),
    /// All others go.
    KeepOnly(Maker),
}
