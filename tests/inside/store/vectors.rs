//! Vectors in a store: kept by model, dimensions and hash, for all spaces together.

use thinkd::log::vectors::{Hash, Maker, VectorChange};

use super::{media, open};

fn maker(model: &str, dimensions: u32) -> Maker {
    Maker {
        model: model.into(),
        dimensions,
    }
}

fn hash(number: u8) -> Hash {
    [number; 32]
}

#[tokio::test]
async fn vectors_are_kept_by_model_dimensions_and_hash() {
    for medium in media().await {
        let store = open(&medium).await;
        let small = maker("m", 3);
        let large = maker("m", 5);
        let other = maker("n", 3);
        let put = |of: &Maker, all: Vec<(Hash, Vec<u8>)>| {
            store.change_vectors(VectorChange::Put(of.clone(), all))
        };
        put(&small, vec![(hash(1), vec![1, 0, 255]), (hash(2), vec![2])])
            .await
            .unwrap();
        assert_eq!(
            store.other_dimensions(&small).await.unwrap(),
            None,
            "{}",
            medium.url()
        );
        put(&small, vec![(hash(1), vec![9]), (hash(3), vec![3])])
            .await
            .unwrap();
        put(&large, vec![(hash(1), vec![7])]).await.unwrap();
        put(&other, vec![(hash(1), vec![8])]).await.unwrap();
        let asked = [hash(3), hash(1), hash(9)];
        let mut found = store.vectors(&small, &asked).await.unwrap();
        found.sort();
        assert_eq!(
            found,
            [(hash(1), vec![1, 0, 255]), (hash(3), vec![3])],
            "what is there stays: {}",
            medium.url()
        );
        assert_eq!(store.other_dimensions(&small).await.unwrap(), Some(5));
        assert_eq!(store.other_dimensions(&large).await.unwrap(), Some(3));
        assert_eq!(store.other_dimensions(&other).await.unwrap(), None);
        store
            .change_vectors(VectorChange::KeepOnly(large.clone()))
            .await
            .unwrap();
        assert_eq!(store.vectors(&small, &asked).await.unwrap(), []);
        assert_eq!(store.vectors(&other, &asked).await.unwrap(), []);
        assert_eq!(
            store.vectors(&large, &asked).await.unwrap(),
            [(hash(1), vec![7])]
        );
        store.close().await;
        drop(store);
        let store = open(&medium).await;
        assert_eq!(
            store.vectors(&large, &asked).await.unwrap(),
            [(hash(1), vec![7])],
            "they outlive the store"
        );
        store.close().await;
    }
}
