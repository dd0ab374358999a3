//! Vectors of a real model for texts that no server has: they are stored as those of statements are, and taken from there.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use thinkd::event::draft::Draft;
use thinkd::event::statement::{Claim, Claimant, Judged, Source};
use thinkd::event::trial::News;
use thinkd::log::appended::Append;
use thinkd::log::kernel::Store;
use thinkd::model::embedding::Embeddings;
use thinkd::recall::held::Held;
use thinkd::recall::meaning::{Meaning, Meant};
use thinkd::recall::options::Options;
use thinkd::recall::view::View;
use thinkd::words::id::{Space, ThreadId, fresh};

use kit::{Medium, stored};

/// A model, and a store for its vectors.
pub struct Vectors {
    meaning: Arc<Meaning>,
    store: Arc<dyn Store>,
    _medium: Medium,
}

impl Vectors {
    /// Returns the vectors of e5-small, at the endpoint that `THINKD_E5` names; none where it is
    /// not set.
    pub async fn e5() -> Option<Self> {
        let url = std::env::var("THINKD_E5").ok()?;
        let _ = rustls::crypto::ring::default_provider().install_default();
        let model = json!({ "model": "intfloat/multilingual-e5-small", "base_url": url, "timeout_ms": 600_000 });
        let model = Embeddings::new(serde_json::from_value(model).unwrap()).unwrap();
        let medium = Medium::sqlite();
        let store = stored::open_at(medium.url()).await;
        let options = Options {
            question_prefix: "query: ".into(),
            statement_prefix: "passage: ".into(),
            wait: Duration::from_secs(600),
            ..Options::default()
        };
        let meaning = Meaning::new(store.clone(), Arc::new(model), options);
        Some(Self {
            meaning,
            store,
            _medium: medium,
        })
    }

    /// Gives a view the vectors of its statements, and returns the meanings of questions.
    pub async fn of(
        &self,
        view: &mut View,
        held: &[Held],
        questions: impl Iterator<Item = &str>,
    ) -> Vec<Meant> {
        for some in held.chunks(250) {
            let drafts = some.iter().flat_map(|held| claimed(&held.text)).collect();
            self.store
                .append(Append::free(&Space::default(), drafts))
                .await
                .unwrap();
        }
        self.meaning.reembed(|_, _, _| {}).await.unwrap();
        let mut all = Vec::new();
        for question in questions {
            let meant = self.meaning.of_past(view, question).await;
            assert_eq!(meant.without, None);
            all.push(meant);
        }
        all
    }

    /// Gives a view the vectors of its statements that it lacks, and that were made.
    pub async fn fill(&self, view: &mut View) {
        assert_eq!(self.meaning.of_past(view, "anything").await.without, None);
    }
}

/// A statement that is held.
fn claimed(text: &str) -> [Draft; 2] {
    let thread = ThreadId::default();
    let id = fresh();
    let source = Source {
        by: Claimant::Mind,
        seqs: Vec::new(),
        quote: None,
        word: false,
    };
    let judged: Judged = serde_json::from_value(json!({
        "outcome": "surviving", "reason": "planted", "valid": { "from": null, "to": null }, "carried": ["code"],
        "survived": 1, "tries": 0, "reopened": 0, "due": null, "others": [], "by": null, "tried": false,
    }))
    .unwrap();
    let [claimed, _] = Draft::claimed(
        &thread,
        id,
        Claim {
            text: text.to_owned(),
            source,
            premises: Vec::new(),
            root: None,
        },
    );
    [
        claimed,
        Draft::statement(&thread, &id.to_string(), News::Judged(judged)),
    ]
}
