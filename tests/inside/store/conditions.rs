//! Conditions of appends: a decision made by names that are one is stored only while they still
//! are.

use std::sync::Arc;

use thinkd::event::condition::Condition;
use thinkd::event::draft::Draft;
use thinkd::event::entity::{Merge, Unmerge};
use thinkd::log::appended::Append;
use thinkd::log::error::StoreError;
use thinkd::log::kernel::Store;
use thinkd::words::id::{Space, ThreadId, fresh};

use super::{append, append_one, draft, media, open, space};

fn merged(names: [&str; 2]) -> Draft {
    let names = names.map(str::to_owned).to_vec();
    let merge = Merge {
        names,
        reason: "one person".into(),
        by: Some("ann".into()),
        statement: None,
    };
    Draft::merged(&ThreadId::default(), fresh(), merge)
}

/// Returns true if a draft is stored under the condition that no names were merged since an event;
/// behind some drafts of the same append. Panics on any other error.
async fn is_stored(store: &Arc<dyn Store>, space: &Space, seq: i64, before: Vec<Draft>) -> bool {
    let decided = draft("main", "decided", &[]).only_if(Condition::NoneMergedSince(seq));
    let drafts = before.into_iter().chain([decided]).collect();
    match store.append(Append::free(space, drafts)).await {
        Ok(_) => true,
        Err(StoreError::Unmet(Condition::NoneMergedSince(unmet))) if unmet == seq => false,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn d1_what_is_decided_by_names_is_stored_only_if_none_were_merged_since() {
    for medium in media().await {
        let store = open(&medium).await;
        let other = Space::parse("another").unwrap();
        let first = append_one(&store, draft("main", "hello", &[])).await.seq;
        assert!(is_stored(&store, &space(), first, Vec::new()).await);
        let merge = append_one(&store, merged(["Alma", "A. Soto"])).await;
        assert!(
            !is_stored(&store, &space(), first, Vec::new()).await,
            "a merge behind it"
        );
        assert!(!is_stored(&store, &space(), merge.seq - 1, Vec::new()).await);
        assert!(
            is_stored(&store, &space(), merge.seq, Vec::new()).await,
            "who knows of it"
        );
        assert!(
            is_stored(&store, &other, 0, Vec::new()).await,
            "names of another space are its own"
        );
        let names = vec!["Alma".to_owned(), "A. Soto".to_owned()];
        let unmerge = Unmerge {
            merge: merge.event_id.to_string(),
            names,
            reason: "two people".into(),
            by: None,
        };
        let undone = append_one(&store, Draft::unmerged(&ThreadId::default(), unmerge))
            .await
            .seq;
        assert!(
            !is_stored(&store, &space(), merge.seq, Vec::new()).await,
            "what is undone has changed, too"
        );
        assert!(is_stored(&store, &space(), undone, Vec::new()).await);
        // Nothing of an append is stored whose condition is not met.
        let text = || draft("main", "beside", &[]);
        let head = append(&store, vec![text()]).await[0].shown.event.seq;
        assert!(
            !is_stored(
                &store,
                &space(),
                merge.seq,
                vec![text(), merged(["B", "C"])]
            )
            .await
        );
        assert_eq!(store.head(&space()).await.unwrap().seq, head);
        store.close().await;
    }
}
