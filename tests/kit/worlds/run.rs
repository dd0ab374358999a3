//! Takes the claims of a planted world to a server, year by year, and reports the outcome of each.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::door::Door;
use super::{FIRST_YEAR, Said, Truth, World};

/// The longest time that the trials of one year may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// The settings of a server for measured trials: the limits of daily use are out of the way.
pub const SETTINGS: [(&str, &str); 4] = [
    ("THINKD_MEMORY__CALLS_PER_HOUR", "1000000000"),
    ("THINKD_TEST_MEMORY__WAITING", "100000"),
    ("THINKD_TEST_MEMORY__RETRY_MS", "1"),
    ("THINKD_TOOLS__CODE__ENABLED", "false"),
];

/// A claim that became a statement of its own: neither joined to another one nor refused.
#[derive(Debug, Clone)]
pub struct Tried {
    /// The claim as it was said.
    pub said: Said,
    /// Its id.
    pub id: String,
    /// The truth of the claim when it was tried.
    pub truth: Truth,
    /// Set if it survived its first trial.
    pub survived: bool,
    /// Its status after the trials of its year.
    pub status: String,
}

/// The report on a stream.
#[derive(Debug, Default)]
pub struct Report {
    /// The statements.
    pub tried: Vec<Tried>,
    /// The number of claims.
    pub claims: usize,
    /// The number of calls to the model that they took.
    pub calls: u64,
    /// True statements that were held, and were not at the end of a later year though they were so still.
    pub lost: usize,
    /// All statements at the end, as the server lists them.
    pub rows: Vec<Value>,
    /// The time that each claim waited for its acknowledgement, in milliseconds.
    pub acks: Vec<f64>,
}

impl Report {
    /// True and false claims that were settled, and how many of each survived.
    pub fn counts(&self) -> Counts {
        let settled = || self.tried.iter().filter(|it| it.status != "proposed");
        let count = |is_so: bool, survived: bool| {
            settled()
                .filter(|it| (it.truth == Truth::So) == is_so && (it.survived || !survived))
                .count()
        };
        Counts {
            of_true: count(true, false),
            of_false: count(false, false),
            kept: count(true, true),
            believed: count(false, true),
        }
    }
}

/// The results of trials.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// True claims that were tried.
    pub of_true: usize,
    /// False ones.
    pub of_false: usize,
    /// True claims that survived.
    pub kept: usize,
    /// False ones.
    pub believed: usize,
}

impl Counts {
    /// The share of the surviving claims that are true.
    pub fn precision(&self) -> f64 {
        self.kept as f64 / (self.kept + self.believed) as f64
    }

    /// The share of the true claims that survived.
    pub fn recall(&self) -> f64 {
        self.kept as f64 / self.of_true as f64
    }
}

/// A server, asked over HTTP.
pub struct Asked {
    http: reqwest::Client,
    base: String,
    /// One person claims, and another one is asked, with this door's answers to the questions.
    person: Option<Arc<Door>>,
}

/// The person that claims, and the person that is asked, where there are people.
const CLAIMS: &str = "ann:none";
const ANSWERS: &str = "bob:none";

impl Asked {
    /// The server at an address, `127.0.0.1:<port>`.
    pub fn at(http: reqwest::Client, address: &str) -> Self {
        Self {
            http,
            base: format!("http://{address}"),
            person: None,
        }
    }

    /// The same where people are asked, and answer as the door knows.
    pub fn with_people(self, door: &Arc<Door>) -> Self {
        Self {
            person: Some(door.clone()),
            ..self
        }
    }

    /// Answers the questions that people are asked now. Returns whether there were any.
    async fn answers(&self) -> bool {
        let Some(door) = &self.person else {
            return false;
        };
        let open = self.get("/questions?limit=500").await;
        let open = open["items"].as_array().unwrap();
        for question in open {
            let text = door.person(question["text"].as_str().unwrap());
            let path = format!(
                "{}/questions/{}",
                self.base,
                question["question_id"].as_str().unwrap()
            );
            let answer = self
                .http
                .post(path)
                .header("authorization", ANSWERS)
                .json(&json!({ "text": text }));
            let status = answer.send().await.unwrap().status();
            assert!(status == 204 || status == 503, "{status}: {question}");
        }
        !open.is_empty()
    }

    /// Returns its answer to a path; it is asked again where it is busy.
    pub async fn get(&self, path: &str) -> Value {
        let begin = Instant::now();
        loop {
            let answer = self
                .http
                .get(format!("{}{path}", self.base))
                .send()
                .await
                .unwrap();
            let is_busy = answer.status() == 503 && begin.elapsed() < PATIENCE;
            if !is_busy {
                return answer.json().await.unwrap();
            }
        }
    }

    /// Claims something, again where the server asks to; the id of the claim.
    pub async fn claim(&self, text: &str) -> String {
        let begin = Instant::now();
        loop {
            let request = self
                .http
                .post(format!("{}/world-model", self.base))
                .json(&json!({ "statement": text }));
            let named = self.person.iter().fold(request, |request, _| {
                request.header("authorization", CLAIMS)
            });
            let answer = named.send().await.unwrap();
            let (status, said): (_, Value) = (answer.status(), answer.json().await.unwrap());
            let is_busy = status == 503 && begin.elapsed() < PATIENCE;
            match said["id"].as_str() {
                Some(id) => return id.to_owned(),
                None => assert!(is_busy, "{text:?} was refused: {said}"),
            }
        }
    }

    /// All statements that a query asks for.
    pub async fn statements(&self, query: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut cursor = String::new();
        loop {
            let mut page = self
                .get(&format!("/world-model?limit=200{query}{cursor}"))
                .await;
            let items = page["items"]
                .as_array_mut()
                .unwrap_or_else(|| panic!("no page"));
            all.append(items);
            let Some(next) = page["next"].as_str() else {
                return all;
            };
            cursor = format!("&cursor={next}");
        }
    }

    /// Waits until no statement is to be tried; returns them all.
    pub async fn settled(&self) -> Vec<Value> {
        let begin = Instant::now();
        let is_due = |it: &Value| it["due_at"].is_string();
        loop {
            if self.answers().await {
                continue;
            }
            if !self.statements("&status=proposed").await.iter().any(is_due) {
                let all = self.statements("").await;
                if !all.iter().any(is_due) {
                    return all;
                }
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "trials are not over after {PATIENCE:?}"
            );
            // The server may be any, which is asked over HTTP alone.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// Returns whether a server holds a statement to be so.
pub fn holds(row: &Value) -> bool {
    matches!(row["status"].as_str(), Some("surviving" | "contested"))
}

/// Takes all claims there, a year at a time.
pub async fn run(server: &Asked, world: &World, door: &Door) -> Report {
    let mut report = Report::default();
    let mut held = HashSet::new();
    for (now, batch) in (FIRST_YEAR..).zip(&world.years) {
        door.year(now);
        let mut claimed = Vec::new();
        for said in batch {
            let begin = Instant::now();
            claimed.push((server.claim(&said.text).await, said));
            report.acks.push(begin.elapsed().as_secs_f64() * 1e3);
        }
        report.claims += claimed.len();
        let all = server.settled().await;
        let by_id: HashMap<&str, &Value> = all
            .iter()
            .filter_map(|it| Some((it["id"].as_str()?, it)))
            .collect();
        for (id, said) in claimed {
            let Some(row) = by_id.get(id.as_str()) else {
                continue;
            };
            let truth = said
                .claim
                .as_ref()
                .map_or(Truth::Not, |claim| world.truth(claim, now));
            let survived = row["survived"].as_u64().unwrap() > 0;
            let status = row["status"].as_str().unwrap().to_owned();
            report.tried.push(Tried {
                said: said.clone(),
                id,
                truth,
                survived,
                status,
            });
        }
        let is_so = |it: &&Tried| {
            it.said
                .claim
                .as_ref()
                .is_some_and(|claim| world.truth(claim, now) == Truth::So)
        };
        let is_held = |it: &&Tried| by_id.get(it.id.as_str()).is_some_and(|row| holds(row));
        report.lost += report
            .tried
            .iter()
            .filter(is_so)
            .filter(|it| held.contains(&it.id) && !is_held(it))
            .count();
        held = report
            .tried
            .iter()
            .filter(is_held)
            .map(|it| it.id.clone())
            .collect();
        report.rows = all;
    }
    report.calls = door.calls();
    report
}
