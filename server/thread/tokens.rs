//! Tokens of model calls, as far as providers said. Nothing is decided by them: budgets count their own (`quota.rs`).

use thinkd_event::fact::calls::Record;

/// Tokens, as far as providers said; null: none of them said any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, utoipa::ToSchema)]
#[schema(as = TokenCounts)]
pub struct Tokens {
    /// Of requests.
    pub input: Option<u64>,
    /// Of answers.
    pub output: Option<u64>,
    /// Of requests, from the provider's cache.
    pub cached: Option<u64>,
}

impl Tokens {
    /// Adds those of a call.
    pub fn add(&mut self, record: &Record<'_>) {
        let said = |key: &str| record.get("usage")?.get(key)?.as_u64();
        self.join(&Self {
            input: said("input_tokens"),
            output: said("output_tokens"),
            cached: said("cached_tokens"),
        });
    }

    /// Adds others.
    pub fn join(&mut self, more: &Self) {
        let sums = [
            (&mut self.input, more.input),
            (&mut self.output, more.output),
            (&mut self.cached, more.cached),
        ];
        for (sum, more) in sums {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        }
    }

    /// In and out, as far as they are known.
    pub fn all(&self) -> u64 {
        let output = self.output.unwrap_or(0);
        self.input.unwrap_or(0).saturating_add(output)
    }
}
