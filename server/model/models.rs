//! The choice of a model: the module's own, or the one of its tier.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::provider::{AskedModel, Model, Pieces, Prepared, Request, Tier};
use thinkd_words::failure::Who;

/// The models of a mind; itself a model.
#[derive(Clone)]
pub struct Models {
    low: Arc<dyn Model>,
    high: Arc<dyn Model>,
    /// By `decision`, `submodule:<name>`, …: a model of its own at either tier.
    by_module: BTreeMap<String, Arc<dyn Model>>,
}

impl Models {
    /// A model for each tier. A tier without one of its own is the other; without any there is nothing to ask.
    pub fn new(low: Option<Arc<dyn Model>>, high: Option<Arc<dyn Model>>) -> Option<Self> {
        let (low, high) = match (low, high) {
            (Some(low), Some(high)) => (low, high),
            (Some(only), None) | (None, Some(only)) => (only.clone(), only),
            (None, None) => return None,
        };
        Some(Self {
            low,
            high,
            by_module: BTreeMap::new(),
        })
    }

    /// The same, with a model for one module alone: `decision`, `submodule:<name>`, ….
    #[must_use]
    pub fn with_module(mut self, module: impl Into<String>, model: Arc<dyn Model>) -> Self {
        self.by_module.insert(module.into(), model);
        self
    }

    fn of(&self, module: &Who, tier: Tier) -> &dyn Model {
        let own = match self.by_module.is_empty() {
            true => None,
            false => self.by_module.get(&module.to_string()),
        };
        let tiered = match tier {
            Tier::Low => &self.low,
            Tier::High => &self.high,
        };
        own.unwrap_or(tiered).as_ref()
    }
}

impl Model for Models {
    fn prepare(&self, request: &Request) -> Prepared {
        self.of(&request.module, request.tier).prepare(request)
    }

    fn ask(&self, prepared: Prepared) -> Pieces {
        self.of(&prepared.module, prepared.tier).ask(prepared)
    }

    fn asked(&self, module: &Who, tier: Tier) -> String {
        self.of(module, tier).asked(module, tier)
    }

    fn name(&self) -> String {
        let mut names = vec![self.low.name()];
        if !Arc::ptr_eq(&self.low, &self.high) {
            names.push(format!("high: {}", self.high.name()));
        }
        let own = self.by_module.iter();
        names.extend(own.map(|(module, model)| format!("{module}: {}", model.name())));
        names.join("; ")
    }

    fn known(&self) -> Vec<AskedModel> {
        let tiers = [("low", &self.low), ("high", &self.high)];
        let own = self.by_module.iter();
        let own = own.map(|(module, model)| (module.as_str(), model));
        let mut list: Vec<(Arc<dyn Model>, AskedModel)> = Vec::new();
        for (asker, model) in tiers.into_iter().chain(own) {
            match list.iter_mut().find(|(known, _)| Arc::ptr_eq(known, model)) {
                Some((_, known)) => known.of.push(asker.to_owned()),
                None => {
                    let found = model.known().into_iter().map(|it| AskedModel {
                        of: vec![asker.to_owned()],
                        ..it
                    });
                    list.extend(found.map(|known| (model.clone(), known)));
                }
            }
        }
        list.into_iter().map(|(_, known)| known).collect()
    }
}
