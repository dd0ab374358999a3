//! The tools of a client behind those of the server: they come and go with its words.

use super::client::{ClientTools, PREFIX};
use super::{Shelf, Toolbox};
use crate::crowd::TOOLS_MAX;
use thinkd_words::id::Space;

/// Fewest tools of the server beside those of a client.
const OWN_LEAST: usize = 8;

impl Shelf {
    /// The tools that there are now in a space, and behind them those that a client offers, for a
    /// model that takes so many at most. Where that is too many, tools of the server are rare.
    pub fn offering(&self, space: &Space, most: Option<usize>, client: &ClientTools) -> Toolbox {
        let most = most.unwrap_or(TOOLS_MAX).min(TOOLS_MAX);
        let count = client.offer.tools.len();
        let own = self.within(space, most);
        let own = match own.specs().list.len() + count > most {
            true => self.within(space, most.saturating_sub(count).max(OWN_LEAST)),
            false => own,
        };
        let more = client.tools(&own.names());
        let tools = own.0.tools.iter().cloned().chain(more).collect();
        Toolbox::of(tools, own.0.rare.clone(), most, own.0.said.clone())
    }
}

impl Toolbox {
    /// Returns the names under which a model is told of tools that a client names so.
    pub fn told_as(&self, names: &[String]) -> Vec<String> {
        let told = |name: &String| {
            let prefixed = format!("{PREFIX}{name}");
            match self.get(&prefixed) {
                Some(_) => prefixed,
                None => name.clone(),
            }
        };
        names.iter().map(told).collect()
    }
}
