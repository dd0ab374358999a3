//! `thinkd memory audit`: wrong or doubtful parts of the memory of a space, from a running server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::{Server, Target};
use super::paint::{self, BOLD, FAINT, painted};
use super::safe::say_json;
use crate::program::output::say;
use crate::program::settings::Settings;
use crate::program::telemetry::escaped;
use thinkd_event::doubt::Doubt;
use thinkd_words::text::counted;

/// Acts on the memory of a space.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List statements that are wrong or doubtful; nothing is changed
    Audit(Options),
}

/// The words to search for.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// Only this doubt: duplicate, near, never-recalled, one-instrument, reflection-only, overdue, contested, waiting, undecided, untested
    #[arg(long, value_parser = doubt)]
    doubt: Option<Doubt>,
    /// After so many days without a test a statement is overdue
    #[arg(long, value_name = "DAYS", default_value_t = 90)]
    overdue_days: u32,
    /// List N statements of each doubt at most; all are counted
    #[arg(long, default_value_t = 10)]
    limit: usize,
    /// Audit the newest N statements
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    most: u64,
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

fn doubt(word: &str) -> Result<Doubt, String> {
    let known = || Doubt::ALL.map(Doubt::as_str).join(", ");
    Doubt::parse(word).ok_or_else(|| format!("a doubt is one of {}", known()))
}

/// Statements that a page looks at.
const PAGE: u64 = 100;

#[derive(Deserialize)]
struct Page {
    items: Vec<Value>,
    looked_at: BTreeMap<String, u64>,
    recalls: u64,
    without_vectors: Option<String>,
    next: Option<String>,
}

/// The sum of all pages.
#[derive(Default)]
struct Audit {
    statements: BTreeMap<String, u64>,
    found: BTreeMap<String, Found>,
    recalls: u64,
    without_vectors: Option<String>,
    is_whole: bool,
}

/// Of one doubt: how many, and the first of them.
#[derive(Default, Serialize)]
struct Found {
    count: u64,
    items: Vec<Value>,
}

/// Audits, and prints the findings.
pub async fn run(Command::Audit(options): &Command, settings: &Settings) -> anyhow::Result<()> {
    let audit = Audit::of(&options.target.server(settings), options).await?;
    if options.json {
        return say_json(&audit.to_json());
    }
    audit.say(paint::is_wanted())
}

impl Audit {
    async fn of(server: &Server, options: &Options) -> anyhow::Result<Self> {
        let client = reqwest::Client::new();
        let mut audit = Self::default();
        let mut next = None::<String>;
        loop {
            let left = options.most.saturating_sub(audit.total());
            if left == 0 {
                return Ok(audit);
            }
            let mut query = vec![
                ("limit", left.min(PAGE).to_string()),
                ("overdue_days", options.overdue_days.to_string()),
            ];
            let doubt = options.doubt.map(|doubt| doubt.as_str().to_owned());
            query.extend(doubt.map(|doubt| ("doubt", doubt)));
            query.extend(next.map(|cursor| ("cursor", cursor)));
            let page: Page = server.ask(&client, "/world-model/audit", &query).await?;
            next = page.next.clone();
            audit.add(page, options.limit);
            if next.is_none() {
                audit.is_whole = true;
                return Ok(audit);
            }
        }
    }

    fn add(&mut self, page: Page, limit: usize) {
        for (status, count) in page.looked_at {
            *self.statements.entry(status).or_default() += count;
        }
        self.recalls = page.recalls;
        self.without_vectors = page.without_vectors.or(self.without_vectors.take());
        for item in page.items {
            for doubt in texts(&item, "doubts") {
                let found = self.found.entry(doubt.to_owned()).or_default();
                found.count += 1;
                if found.items.len() < limit {
                    found.items.push(item.clone());
                }
            }
        }
    }

    fn total(&self) -> u64 {
        self.statements.values().sum()
    }

    /// Returns the number of falsified statements, and of all statements with a trial that ended.
    fn falsified(&self) -> (u64, u64) {
        let of = |status: &str| self.statements.get(status).copied().unwrap_or(0);
        let tried = ["surviving", "contested", "untested", "falsified", "ended"];
        let tried = tried.into_iter().map(of).sum();
        (of("falsified"), tried)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a share of fewer statements than that"
    )]
    fn to_json(&self) -> Value {
        let (falsified, tried) = self.falsified();
        json!({
            "statements": self.statements,
            "falsified_share": (tried > 0).then(|| falsified as f64 / tried as f64),
            "doubts": self.found,
            "recalls": self.recalls,
            "without_vectors": self.without_vectors,
            "complete": self.is_whole,
        })
    }

    fn say(&self, colours: bool) -> anyhow::Result<()> {
        let (falsified, tried) = self.falsified();
        let each = self.statements.iter();
        let each = Vec::from_iter(each.map(|(status, count)| format!("{count} {status}")));
        let total = counted(self.total(), "statement");
        say(format_args!("{total}: {}", escaped(&each.join(", "))))?;
        say(format_args!(
            "{falsified} of {tried} that had an outcome were refuted"
        ))?;
        let recalls = counted(self.recalls, "recall");
        say(format_args!("this looked at {recalls} by agents"))?;
        if let Some(why) = &self.without_vectors {
            let why = escaped(why);
            say(format_args!("not all that look alike were found: {why}"))?;
        }
        for (doubt, found) in &self.found {
            let title = format!("{doubt}: {}", found.count);
            say(format_args!("\n{}", painted(colours, &[BOLD], &title)))?;
            for item in &found.items {
                let id = painted(colours, &[FAINT], &word(item, "id"));
                say(format_args!("  {}  {id}", word(item, "text")))?;
                let others = others(doubt, item);
                (others.iter()).try_for_each(|other| say(format_args!("      {other}")))?;
            }
            let more = found.count - found.items.len() as u64;
            if more > 0 {
                say(format_args!("  {more} more: --limit shows more"))?;
            }
        }
        match (self.found.is_empty(), self.is_whole) {
            (true, true) => say("nothing is doubtful")?,
            (true, false) => say("nothing of these is doubtful")?,
            (false, _) => {}
        }
        if !self.is_whole {
            let total = self.total();
            say(format_args!(
                "\nthere are more statements than {total}: --most looks at more"
            ))?;
        }
        Ok(())
    }
}

/// The texts of a member that is a list of them.
pub(super) fn texts<'a>(item: &'a Value, member: &str) -> impl Iterator<Item = &'a str> {
    let all = item[member].as_array().into_iter().flatten();
    all.filter_map(Value::as_str)
}

fn others(doubt: &str, item: &Value) -> Vec<String> {
    let ids = |member: &str, relation: &str| {
        let ids = texts(item, member).map(escaped);
        ids.map(|id| format!("{relation} {id}")).collect()
    };
    match Doubt::parse(doubt) {
        Some(Doubt::Duplicate) => ids("same", "says the same:"),
        Some(Doubt::Contested) => ids("contested_by", "contradicted by"),
        Some(Doubt::Near) => {
            let near = item["near"].as_array().into_iter().flatten();
            near.map(|it| {
                format!(
                    "{} like  {}  {}",
                    it["likeness"],
                    word(it, "text"),
                    word(it, "id")
                )
            })
            .collect()
        }
        Some(Doubt::Undecided | Doubt::Untested) => vec![word(item, "reason")],
        _ => Vec::new(),
    }
}

pub(super) fn word(of: &Value, member: &str) -> String {
    escaped(of[member].as_str().unwrap_or_default())
}
