//! Full text: one tokenizer, both databases, many languages. Rows that follow from events.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};
use thinkd::event::draft::Draft;
use thinkd::event::envelope::Event;
use thinkd::log::appended::Append;
use thinkd::log::kernel::Store;
use thinkd::log::projections::entries::EntryRow;
use thinkd::log::query::Query;
use thinkd::log::status::Status;
use thinkd::log::words;
use thinkd::words::id::{Space, ThreadId};

use super::{append, append_one, draft, input, media, note, open, space, thread};
use kit::stored::execute;

/// A text, the searches that find it, the searches that do not.
const TEXTS: [(&str, &[&str], &[&str]); 40] = [
    (
        "The quick brown fox jumped.",
        &["fox", "FOX quick", "jumped brown"],
        &["foxes", "qui", "fox dog"],
    ),
    (
        "Die Straße in Düsseldorf",
        &["strasse", "STRASSE", "straße düsseldorf", "DÜSSELDORF"],
        &["dusseldorf", "stras"],
    ),
    (
        "Un café à la crème",
        &["CAFÉ", "crème", "cre\u{300}me"],
        &["cafe"],
    ),
    (
        "東京都に行きました。",
        &["東京", "京都", "行きました", "都"],
        &["大阪", "東都"],
    ),
    ("今天天气很好", &["天气", "今天 很好", "好"], &["天今"]),
    ("Привет, мир!", &["привет", "МИР"], &["при"]),
    ("ﬁne ｗｉｄｅ ½", &["fine", "wide"], &["ne"]),
    (
        "set user_name to e-mail@example.org",
        &["user", "name", "user_name", "mail example"],
        &["username"],
    ),
    ("สวัสดีครับ", &["สวัสดี", "ครับ"], &["ขอบ"]),
    // Hangul: particles are written onto the noun.
    (
        "내일 회의를 취소합니다",
        &["회의", "회의를", "내일 회의", "취소", "회", "회의 취소"],
        &["회사", "일회"],
    ),
    ("ㅋㅋㅋ 좋아요 API를", &["ㅋㅋ", "좋아", "api"], &["나빠"]),
    // Arabic: vowels and the tatweel are read and not typed; hamzas and a final yeh often not.
    ("السَّلَامُ عَلَيْكُمْ", &["السلام", "عليكم", "السَّلَامُ"], &["سلام"]),
    (
        "مـــرحـبـا أحمد في مدرسة",
        &["مرحبا", "احمد", "أحمد", "مدرسه"],
        &["مرحب"],
    ),
    (
        "شوقي إلى المستشفى ٣٤٥",
        &["الى", "إلي", "المستشفي", "345", "٣٤٥"],
        &["34"],
    ),
    // Persian: a joiner stands where no space does; keyboards have other letters for yeh and kaf.
    (
        "می\u{200c}خواهم کتاب",
        &["می\u{200c}خواهم", "میخواهم", "كتاب"],
        &["خواهم"],
    ),
    // Hebrew: points and accents.
    (
        "שָׁלוֹם עוֹלָם בְּרֵאשִׁ֖ית",
        &["שלום", "עולם", "בראשית", "שָׁלוֹם"],
        &["שלו"],
    ),
    ("שלום", &["שָׁלוֹם"], &[]),
    ("צה\u{5f4}ל", &["צה\"ל", "צה״ל"], &["צהל"]),
    // Syriac points.
    ("ܫܠܳܡܳܐ", &["ܫܠܡܐ"], &[]),
    // Turkish: the dot of the capital, and the small letter of `I`.
    (
        "İstanbul'da IŞIK var",
        &[
            "istanbul",
            "İSTANBUL",
            "ISTANBUL",
            "ışık",
            "IŞIK",
            "istanbul'da",
        ],
        &["ıstanbulda"],
    ),
    // Greek: capitals have no accents; the last sigma.
    (
        "Η Αθήνα, ὁ Ὀδυσσεύς και ΟΔΟΣ",
        &[
            "ΑΘΗΝΑ",
            "αθήνα",
            "αθηνα",
            "Οδυσσεύς",
            "οδυσσευσ",
            "οδός",
            "οδος",
        ],
        &["αθην"],
    ),
    // Cyrillic: the stress, and the dots of `ё`; `й` is a letter.
    (
        "Ёлка и за\u{301}мок, чай",
        &["елка", "ёлка", "замок", "чай"],
        &["чаи"],
    ),
    ("їжак", &["їжак"], &["іжак"]),
    // Devanagari: the nukta; a virama is part of the word.
    (
        "ज़रूर क्षत्रिय हूँ १२",
        &["जरूर", "ज़रूर", "क्षत्रिय", "हूं", "12"],
        &["रूर"],
    ),
    ("หน้า ๑๒", &["12", "หน้า"], &[]),
    ("ខ្ញុំ\u{200b}ស្រលាញ់", &["ខ្ញុំស្រលាញ់", "ស្រលាញ់"], &[]),
    // Latin: ligatures, sharp s, soft hyphens, strokes; accents count.
    (
        "eﬃcient ŒUVRE GROẞ",
        &["efficient", "œuvre", "gross", "groß"],
        &["oeuvre"],
    ),
    (
        "inter\u{ad}national s\u{336}o\u{336}ld",
        &["international", "sold"],
        &["national"],
    ),
    (
        "one\u{200b}two \u{feff}three \u{200e}four",
        &["one", "two", "three", "four"],
        &["onetwo"],
    ),
    ("Ａ１ ① ²", &["a1", "1", "2"], &[]),
    // Pictures: in any form, alone or in a sequence.
    (
        "party 🎉 tonight",
        &["🎉", "party 🎉", "🎉🎉"],
        &["🎊", "party 🎊"],
    ),
    ("well done👍🏽", &["👍", "👍🏽", "👍🏿", "done"], &["👎"]),
    ("I ❤️ it", &["❤", "❤️"], &["💔"]),
    (
        "our 👨‍👩‍👧 and 👩🏽‍💻",
        &["👨‍👩‍👧", "👩", "👧", "💻", "👩‍💻"],
        &["👦", "👨‍👩‍👦"],
    ),
    ("from 🇩🇪🇫🇷", &["🇩🇪", "🇫🇷"], &["🇪🇫", "🇺🇸"]),
    ("press 1️⃣ or #️⃣", &["1️⃣", "1"], &["2️⃣"]),
    ("🏴󠁧󠁢󠁥󠁮󠁧󠁿 ☀️ ©", &["🏴", "☀", "©"], &["🌧"]),
    ("a → b ✓", &["→", "✓", "a → b"], &["←"]),
    // A sequence is found by each of its pictures, and asks for all of them.
    ("shrug 🤷‍♀️", &["🤷", "🤷🏽‍♀️"], &["🤷‍♂️"]),
    ("日本語のテキスト", &["テキスト", "日本"], &["キテ"]),
];

/// The same words find the same things in memory and in every database.
#[tokio::test]
async fn full_text_finds_words_of_any_language() {
    for medium in media().await {
        let store = open(&medium).await;
        for (text, found, not_found) in TEXTS {
            let event = append_one(&store, draft("main", text, &[])).await;
            for (words, expected) in found
                .iter()
                .map(|w| (w, true))
                .chain(not_found.iter().map(|w| (w, false)))
            {
                assert_eq!(
                    words::matches(words, text),
                    expected,
                    "{words:?} in {text:?}"
                );
                let query = Query {
                    text: Some((*words).into()),
                    limit: 10,
                    ..Query::default()
                };
                let events = store.events(&space(), &query).await.unwrap();
                assert_eq!(
                    events.contains(&event),
                    expected,
                    "{words:?} in {text:?}, {}",
                    medium.url()
                );
            }
        }
        store.close().await;
    }
}

/// A question sees events that were stored before it, however far the index trails; newest first,
/// in pages.
#[tokio::test]
async fn full_text_waits_for_its_index() {
    for medium in media().await {
        let store = open(&medium).await;
        append(
            &store,
            (0..1500)
                .map(|n| draft("main", &format!("common number{n}"), &[]))
                .collect(),
        )
        .await;
        let query = Query {
            text: Some("common".into()),
            limit: 3,
            ..Query::default()
        };
        let seqs = |events: Vec<Event>| events.iter().map(|event| event.seq).collect::<Vec<_>>();
        assert_eq!(
            seqs(store.events(&space(), &query).await.unwrap()),
            [1500, 1499, 1498]
        );
        let next = Query {
            before: Some(1498),
            ..query.clone()
        };
        assert_eq!(
            seqs(store.events(&space(), &next).await.unwrap()),
            [1497, 1496, 1495]
        );
        append(&store, vec![draft("main", "common", &[])]).await;
        assert_eq!(seqs(store.events(&space(), &query).await.unwrap())[0], 1501);
        let rare = Query {
            text: Some("number7".into()),
            limit: 3,
            ..Query::default()
        };
        assert_eq!(seqs(store.events(&space(), &rare).await.unwrap()), [8]);
        store.close().await;
    }
}

/// Tags trail the log, too: a question by tag or kind sees events that were stored before it, a
/// moment ago or long ago.
#[tokio::test]
async fn tags_wait_for_their_index() {
    for medium in media().await {
        let store = open(&medium).await;
        let all = (0..1500).map(|n| {
            draft(
                "main.a",
                "said",
                if n % 100 == 7 {
                    &["seven", "said"]
                } else {
                    &["said"]
                },
            )
        });
        append(&store, all.collect()).await;
        let seqs = |events: Vec<Event>| events.iter().map(|event| event.seq).collect::<Vec<_>>();
        let sevens = Query {
            tags: vec!["seven".into()],
            limit: 3,
            ..Query::default()
        };
        assert_eq!(
            seqs(store.events(&space(), &sevens).await.unwrap()),
            [1408, 1308, 1208]
        );
        append(
            &store,
            vec![draft("main.a", "late", &["seven"]), input("main", "hello")],
        )
        .await;
        for thread in [None, Some(thread("main.a"))] {
            let query = Query {
                thread,
                ..sevens.clone()
            };
            assert_eq!(seqs(store.events(&space(), &query).await.unwrap())[0], 1501);
        }
        let users = Query {
            source: Some(thinkd::event::envelope::Source::User),
            limit: 3,
            ..Query::default()
        };
        assert_eq!(seqs(store.events(&space(), &users).await.unwrap()), [1502]);
        store.close().await;
    }
}

fn keys(entries: &[EntryRow]) -> Vec<&str> {
    entries.iter().map(|entry| entry.key.as_str()).collect()
}

/// D4.40, D4.41, D4.44, T4.57: notes are found by any word of key, content or related keys, best first.
#[tokio::test]
async fn d4_40_state_is_searched_by_words_and_ranked() {
    for medium in media().await {
        let store = open(&medium).await;
        append(
            &store,
            (0..30)
                .map(|n| note(&format!("plain-{n:02}"), "coffee is a drink", &[]))
                .collect(),
        )
        .await;
        append(
            &store,
            vec![
                note("user-name", "The user is called Jürgen", &["greeting"]),
                note("tea", "Green tea is a drink", &["drinks"]),
                note("shopping", "Buy green paint", &[]),
            ],
        )
        .await;
        let search =
            async |words: &str, limit| store.search_entries(&space(), words, limit).await.unwrap();
        assert_eq!(keys(&search("JÜRGEN", 10).await), ["user-name"], "any case");
        assert_eq!(
            keys(&search("greeting", 10).await),
            ["user-name"],
            "related keys"
        );
        assert_eq!(
            keys(&search("drink green", 3).await)[..2],
            ["tea", "shopping"],
            "both words first, then the rarer one"
        );
        assert_eq!(
            keys(&search("green drink", 2).await),
            keys(&search("drink green", 2).await),
            "any word order"
        );
        assert_eq!(search("nothing", 10).await, []);
        assert_eq!(search("", 10).await, []);
        assert_eq!(search("drink", 0).await, []);
        assert_eq!(search("drink", 1000).await.len(), 31);
        // D4.44: written again, it has the later time and only the new words; gone, it has none.
        let first = store.entry(&space(), "tea").await.unwrap().unwrap();
        assert_eq!(
            (first.content.as_str(), first.owner.as_str()),
            ("Green tea is a drink", "decision")
        );
        assert_eq!(first.related_keys, ["drinks"]);
        let again = append_one(&store, note("tea", "Black now", &[])).await;
        let second = store.entry(&space(), "tea").await.unwrap().unwrap();
        assert!(second.updated >= first.updated && second.updated == again.ts);
        assert_eq!(keys(&search("black", 10).await), ["tea"]);
        assert_eq!(keys(&search("green", 10).await), ["shopping"]);
        append(
            &store,
            vec![Draft::changed(
                &ThreadId::default(),
                "entry",
                "tea",
                Value::Null,
            )],
        )
        .await;
        assert!(store.entry(&space(), "tea").await.unwrap().is_none());
        assert_eq!(search("black", 10).await, []);
        let page = store.entries(&space(), Some("plain-28"), 2).await.unwrap();
        assert_eq!(keys(&page), ["plain-29", "shopping"]);
        assert_eq!(store.entries(&space(), None, 500).await.unwrap().len(), 32);
        let other = Space::parse("other").unwrap();
        assert_eq!(
            store.search_entries(&other, "drink", 10).await.unwrap(),
            [],
            "another mind's notes"
        );
        store.close().await;
    }
}

/// Threads, their mailboxes and the submodules are the sum of the events.
#[tokio::test]
async fn rows_follow_the_log() {
    for medium in media().await {
        let store = open(&medium).await;
        append(
            &store,
            vec![
                input("main", "a"),
                input("main", "b"),
                draft("main.x", "c", &["submodule:critic"]),
            ],
        )
        .await;
        let row = store
            .thread(&space(), &thread("main"))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (row.head, row.woken, row.handled, row.visible, row.heard),
            (2, 2, 0, 2, 2)
        );
        assert_eq!(row.status, Status::Idle);
        assert_eq!(
            store
                .queued(&space(), &thread("main"), 0, 100)
                .await
                .unwrap(),
            2
        );
        assert_eq!(
            store.queued(&space(), &thread("main"), 0, 1).await.unwrap(),
            1,
            "counted up to the limit"
        );
        assert_eq!(
            store
                .queued(&space(), &thread("nobody"), 0, 100)
                .await
                .unwrap(),
            0
        );
        assert_eq!(
            store.waiting(10).await.unwrap(),
            [(space(), thread("main"))]
        );
        let fence = store
            .lease(&space(), &thread("main"), Duration::from_secs(30))
            .await
            .unwrap()
            .unwrap()
            .fence;
        assert_eq!(store.waiting(10).await.unwrap(), [], "somebody is at it");
        let mut end = draft("main", "", &["turn"]);
        end.payload.insert("handled".into(), 1.into());
        store
            .append(Append {
                fence: Some(fence),
                release: true,
                ..Append::free(&space(), vec![end])
            })
            .await
            .unwrap();
        assert_eq!(
            store
                .queued(&space(), &thread("main"), 0, 100)
                .await
                .unwrap(),
            1
        );
        assert_eq!(
            store.waiting(10).await.unwrap(),
            [(space(), thread("main"))]
        );
        let ids: Vec<String> = store
            .threads(&space(), None, 10)
            .await
            .unwrap()
            .iter()
            .map(|row| row.thread.to_string())
            .collect();
        assert_eq!(ids, ["main", "main.x"]);
        assert_eq!(
            store
                .threads(&space(), Some(&thread("main")), 10)
                .await
                .unwrap()
                .len(),
            1
        );

        let set =
            |prompt: Value| Draft::changed(&ThreadId::default(), "submodule", "critic", prompt);
        let prompt = |prompt: &str| set(json!({ "prompt": prompt }));
        append(&store, vec![prompt("Doubt."), prompt("Doubt everything.")]).await;
        let voices = store.submodules(&space()).await.unwrap();
        assert_eq!(
            (
                voices.len(),
                voices[0].name.as_str(),
                voices[0].prompt.as_str()
            ),
            (1, "critic", "Doubt everything.")
        );
        append(&store, vec![set(Value::Null)]).await;
        assert_eq!(store.submodules(&space()).await.unwrap(), []);
        store.close().await;
    }
}

/// Queries with and without anything to find by.
#[test]
fn a_query_without_a_letter_a_digit_or_a_picture_asks_for_nothing() {
    for nothing in [
        "", " ", "...", "?!", "«»", "\u{300}", "َ", "\u{200d}", "\u{fe0f}", "🏽", "ـ", "—",
    ] {
        assert_eq!(words::asked(nothing), Vec::<String>::new(), "{nothing:?}");
    }
    for something in ["a", "1", "회", "🎉", "東", "→", "ა", "‽x"] {
        assert_ne!(
            words::asked(something),
            Vec::<String>::new(),
            "{something:?}"
        );
    }
}

/// Words of an earlier version of the tokenizer are made anew by a start, of events and of notes.
#[tokio::test]
async fn words_of_another_version_are_made_anew_when_a_store_is_opened() {
    for medium in super::databases().await {
        let store = open(&medium).await;
        let event = append_one(&store, draft("main", "내일 회의를 취소합니다", &[])).await;
        append(&store, vec![note("plan", "회의를 준비", &[])]).await;
        let query = |words: &str| Query {
            text: Some(words.into()),
            limit: 10,
            ..Query::default()
        };
        let found = async |store: &Arc<dyn Store>| {
            let events = store.events(&space(), &query("회의")).await.unwrap();
            let notes = store.search_entries(&space(), "회의", 10).await.unwrap();
            (events.contains(&event), notes.len())
        };
        assert_eq!(found(&store).await, (true, 1));
        store.close().await;
        drop(store);
        // As the version before left it.
        let old = "update log set words = 2";
        if medium.is_postgres() {
            execute(medium.url(), old).await;
            execute(
                medium.url(),
                "update event_words set words = '회의를'::tsvector",
            )
            .await;
            execute(
                medium.url(),
                "update entries set words = '회의를'::tsvector",
            )
            .await;
        } else {
            execute(medium.url(), old).await;
            execute(medium.url(), "delete from entry_words where rowid > 0").await;
            let index = format!(
                "sqlite://{}",
                medium.folder().join("thinkd.db.index").display()
            );
            let mut index = SqliteConnection::connect(&index).await.unwrap();
            for text in [
                "insert into event_words (event_words) values ('delete-all')",
                "update made_of set version = 2",
            ] {
                sqlx::raw_sql(text).execute(&mut index).await.unwrap();
            }
            index.close().await.unwrap();
        }
        let store = open(&medium).await;
        assert_eq!(found(&store).await, (true, 1), "{}", medium.url());
        store.close().await;
    }
}
