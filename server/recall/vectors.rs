//! The vectors leg of a recall: vectors in 8 bits with one scale each, and an exact scan over all of them. Pure. Where no model makes vectors, a built-in
//! one does, from the letters alone: it finds other forms of the same words and misspelt ones, and knows nothing of meaning.

use crate::log::words::atoms;

/// The dimensions of the built-in vectors.
pub const DIMENSIONS: usize = 384;
/// What the built-in vectors are called.
pub const BUILT_IN: &str = "built-in (letters and words, no meaning)";
/// So near are two built-in vectors of texts that have nothing to do with each other.
const UNRELATED: f32 = 0.15;
/// What a run of letters counts against its whole word.
const LETTERS: f32 = 0.35;
/// The longest runs of letters that count.
const RUNS: std::ops::RangeInclusive<usize> = 3..=5;

/// A vector of length 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    parts: Box<[i8]>,
    scale: f32,
}

impl Vector {
    /// The direction of these values; none: they have none.
    pub fn of(values: &[f32]) -> Option<Self> {
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        let most = values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        if !length.is_normal() || !most.is_normal() {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "between -127 and 127")]
        let part = |value: &f32| (value / most * 127.0).round() as i8;
        Some(Self { parts: values.iter().map(part).collect(), scale: most / length / 127.0 })
    }

    /// The built-in vector of a text: its words and their runs of letters, each at a place that its hash names.
    pub fn built_in(text: &str) -> Option<Self> {
        let mut values = [0.0_f32; DIMENSIONS];
        let mut add = |of: &str, weight: f32| {
            let hash = hash(of.as_bytes());
            #[expect(clippy::cast_possible_truncation, reason = "below the number of dimensions")]
            let place = (hash % DIMENSIONS as u64) as usize;
            values[place] += if hash >> 63 == 0 { weight } else { -weight };
        };
        for word in atoms(text) {
            add(&word, 1.0);
            let marked = format!("^{word}$");
            let starts: Vec<usize> = marked.char_indices().map(|(at, _)| at).chain([marked.len()]).collect();
            for length in RUNS {
                starts.windows(length + 1).for_each(|run| add(&marked[run[0]..run[length]], LETTERS));
            }
        }
        Self::of(&values)
    }
}

/// FNV-1a, and the last step of a better one: the low bits are to be as good as the high ones.
fn hash(bytes: &[u8]) -> u64 {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

/// The vectors of a space, one behind the other, by the number of their text.
#[derive(Debug, Default)]
pub struct Rows {
    parts: Vec<i8>,
    scales: Vec<f32>,
}

impl Rows {
    /// Takes in the vector of a text; none: it has none any more.
    pub fn put(&mut self, doc: u32, vector: Option<&Vector>) {
        let doc = doc as usize;
        if self.scales.len() <= doc {
            self.scales.resize(doc + 1, 0.0);
            self.parts.resize((doc + 1) * DIMENSIONS, 0);
        }
        let row = &mut self.parts[doc * DIMENSIONS..(doc + 1) * DIMENSIONS];
        let fits = vector.filter(|vector| vector.parts.len() == DIMENSIONS);
        match fits {
            Some(vector) => row.copy_from_slice(&vector.parts),
            None => row.fill(0),
        }
        self.scales[doc] = fits.map_or(0.0, |vector| vector.scale);
    }

    /// How near each text is that has a vector, 0 to 1: 0 is what two texts are that have nothing to do with each other.
    pub fn near(&self, vector: &Vector) -> impl Iterator<Item = (u32, f32)> {
        let rows = self.parts.chunks_exact(DIMENSIONS).zip(&self.scales).zip(0..);
        rows.filter(|((_, scale), _)| **scale > 0.0).map(|((row, scale), doc)| {
            #[expect(clippy::cast_precision_loss, reason = "far below 2^24")]
            let cosine = dot(row, &vector.parts) as f32 * scale * vector.scale;
            (doc, ((cosine - UNRELATED) / (1.0 - UNRELATED)).clamp(0.0, 1.0))
        })
    }

    /// Bytes of one vector.
    pub const BYTES: usize = DIMENSIONS + size_of::<f32>();
}

/// The product of two rows. Written so that the compiler makes wide instructions of it.
fn dot(one: &[i8], other: &[i8]) -> i32 {
    one.iter().zip(other).map(|(one, other)| i32::from(i16::from(*one) * i16::from(*other))).sum()
}
