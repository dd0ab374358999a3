//! Tools for which a request has no room: another tool opens them.

use std::sync::Arc;

use super::{Opener, Shelf, Toolbox};
use crate::crowd;
use crate::layers::layered;
use crate::tool::Tool;
use thinkd_words::id::Space;

impl Shelf {
    /// The tools that there are now in a space, for a model that takes so many at most.
    pub fn within(&self, space: &Space, most: usize) -> Toolbox {
        let toolbox = self.now(space);
        if most >= crowd::TOOLS_MAX {
            return toolbox;
        }
        let told = &toolbox.specs().list;
        let names: Vec<&str> = told.iter().map(|tool| tool.name.as_str()).collect();
        let mut tools = toolbox.0.tools.clone();
        let mut rare = toolbox.0.rare.clone();
        if let Some(opener) = self.opener {
            let (_, more) = crowd::within(most, &names);
            rare.extend(more.into_iter().map(str::to_owned));
            if !rare.is_empty() {
                self.open_with(opener, &mut tools, &rare);
            }
        }
        Toolbox::of(tools, rare, most, toolbox.0.said.clone())
    }

    /// Puts the tool that opens these in the place of the one that opens fewer.
    pub(super) fn open_with(
        &self,
        opener: Opener,
        tools: &mut Vec<Arc<dyn Tool>>,
        rare: &[String],
    ) {
        match opener(&self.supplies, rare.to_vec()) {
            Ok(opener) => {
                let opener = layered(opener, &self.supplies);
                let name = opener.spec().name().to_owned();
                match tools.iter_mut().find(|tool| tool.spec().name() == name) {
                    Some(known) => *known = opener,
                    None => tools.push(opener),
                }
            }
            // Its prompt was read at the start.
            Err(error) => tracing::error!(%error, "tools cannot be opened"),
        }
    }
}
