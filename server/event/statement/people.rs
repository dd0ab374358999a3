//! The words of people to a trial, as a reading: one of the choices, why, and the value that has
//! come since.

use super::{
    Answer, Instrument, Later, NAME_MAX, OfTrial, Reading, SENTENCE_MAX, cut, date, folded,
};

/// Answers of people to a trial.
pub const CHOICES: [&str; 3] = ["yes", "no", "I do not know"];

/// Returns a person's answer to a trial: one of the choices, and behind a colon or on another line
/// why. None: it is none of them.
pub fn chosen_by_people(text: &str) -> Option<(Answer, &str)> {
    let text = text.trim();
    let (choice, why) = text.split_once([':', '\n']).unwrap_or((text, ""));
    let at = CHOICES.iter().position(|it| folded(it) == folded(choice))?;
    Some(([Answer::Yes, Answer::No, Answer::None][at], why.trim()))
}

impl OfTrial {
    /// Returns a person's words, or their silence, as a reading. `question`: the one that they were asked.
    pub fn reading(&self, question: &str, by: Option<&str>, said: Result<&str, &str>) -> Reading {
        let who = by.unwrap_or("somebody");
        let (answer, later, note) = match said.map(chosen_by_people) {
            Ok(Some((Answer::None, why))) => {
                (Answer::None, None, format!("{who} does not know: {why}"))
            }
            Ok(Some((answer, why))) => {
                let later = Later::said(why).filter(|_| answer == Answer::No);
                let note = format!("{who} says {}: {why}", answer.as_str());
                (answer, later, note)
            }
            Ok(None) => (Answer::None, None, format!("{who} says neither yes nor no")),
            Err(why) => (Answer::None, None, why.to_owned()),
        };
        let choice = "a person was asked".into();
        Reading {
            answer,
            note: cut(note.trim_end().trim_end_matches(':'), SENTENCE_MAX),
            quote: said.ok().map(|text| cut(text, SENTENCE_MAX)),
            source: Some(question.to_owned()),
            later,
            ..Reading::begun(self.prediction, Instrument::User, choice)
        }
    }
}

impl Later {
    /// Reads a later value from words: "since 2024 it is X", "it is X since 2024-03". Words without
    /// a date give none.
    pub fn said(words: &str) -> Option<Self> {
        let all: Vec<&str> = words.split_whitespace().collect();
        let at = all.iter().position(|word| folded(word) == "since")?;
        let from = date(all.get(at + 1)?.trim_end_matches([',', ';', ':', '.']))?;
        let named = if at == 0 { &all[2..] } else { &all[..at] };
        let is_filler = |word: &&&str| {
            matches!(
                folded(word).trim_matches([',', ':']),
                "it" | "it's" | "is" | "has" | "been" | ""
            )
        };
        let named: Vec<&str> = named.iter().skip_while(is_filler).copied().collect();
        let object = named.join(" ");
        let object = cut(object.trim_end_matches([',', ';', ':', '.', '!']), NAME_MAX);
        (!object.is_empty()).then_some(Self {
            object,
            from: Some(from),
        })
    }
}
