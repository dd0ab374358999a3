//! Vectors as they are stored: by the model that made them and the hash of the text, for all spaces together. They are no part of the log: a model makes
//! them again.

/// The hash of the text that a model was sent.
pub type Hash = [u8; 32];

/// Vectors as they are stored, by their hashes.
pub type Stored = Vec<(Hash, Vec<u8>)>;

/// Most vectors that are read or written at once.
pub const PAGE: usize = 500;

/// The maker of a vector: a model, and the number of dimensions of its vectors.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Maker {
    /// The name of the model.
    pub model: String,
    /// The number of dimensions.
    pub dimensions: u32,
}

/// A change of the stored vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VectorChange {
    /// Stores these; vectors that are there already stay as they are.
    Put(Maker, Stored),
    /// All others go.
    KeepOnly(Maker),
}
