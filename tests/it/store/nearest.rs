//! The index of vectors: pgvector's, where Postgres has it; elsewhere it is refused by name.

use std::sync::Arc;

use serde_json::json;
use sha2::{Digest as _, Sha256};
use sqlx::{Connection as _, Executor as _, PgConnection};
use thinkd::event::draft::Draft;
use thinkd::event::statement::{Claim, Claimant, Judged, Source};
use thinkd::event::trial::News;
use thinkd::log::kernel::Store;
use thinkd::log::vectors::{Entry, IndexOf, Maker, PAGE, Search, VectorChange};
use thinkd::recall::vectors::Vector;
use thinkd::words::id::{ThreadId, fresh};

use super::{append, media, open, space};
use crate::support::Medium;

const MAKER: (&str, u32) = ("a model'; drop table events; --", 64);

fn of() -> IndexOf {
    IndexOf {
        space: space(),
        maker: Maker {
            model: MAKER.0.into(),
            dimensions: MAKER.1,
        },
    }
}

/// What the log says of a statement.
pub(super) fn judged(id: &str, outcome: &str) -> Draft {
    let judged: Judged = serde_json::from_value(json!({
        "outcome": outcome, "reason": "planted", "valid": { "from": null, "to": null }, "carried": ["code"],
        "survived": 1, "tries": 0, "reopened": 0, "due": null, "others": [], "by": null, "tried": false,
    }))
    .unwrap();
    Draft::statement(&ThreadId::default(), id, News::Judged(judged))
}

/// So many statements that are held, with vectors around a few centres, as texts of a few subjects have them.
pub(super) async fn planted(store: &Arc<dyn Store>, count: usize) -> Vec<(String, Vector)> {
    let mut state = 1_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
    };
    let mut numbers = |about: Option<&Vec<f32>>| -> Vec<f32> {
        (0..64)
            .map(|at| about.map_or(0.0, |about| 1.5 * about[at]) + random())
            .collect()
    };
    let centres: Vec<Vec<f32>> = (0..20).map(|_| numbers(None)).collect();
    let mut all = Vec::new();
    for number in 0..count {
        let vector = Vector::of(&numbers(Some(&centres[number % 20]))).unwrap();
        all.push((fresh(), format!("Statement {number}."), vector));
    }
    for some in all.chunks(250) {
        let drafts = some.iter().flat_map(|(id, text, _)| {
            let source = Source {
                by: Claimant::Mind,
                seqs: Vec::new(),
                quote: None,
            };
            let [claimed, _] = Draft::claimed(
                &ThreadId::default(),
                *id,
                Claim {
                    text: text.clone(),
                    source,
                    premises: Vec::new(),
                    root: None,
                },
            );
            [claimed, judged(&id.to_string(), "surviving")]
        });
        append(store, drafts.collect()).await;
    }
    all.into_iter()
        .map(|(id, _, vector)| (id.to_string(), vector))
        .collect()
}

fn entries(all: &[(String, Vector)]) -> Vec<Entry> {
    let entry = |(id, vector): &(String, Vector)| Entry {
        statement: id.clone(),
        hash: Sha256::digest(id).into(),
        parts: vector.parts().to_vec(),
    };
    all.iter().map(entry).collect()
}

/// The nearest ten by holding a vector beside each other one.
fn scanned(all: &[(String, Vector)], vector: &Vector) -> Vec<String> {
    let mut all: Vec<(f32, &String)> = all
        .iter()
        .map(|(id, other)| (other.cosine(vector), id))
        .collect();
    all.sort_by(|one, other| other.0.total_cmp(&one.0));
    all.into_iter().take(10).map(|(_, id)| id.clone()).collect()
}

#[tokio::test]
async fn d1_05_an_index_of_vectors_finds_the_nearest_that_are_held_or_says_why_there_is_none() {
    for medium in media().await {
        let store = open(&medium).await;
        let opened = store.open_index(&of()).await.unwrap();
        if !medium.has_pgvector().await {
            let why = opened.unwrap_err();
            let expected = if medium.is_postgres() {
                "this Postgres has no pgvector"
            } else {
                "has no index of vectors"
            };
            assert!(why.contains(expected) && why.contains("pgvector"), "{why}");
            store.close().await;
            continue;
        }
        let software = opened.unwrap();
        assert!(software.starts_with("pgvector 0."), "{software}");
        let all = planted(&store, 2000).await;
        for page in entries(&all).chunks(PAGE) {
            store.index_vectors(&of(), page.to_vec()).await.unwrap();
        }
        // Recall@10 against the scan, and the exact search of the database is that scan.
        let (mut found, mut asked) = (0, 0);
        for (_, vector) in all.iter().step_by(40) {
            let expected = scanned(&all, vector);
            let ids = async |search| {
                let found = store
                    .nearest(&of(), vector.parts(), 10, search)
                    .await
                    .unwrap();
                found.into_iter().map(|it| it.0).collect::<Vec<_>>()
            };
            // Lengths are rounded with the numbers: what is as near as the tenth may change places with it.
            let same = ids(Search::Exact)
                .await
                .into_iter()
                .filter(|id| expected.contains(id))
                .count();
            assert!(same >= 9, "{same} of {}", expected.len());
            let indexed = ids(Search::Indexed).await;
            found += expected.iter().filter(|id| indexed.contains(id)).count();
            asked += expected.len();
        }
        assert!(
            asked == 500 && found * 100 >= asked * 98,
            "{found} of {asked}"
        );
        // Control: near to another vector are others.
        let near = store
            .nearest(&of(), all[1].1.parts(), 10, Search::Indexed)
            .await
            .unwrap();
        let expected = scanned(&all, &all[0].1);
        assert!(
            near.iter().filter(|it| expected.contains(&it.0)).count() < 5,
            "{near:?}"
        );
        // What is there is known by its text, too; another text takes its place.
        let first = |text: &str| [(all[0].0.clone(), Sha256::digest(text).into())];
        assert_eq!(
            store.indexed(&of(), &first(&all[0].0)).await.unwrap(),
            [all[0].0.clone()]
        );
        assert!(
            store
                .indexed(&of(), &first("another text"))
                .await
                .unwrap()
                .is_empty()
        );
        // What is withdrawn is gone with its row, as many as it may be, and leaves the index when it is tidied.
        let near = store
            .nearest(&of(), all[0].1.parts(), 10, Search::Exact)
            .await
            .unwrap();
        let is_held = |id: &String| all[1500..].iter().any(|it| it.0 == *id);
        assert!(
            !near.iter().all(|it| is_held(&it.0)),
            "control: those that are withdrawn next are found before"
        );
        let withdrawn = all.iter().take(1500).map(|(id, _)| judged(id, "falsified"));
        append(&store, withdrawn.collect()).await;
        for search in [Search::Exact, Search::Indexed] {
            let found = store
                .nearest(&of(), all[0].1.parts(), 10, search)
                .await
                .unwrap();
            assert!(
                found.len() == 10 && found.iter().all(|it| is_held(&it.0)),
                "{search:?}: {found:?}"
            );
        }
        store.tidy_index(&of()).await.unwrap();
        assert_eq!(rows(&medium).await, Some(500));
        // Those of other makers go with their vectors.
        store
            .change_vectors(VectorChange::KeepOnly(of().maker))
            .await
            .unwrap();
        assert_eq!(rows(&medium).await, Some(500));
        let other = Maker {
            dimensions: 65,
            ..of().maker
        };
        store
            .change_vectors(VectorChange::KeepOnly(other))
            .await
            .unwrap();
        assert_eq!(rows(&medium).await, None);
        assert!(
            store.open_index(&of()).await.unwrap().is_ok(),
            "it is made again"
        );
        let long = IndexOf {
            maker: Maker {
                dimensions: 4001,
                ..of().maker
            },
            ..of()
        };
        assert!(
            store
                .open_index(&long)
                .await
                .unwrap()
                .unwrap_err()
                .contains("4000 numbers at most")
        );
        store.close().await;
    }
}

/// How many vectors the index has; none: there is no table.
async fn rows(medium: &Medium) -> Option<i64> {
    let mut connection = PgConnection::connect(medium.url()).await.unwrap();
    let text = format!("select count(*) from {}", of().table());
    sqlx::query_scalar(sqlx::AssertSqlSafe(text))
        .fetch_one(&mut connection)
        .await
        .ok()
}

#[tokio::test]
async fn a_role_that_may_not_install_pgvector_is_told_who_may() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let (admin, name) = medium.admin().unwrap();
    let mut superuser = PgConnection::connect(medium.url()).await.unwrap();
    let role = format!("{name}_limited");
    for text in [
        format!("create role {role} login"),
        format!("grant all on schema public to {role}"),
    ] {
        superuser.execute(sqlx::AssertSqlSafe(text)).await.unwrap();
    }
    let url = medium.url().replacen("//thinkd@", &format!("//{role}@"), 1);
    assert_ne!(
        url,
        medium.url(),
        "the test's own cluster has the role thinkd: {admin}"
    );
    let store = thinkd::log::store::open(&url, Default::default(), super::project)
        .await
        .unwrap();
    let expected = if medium.has_pgvector().await {
        "let a superuser run `create extension vector`"
    } else {
        "no pgvector"
    };
    for why in [store.look_for_index().await, store.open_index(&of()).await] {
        let why = why.unwrap().unwrap_err();
        assert!(why.contains(expected), "{why}");
    }
    if medium.has_pgvector().await {
        superuser.execute("create extension vector").await.unwrap();
        assert!(
            store
                .look_for_index()
                .await
                .unwrap()
                .unwrap()
                .starts_with("pgvector 0.")
        );
        assert!(
            store.open_index(&of()).await.unwrap().is_ok(),
            "once it is there no right is needed"
        );
    }
    store.close().await;
    let text =
        format!("reassign owned by {role} to thinkd; drop owned by {role}; drop role {role}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(text))
        .execute(&mut superuser)
        .await
        .unwrap();
}
