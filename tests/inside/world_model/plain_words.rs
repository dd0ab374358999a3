//! Recall by words that are common in one language and mean something in another, by words that say
//! nothing alone, and by codes.

use thinkd::recall::view::View;

use super::quality::held;
use super::real_questions::set;

/// Hits that count.
const BEST: usize = 5;

/// A language, a statement, a question, and words for both: many of them are function words or names
/// elsewhere (English `war` and `die`, `car` of French, `man` of German).
const WORDS: [(&str, &str, &str, &[&str]); 5] = [
    (
        "en",
        "The {} is behind the old shed.",
        "Where is the {}?",
        &[
            "car", "door", "war", "man", "die", "son", "pain", "mayor", "ten", "sin", "plus",
            "pan", "mama", "dog", "house", "book", "water", "knife", "table", "pie", "rose", "bus",
        ],
    ),
    (
        "de",
        "{} ist hinter dem alten Schuppen.",
        "Wo ist {}?",
        &[
            "die Tür",
            "der Hund",
            "das Auto",
            "der Krieg",
            "das Brot",
            "der Herd",
            "die Rose",
            "das Bad",
            "die Hand",
            "das Boot",
            "der Wind",
            "das Messer",
            "der Tisch",
            "die Note",
        ],
    ),
    (
        "es",
        "{} está detrás del viejo cobertizo.",
        "¿Dónde está {}?",
        &[
            "el coche",
            "la puerta",
            "el perro",
            "el pan",
            "la mesa",
            "el pie",
            "la mano",
            "el libro",
            "la guerra",
            "el mar",
            "el sol",
            "la sal",
        ],
    ),
    (
        "zh",
        "{}在旧棚子后面。",
        "{}在哪里？",
        &["汽车", "狗", "书", "刀", "桌子", "面包", "电脑"],
    ),
    (
        "ja",
        "{}は古い物置の後ろにある。",
        "{}はどこですか。",
        &["車", "犬", "鍵", "包丁", "机", "自転車", "パソコン"],
    ),
];

// One list for all languages had taken them for common.
#[test]
fn a_plain_word_finds_what_has_it_whatever_it_means_elsewhere() {
    for (language, statement, question, words) in WORDS {
        let (statements, _) = set(language);
        let last = statements.len() as i64;
        let mut view = View::default();
        for (text, number) in statements.into_iter().zip(0..) {
            view.put(held(number, text, None));
        }
        for word in words {
            view.put(held(last, statement.replace("{}", word), None));
            let question = question.replace("{}", word);
            let found = view.find(&question, BEST);
            assert!(
                found.iter().any(|hit| hit.held.number == last),
                "{question}"
            );
        }
    }
}

#[test]
fn words_of_each_sentence_alone_find_nothing() {
    let said = [
        "No dog is allowed in the garden, and what it breaks is paid by who owns it.",
        "What is not in the box is on the shelf.",
        "Was im Keller steht, ist nicht für die Küche, und das Rad ist auch da.",
        "Lo que hay en la caja no es de los que viven aquí.",
        "这个盒子里的东西不是我的。",
        "それは私の箱ではない。",
    ];
    let mut view = View::default();
    for (text, number) in said.into_iter().zip(0..) {
        view.put(held(number, text.to_owned(), None));
    }
    for nothing in [
        "No",
        "no?",
        "What?",
        "what is it",
        "the",
        "Who?",
        "and",
        "Is it?",
        "Was?",
        "und",
        "die",
        "Nicht",
        "¿Qué?",
        "de la",
        "el",
        "的",
        "は",
    ] {
        let found = view.find(nothing, BEST);
        assert!(found.is_empty(), "{nothing}: {:?}", found[0].held.text);
    }
    for (question, number) in [("the dog", 0), ("What box?", 1), ("Keller", 2), ("caja", 3)] {
        assert_eq!(
            view.find(question, BEST)[0].held.number,
            number,
            "{question}"
        );
    }
}

#[test]
fn a_code_is_found_however_its_parts_are_set_apart() {
    let said = [
        "The spare part RX-7 lies in drawer 12.",
        "The spare part QB-9 lies in drawer 14.",
        "Bus 12 stops at the mill.",
        "Our flight is LK 4417.",
    ];
    let mut view = View::default();
    for (text, number) in said.into_iter().zip(0..) {
        view.put(held(number, text.to_owned(), None));
    }
    for (question, number) in [
        ("Where is RX7?", 0),
        ("where is rx 7", 0),
        ("RX-7", 0),
        ("drawer 14", 1),
        ("bus 12", 2),
        ("LK4417?", 3),
    ] {
        assert_eq!(
            view.find(question, BEST)[0].held.number,
            number,
            "{question}"
        );
    }
}
