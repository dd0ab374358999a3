//! The result that the method must come to, by arithmetic. An instrument is right with probability
//! r, independently each time. Two equal readings of at most three are right with q = r² +
//! 2r²(1 − r) = r²(3 − 2r); one reading is with q = r. A true claim survives k predictions when
//! each has a yes, with qᵏ; a false one when each is misread, with (1 − q)ᵏ. Where the instrument
//! errs again on the same statement (c = 1), all readings are one: r and 1 − r, for every k and any
//! number of readings. Of t true and f false claims as many survive as two binomial draws say; the
//! stream's own t and f make the interval of precision and recall.

/// The probability that a claim survives its first trial.
#[derive(Debug, Clone, Copy)]
pub struct Survival {
    /// A true one.
    pub of_true: f64,
    /// A false one.
    pub of_false: f64,
}

/// Readings that err independently of each other.
pub fn independent(reliability: f64, two_of_three: bool, predictions: i32) -> Survival {
    let r = reliability;
    let q = if two_of_three {
        r * r * (3.0 - 2.0 * r)
    } else {
        r
    };
    Survival {
        of_true: q.powi(predictions),
        of_false: (1.0 - q).powi(predictions),
    }
}

/// Readings that all err where one does.
pub fn correlated(reliability: f64) -> Survival {
    Survival {
        of_true: reliability,
        of_false: 1.0 - reliability,
    }
}

/// The range of 99 of 100 streams.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    /// The number of true claims that survive, at least and at most.
    pub kept: (usize, usize),
    /// The number of false claims that survive, at least and at most.
    pub believed: (usize, usize),
    /// The precision and the recall that are most likely.
    pub mean: (f64, f64),
}

impl Survival {
    /// Of so many true and false claims.
    pub fn of(self, of_true: usize, of_false: usize) -> Expected {
        let kept = of_true as f64 * self.of_true;
        let believed = of_false as f64 * self.of_false;
        Expected {
            kept: interval(of_true, self.of_true),
            believed: interval(of_false, self.of_false),
            mean: (kept / (kept + believed), self.of_true),
        }
    }
}

impl Expected {
    /// The precision in that interval, at least and at most.
    pub fn precision(&self) -> (f64, f64) {
        let share = |kept: usize, believed: usize| kept as f64 / (kept + believed).max(1) as f64;
        (
            share(self.kept.0, self.believed.1),
            share(self.kept.1, self.believed.0),
        )
    }

    /// The recall in that interval, of so many true claims.
    pub fn recall(&self, of_true: usize) -> (f64, f64) {
        (
            self.kept.0 as f64 / of_true as f64,
            self.kept.1 as f64 / of_true as f64,
        )
    }

    /// Returns whether so many true and false claims that survived are in it.
    pub fn holds(&self, kept: usize, believed: usize) -> bool {
        (self.kept.0..=self.kept.1).contains(&kept)
            && (self.believed.0..=self.believed.1).contains(&believed)
    }
}

/// The values between which a binomial draw lies with 99 %: half of the rest is on each side.
fn interval(n: usize, p: f64) -> (usize, usize) {
    if p <= 0.0 || p >= 1.0 {
        let all = if p >= 1.0 { n } else { 0 };
        return (all, all);
    }
    let mut log = n as f64 * (1.0 - p).ln();
    let mut below = 0.0;
    let mut least = None;
    for k in 0..=n {
        below += log.exp();
        if least.is_none() && below > 0.005 {
            least = Some(k);
        }
        if below >= 0.995 {
            return (least.unwrap_or(k), k);
        }
        log += ((n - k) as f64 / (k + 1) as f64).ln() + (p / (1.0 - p)).ln();
    }
    (least.unwrap_or(n), n)
}
