//! The vectors leg of a recall: vectors in 8 bits with one scale each, and an exact scan over all
//! of them. Pure. Where no model makes vectors, recall goes without; built-in ones, made from the
//! letters alone, serve the audit, which shows statements that look alike.

use std::ops::Range;
use std::sync::Arc;

use thinkd_log::words::atoms;

/// The dimensions of the built-in vectors.
pub const DIMENSIONS: usize = 384;
/// The words in place of the name of a model where there is none.
pub const BUILT_IN: &str = "none (recall goes by words and names)";
/// The weight of a run of letters against its whole word.
const LETTERS: f32 = 0.35;
/// The longest runs of letters that count.
const RUNS: std::ops::RangeInclusive<usize> = 3..=5;

/// Pairs of a question and its answer by which a model is measured (`measuring.rs`).
pub const MEASURED_BY: usize = 12;

/// The meaning of the numbers of a model: two models differ in how near texts are to each other
/// that have nothing in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// Numbers of a vector.
    pub dimensions: usize,
    /// So near are two texts that have nothing to do with each other.
    pub unrelated: f32,
    /// So near are a question and its answer.
    pub related: f32,
    /// The part that all texts have in common in it; none: nothing is taken off.
    pub common: Option<Arc<Common>>,
}

/// The part that the vectors of all texts have in common in a model. It is taken off, for it says
/// nothing of the subject of a text, and is most of the vectors of some models (Mu and Viswanath
/// 2018, "All-but-the-Top").
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    /// The mean of questions.
    pub questions: Box<[f32]>,
    /// The mean of statements.
    pub statements: Box<[f32]>,
}

/// The nearest texts that a text has to stand out from, the first ones left out: they may be answers as well.
const OTHERS: Range<usize> = 5..15;
/// The distance by which an answer stands out, as a part of the distance between unrelated texts
/// and an answer. Chosen by the curve in `bench/README.md`.
const STANDS_OUT: f32 = 0.33;

impl Scale {
    /// The scale of the built-in vectors: they know letters, and little else.
    pub const LETTERS: Self = Self {
        dimensions: DIMENSIONS,
        unrelated: 0.15,
        related: 0.745,
        common: None,
    };
    /// The scale of a model of which nothing is known yet.
    pub const UNKNOWN: Self = Self {
        dimensions: 0,
        unrelated: 0.0,
        related: 1.0,
        common: None,
    };

    /// Returns a question's vector as it is compared; none: it has only the part that all have.
    pub(super) fn question(&self, vector: Vector) -> Option<Vector> {
        let Some(common) = &self.common else {
            return Some(vector);
        };
        vector.without(&common.questions)
    }

    /// The same of a statement.
    pub(super) fn statement(&self, vector: Vector) -> Option<Vector> {
        let Some(common) = &self.common else {
            return Some(vector);
        };
        vector.without(&common.statements)
    }

    /// Returns the least cosine of two statements that may say the same: half way from that of a
    /// question and its answer to that of equal texts. Of letters alone it is a fixed number.
    pub fn alike(&self) -> f32 {
        if *self == Self::LETTERS {
            0.8
        } else {
            f32::midpoint(self.related, 1.0)
        }
    }

    /// The difference of cosines by which an answer stands out.
    fn answer(&self) -> f32 {
        STANDS_OUT * (self.related - self.unrelated)
    }
}

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
        let most = values.iter().map(|value| value.abs()).fold(0.0, f32::max);
        if !length.is_normal() || !most.is_normal() {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "between -127 and 127")]
        let part = |value: &f32| (value / most * 127.0).round() as i8;
        Some(Self {
            parts: values.iter().map(part).collect(),
            scale: most / length / 127.0,
        })
    }

    /// As it is stored: the scale, and the numbers in 8 bits.
    pub fn to_bytes(&self) -> Vec<u8> {
        let parts = self.parts.iter().map(|part| part.cast_unsigned());
        self.scale.to_le_bytes().into_iter().chain(parts).collect()
    }

    /// Returns a vector from its stored bytes; none: they are no vector.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (scale, parts) = bytes.split_first_chunk::<4>()?;
        let scale = f32::from_le_bytes(*scale);
        scale.is_normal().then(|| Self {
            parts: parts.iter().map(|part| part.cast_signed()).collect(),
            scale,
        })
    }

    /// Returns how many numbers it has.
    pub fn dimensions(&self) -> usize {
        self.parts.len()
    }

    /// Its values, of which the length is 1.
    pub(super) fn values(&self) -> impl Iterator<Item = f32> {
        self.parts.iter().map(|part| f32::from(*part) * self.scale)
    }

    /// Returns the direction of its rest without `common`; none: there is no rest, or `common` has
    /// another length.
    pub(super) fn without(&self, common: &[f32]) -> Option<Self> {
        if common.len() != self.parts.len() {
            return None;
        }
        let own = self.values().zip(common);
        Self::of(&own.map(|(own, common)| own - common).collect::<Vec<_>>())
    }

    /// Returns the cosine of the angle between two; of vectors of unequal length a part is
    /// compared, which says nothing.
    pub fn cosine(&self, other: &Self) -> f32 {
        dot(&self.parts, &other.parts) * self.scale * other.scale
    }

    /// The built-in vector of a text: its words and their runs of letters, each at a place that its hash names.
    pub fn built_in(text: &str) -> Option<Self> {
        let mut values = [0.0_f32; DIMENSIONS];
        let mut add = |of: &str, weight: f32| {
            let hash = hash(of.as_bytes());
            let place = usize::try_from(hash % DIMENSIONS as u64).unwrap_or(0);
            values[place] += if hash >> 63 == 0 { weight } else { -weight };
        };
        for word in atoms(text) {
            add(&word, 1.0);
            let marked = format!("^{word}$");
            let starts = marked.char_indices().map(|(at, _)| at);
            let starts: Vec<usize> = starts.chain([marked.len()]).collect();
            for length in RUNS {
                let runs = starts.windows(length + 1);
                runs.for_each(|run| add(&marked[run[0]..run[length]], LETTERS));
            }
        }
        Self::of(&values)
    }
}

/// FNV-1a, and the last step of a better one: the low bits are to be as good as the high ones.
fn hash(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

/// The vectors of a space, one behind the other, by the number of their text.
#[derive(Debug)]
pub struct Rows {
    scale: Scale,
    parts: Vec<i8>,
    scales: Vec<f32>,
    count: usize,
    /// The sum of all.
    sum: Box<[f32]>,
}

impl Default for Rows {
    fn default() -> Self {
        Self::of(Scale::LETTERS)
    }
}

impl Rows {
    /// None so far, to be of this scale.
    pub fn of(scale: Scale) -> Self {
        Self {
            sum: vec![0.0; scale.dimensions].into(),
            scale,
            parts: Vec::new(),
            scales: Vec::new(),
            count: 0,
        }
    }

    /// Returns the meaning of their numbers.
    pub fn scale(&self) -> &Scale {
        &self.scale
    }

    /// Takes in the vector of a text; none: it has none any more.
    pub fn put(&mut self, doc: u32, vector: Option<&Vector>) {
        let doc = doc as usize;
        let dimensions = self.scale.dimensions;
        let fits = vector.filter(|vector| vector.parts.len() == dimensions);
        if self.scales.len() <= doc {
            if fits.is_none() {
                return;
            }
            self.scales.resize(doc + 1, 0.0);
            self.parts.resize((doc + 1) * dimensions, 0);
        }
        self.count = self.count - usize::from(self.scales[doc] > 0.0) + usize::from(fits.is_some());
        let row = &mut self.parts[doc * dimensions..(doc + 1) * dimensions];
        add(&mut self.sum, row, -self.scales[doc]);
        self.scales[doc] = fits.map_or(0.0, |vector| vector.scale);
        match fits {
            Some(vector) => row.copy_from_slice(&vector.parts),
            None => row.fill(0),
        }
        add(&mut self.sum, row, self.scales[doc]);
    }

    /// Returns how far each text that has a vector stands out, 1 as an answer does: its cosine less
    /// the mean of the sixth to the fifteenth nearest. Measured from the middle of these texts: the
    /// part that all of a space have in common, such as their language, says nothing. Where many
    /// are as near as the nearest, none stands out.
    pub fn standing_out(&self, vector: &Vector) -> Vec<(u32, f32)> {
        let mut near = self.cosines(vector);
        let cosine = |(_, cosine): &(u32, f32)| *cosine;
        let mut others = vec![self.scale.unrelated; OTHERS.end];
        others.extend(near.iter().map(cosine));
        others.select_nth_unstable_by(OTHERS.end - 1, |one, other| other.total_cmp(one));
        others.truncate(OTHERS.end);
        others.sort_by(|one, other| other.total_cmp(one));
        let usual = mean(&others[OTHERS]);
        for (_, near) in &mut near {
            *near = (*near - usual) / self.scale.answer();
        }
        near
    }

    /// The cosine of a question and each text, from the middle of all.
    fn cosines(&self, vector: &Vector) -> Vec<(u32, f32)> {
        // Of other dimensions than these it is near to nothing.
        let size = self.scale.dimensions.max(1);
        let middle = self.middle();
        let Some(question) = vector.without(&middle) else {
            return Vec::new();
        };
        let product = |of: &Vector| -> f32 { of.values().zip(&middle).map(|(a, b)| a * b).sum() };
        let of_middle = product(&question);
        // About how long a vector is from there.
        let length: f32 = middle.iter().map(|value| value * value).sum();
        let length = (1.0 - length).max(0.1).sqrt();
        let rows = self.parts.chunks_exact(size).zip(&self.scales).zip(0..);
        rows.filter(|((_, scale), _)| **scale > 0.0)
            .map(|((row, scale), doc)| {
                let cosine = dot(row, &question.parts) * scale * question.scale;
                (doc, (cosine - of_middle) / length)
            })
            .collect()
    }

    /// The mean of all, and of as many beside them as the model was measured by: those are at 0.
    fn middle(&self) -> Vec<f32> {
        #[expect(clippy::cast_precision_loss, reason = "a count of texts")]
        let count = (self.count + MEASURED_BY) as f32;
        self.sum.iter().map(|sum| sum / count).collect()
    }

    /// The vector of a text; none: it has none.
    pub fn vector(&self, doc: u32) -> Option<Vector> {
        let at = doc as usize;
        let size = self.scale.dimensions;
        let scale = *self.scales.get(at).filter(|scale| **scale > 0.0)?;
        let parts = self.parts[at * size..(at + 1) * size].into();
        Some(Vector { parts, scale })
    }

    /// Returns the first number behind all texts.
    pub fn end(&self) -> u32 {
        u32::try_from(self.scales.len()).unwrap_or(u32::MAX)
    }

    /// Returns how many texts have a vector here.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Memory that they take.
    pub fn bytes(&self) -> usize {
        self.count * (self.scale.dimensions + size_of::<f32>())
    }
}

/// Returns the mean of some values.
pub(super) fn mean(values: &[f32]) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "some hundred values")]
    let count = values.len() as f32;
    values.iter().sum::<f32>() / count
}

/// Adds a row, so many times.
fn add(sum: &mut [f32], row: &[i8], scale: f32) {
    for (sum, part) in sum.iter_mut().zip(row) {
        *sum += f32::from(*part) * scale;
    }
}

/// The product of two rows. Written so that the compiler makes wide instructions of it.
#[expect(clippy::cast_precision_loss, reason = "far below 2^24")]
fn dot(one: &[i8], other: &[i8]) -> f32 {
    let both = one.iter().zip(other);
    let products = both.map(|(one, other)| i32::from(i16::from(*one) * i16::from(*other)));
    products.sum::<i32>() as f32
}
