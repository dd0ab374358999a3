//! A cache by arguments, over runs.

use std::sync::atomic::{AtomicUsize, Ordering};

use unhurried::{
    Cache, Context, Journal, JournalStore, MemoryStore, NodeExecutionError, Run, Stats, all, node,
    wrap,
};

#[node]
async fn embed(text: String, size: usize) -> Vec<u8> {
    text.bytes().cycle().take(size).collect()
}

#[node(name = "embed")]
async fn another_of_this_name(text: String, size: usize) -> String {
    text.repeat(size)
}

#[node(name = "embed", version = 2)]
async fn better(text: String, size: usize) -> Vec<u8> {
    embed_by_hand(&text, size)
}

fn embed_by_hand(text: &str, size: usize) -> Vec<u8> {
    text.bytes().rev().cycle().take(size).collect()
}

fn text(text: &str) -> Context<String> {
    Context::new(text.to_owned())
}

/// Reads in a run of its own, and says how often nodes of this name ran meanwhile.
async fn ran<T: unhurried::Value>(
    cache: &Cache,
    name: &str,
    make: impl FnOnce() -> Context<T>,
) -> (T, u64) {
    let stats = Stats::default();
    let run = Run::new("run").hook(cache.clone()).hook(stats.clone());
    let value = run.scope(async { make().await }).await.unwrap();
    (value, stats.node(name).executions)
}

#[tokio::test]
async fn a_value_is_given_again_for_the_same_arguments_in_another_run() {
    let cache = Cache::of(["embed"]);
    for (word, size, times) in [
        ("ab", 3, 1),
        ("ab", 3, 0),
        ("ab", 2, 1),
        ("ba", 3, 1),
        ("ba", 3, 0),
        ("ab", 2, 0),
    ] {
        let (value, ran) = ran(&cache, "embed", || embed(text(word), size)).await;
        assert_eq!(
            (value, ran),
            (word.bytes().cycle().take(size).collect(), times),
            "{word} {size}"
        );
    }
}

#[tokio::test]
async fn another_version_and_another_node_of_the_name_are_others() {
    let cache = Cache::of(["embed"]);
    assert_eq!(
        ran(&cache, "embed", || embed(text("ab"), 2)).await,
        (b"ab".to_vec(), 1)
    );
    assert_eq!(
        ran(&cache, "embed", || better(text("ab"), 2)).await,
        (b"ba".to_vec(), 1)
    );
    assert_eq!(
        ran(&cache, "embed", || another_of_this_name(text("ab"), 2)).await,
        ("abab".to_owned(), 1)
    );
}

#[tokio::test]
async fn only_what_is_named_is_cached() {
    let cache = Cache::of(["other"]);
    for _ in 0..2 {
        assert_eq!(ran(&cache, "embed", || embed(text("ab"), 2)).await.1, 1);
    }
}

#[tokio::test]
async fn the_oldest_goes_when_there_are_too_many() {
    let cache = Cache::of(["embed"]).at_most(2);
    for (word, times) in [
        ("a", 1),
        ("b", 1),
        ("a", 0),
        ("c", 1),
        ("b", 0),
        ("c", 0),
        ("a", 1),
    ] {
        assert_eq!(
            ran(&cache, "embed", || embed(text(word), 1)).await.1,
            times,
            "{word}"
        );
    }
}

static TRIED: AtomicUsize = AtomicUsize::new(0);

#[node]
async fn second_time(n: u64) -> Result<u64, String> {
    if TRIED.fetch_add(1, Ordering::SeqCst) == 0 {
        Err("not yet".to_owned())
    } else {
        Ok(n)
    }
}

#[tokio::test]
async fn a_failure_is_not_kept() {
    let cache = Cache::of(["second_time"]);
    let read = || {
        Run::new("run")
            .hook(cache.clone())
            .scope(async { second_time(Context::new(1)).await })
    };
    read().await.unwrap_err();
    assert_eq!((read().await.unwrap(), read().await.unwrap()), (1, 1));
    assert_eq!(TRIED.load(Ordering::SeqCst), 2);
}

#[derive(Clone)]
struct NotData;

#[node]
async fn opaque(n: u64, _with: NotData) -> u64 {
    n
}

#[node(ignore(_with))]
async fn left_out(n: u64, _with: NotData) -> u64 {
    n
}

#[tokio::test]
async fn an_argument_that_is_no_data_is_said_and_may_be_left_out() {
    let run = || Run::new("run").hook(Cache::of(["opaque", "left_out", "wrapped"]));
    let cause = async |read: Result<u64, NodeExecutionError>| read.unwrap_err().cause().to_string();
    let refused = cause(
        run()
            .scope(async { opaque(Context::new(1), NotData).await })
            .await,
    )
    .await;
    assert!(refused.contains("`_with` is not data"), "{refused}");
    assert_eq!(
        run()
            .scope(async { left_out(Context::new(1), NotData).await })
            .await
            .unwrap(),
        1
    );
    let wrapped = wrap("wrapped", |n: u64| async move { Ok::<_, String>(n) });
    let _ = run()
        .scope(async { wrapped.call(Context::new(1)).await })
        .await; // whatever it is, it is no panic
}

#[tokio::test]
async fn a_journal_around_a_cache_records_what_the_cache_gave() {
    let cache = Cache::of(["embed"]);
    let store = MemoryStore::default();
    for id in ["one", "two"] {
        let run = Run::new(id)
            .hook(Journal::new(store.clone()))
            .hook(cache.clone());
        run.scope(async { all([embed(text("ab"), 2)]).await })
            .await
            .unwrap();
        assert_eq!(
            store.find(id, "1").await.unwrap().unwrap().value,
            serde_json::json!([97, 98])
        );
    }
}

mod english {
    use unhurried::node;

    #[node]
    pub async fn spoken(text: String) -> String {
        format!("en:{text}")
    }
}

mod german {
    use unhurried::node;

    #[node]
    pub async fn spoken(text: String) -> String {
        format!("de:{text}")
    }

    pub mod swiss {
        use unhurried::node;

        #[node(name = "spoken")]
        pub async fn said(text: String) -> String {
            format!("ch:{text}")
        }
    }
}

#[tokio::test]
async fn nodes_of_one_name_in_two_modules_are_two() {
    let cache = Cache::of(["spoken"]);
    for times in [1, 0] {
        let (value, count) = ran(&cache, "spoken", || english::spoken(text("owl"))).await;
        assert_eq!((&*value, count), ("en:owl", times));
        let (value, count) = ran(&cache, "spoken", || german::spoken(text("owl"))).await;
        assert_eq!((&*value, count), ("de:owl", times));
        let (value, count) = ran(&cache, "spoken", || german::swiss::said(text("owl"))).await;
        assert_eq!((&*value, count), ("ch:owl", times));
    }
}

#[tokio::test]
async fn a_journal_refuses_a_node_of_the_same_name_of_another_module() {
    let store = MemoryStore::default();
    let read = |context: fn(Context<String>) -> Context<String>| {
        let run = Run::new("one").hook(Journal::new(store.clone()));
        async move { run.scope(async move { context(text("owl")).await }).await }
    };
    assert_eq!(*read(english::spoken).await.unwrap(), *"en:owl");
    let refused = read(german::spoken).await.unwrap_err();
    let said = format!("{:?}", refused);
    assert!(
        said.contains("english::spoken") && said.contains("german::spoken"),
        "{said}"
    );
    // What was recorded before modules were is taken as it was.
    let record = store.find("one", "1").await.unwrap().unwrap();
    let mut older = serde_json::to_value(&record).unwrap();
    older["arguments"]
        .as_object_mut()
        .unwrap()
        .remove("(module)")
        .unwrap();
    store.forget("one").await.unwrap();
    store
        .keep("one", serde_json::from_value(older).unwrap())
        .await
        .unwrap();
    assert_eq!(*read(english::spoken).await.unwrap(), *"en:owl");
}
