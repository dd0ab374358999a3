//! `thinkd mission`: begins a mission on a running server, shows its tasks as a tree while they are done, and prints the answer.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use anyhow::bail;
use serde_json::{Value, json};

use super::client::{Server, Target};
use super::paint::{self, ALARM, BOLD, FAINT, painted};
use super::safe::safe;
use super::waiting::{Kind, Waiting};
use crate::program::output::say;
use crate::program::settings::Settings;
use crate::program::telemetry::escaped;
use thinkd_event::mission::MISSION_MAX;
use thinkd_words::text::counted;

/// Interval between two looks at the tasks.
const LOOK: Duration = Duration::from_millis(300);
/// Most tries in a row to reach a server that is away.
const TRIES: u32 = 120;
/// Most characters of a line about a task.
const LINE: usize = 160;

/// The mission, and its terms.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// The mission, in your words
    #[arg(allow_hyphen_values = true)]
    mission: String,
    /// Its worth, which limits its cost: low, medium or high
    #[arg(long, default_value = "medium", value_parser = ["low", "medium", "high"])]
    value: String,
    /// Begin its tasks at once (go), or ask a person to approve them first (ask)
    #[arg(long, default_value = "go", value_parser = ["go", "ask"])]
    plan: String,
    /// Most model calls; the configured limit if not given
    #[arg(long, value_name = "N")]
    calls: Option<u64>,
    /// Begin it and do not wait for its answer
    #[arg(long)]
    no_wait: bool,
}

/// Begins it, and follows it to its end. The error: it did not come to an answer.
pub async fn run(options: &Options, settings: &Settings) -> anyhow::Result<()> {
    let count = options.mission.chars().count();
    if count > MISSION_MAX {
        bail!("a mission has at most {MISSION_MAX} characters; this one has {count}");
    }
    let server = options.target.server(settings);
    let client = reqwest::Client::new();
    let colours = paint::is_wanted();
    let mut wanted = json!({
        "kind": "mission", "mission": options.mission, "value": options.value, "plan": options.plan,
    });
    if let Some(calls) = options.calls {
        wanted["budget"] = json!({ "model_calls": calls });
    }
    let begun = server.post(&client, "/threads", &wanted).await?;
    let thread = text(&begun, "id").to_owned();
    let id = escaped(&thread);
    let base = &server.base;
    let place = format!("{id}: {base}/threads/{id}");
    say(painted(colours, &[FAINT], &place))?;
    if options.no_wait {
        return Ok(());
    }
    let mut tree = Tree {
        server,
        client,
        thread,
        colours,
        shown: HashMap::new(),
        asked: HashSet::new(),
    };
    let end = tree.follow().await?;
    if let (0, Some(shortfall)) = (end.tasks, &end.shortfall) {
        // Its answer is the reason once more.
        bail!(shortfall.clone());
    }
    say(painted(colours, &[BOLD], &end.came_to))?;
    say("")?;
    say(safe(&end.answer))?;
    end.shortfall.map_or(Ok(()), |shortfall| bail!(shortfall))
}

/// A member of an object that is a text; empty where there is none.
fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().unwrap_or_default()
}

/// `? the plan of 1 task (book a room): thinkd inbox approve 5b2e9f01`
fn request_line(request: &Waiting, name: &str) -> String {
    let how = match request.kind {
        Kind::Approval => "approve",
        Kind::Question => "answer",
    };
    let what = match request.asked["arguments"]["tasks"].as_array() {
        Some(tasks) => {
            let names = tasks.iter().filter_map(|task| task["name"].as_str());
            let names = names.collect::<Vec<_>>().join("; ");
            let count = counted(tasks.len() as u64, "task");
            format!("the plan of {count} ({names})")
        }
        None => text(&request.asked, "text").to_owned(),
    };
    let what: String = what.chars().take(LINE).collect();
    format!("? {what}: thinkd inbox {how} {name}")
}

/// Returns `partial: 2 of 3 tasks solved, 1 failed`; and the shortfall, none where the mission is
/// complete.
fn came_to(mission: &Value, tasks: &[Value]) -> (String, Option<String>) {
    let said = |of: &Value, key: &str| escaped(text(of, key));
    let count = |key: &str| mission["tasks"][key].as_u64().unwrap_or(0);
    let outcome = said(mission, "outcome");
    let status = said(mission, "status");
    let solved = count("solved");
    let failed = count("failed");
    let left = count("left");
    let all = solved + failed + left;
    let mut line = format!("{outcome}: {solved} of {} solved", counted(all, "task"));
    for (count, word) in [(failed, "failed"), (left, "left")] {
        if count > 0 {
            line.push_str(&format!(", {count} {word}"));
        }
    }
    let none = "the mission did not come out";
    let shortfall = match (outcome.as_str(), status.as_str()) {
        ("complete", _) => return (line, None),
        (_, "done") if all == 1 => {
            let only = tasks.iter().find(|task| task["parent"].is_null());
            let reason = only.map(|task| said(task, "reason")).unwrap_or_default();
            format!("{none}: its only task failed ({reason})")
        }
        (_, "done") if failed == all => format!("{none}: all {all} tasks failed"),
        (_, "done") => format!("not all of the mission came out: {failed} of {all} tasks failed"),
        _ => match said(mission, "reason").as_str() {
            "" => format!("{none}: it ended as {status}"),
            reason => format!("{none}: it ended as {status} ({reason})"),
        },
    };
    (line, Some(shortfall))
}

/// The end of a mission.
struct End {
    answer: String,
    /// The number of its tasks.
    tasks: usize,
    /// Its outcome, its tasks counted.
    came_to: String,
    /// The shortfall; none where the mission is complete.
    shortfall: Option<String>,
}

/// The tasks of a mission, as far as they were shown.
struct Tree {
    server: Server,
    client: reqwest::Client,
    thread: String,
    colours: bool,
    /// By id: the status that was shown last.
    shown: HashMap<String, String>,
    /// The ids of the requests that were shown to people.
    asked: HashSet<String>,
}

impl Tree {
    /// Shows every change of a task until the mission has ended, also over restarts of the server.
    async fn follow(&mut self) -> anyhow::Result<End> {
        let mut tries = 0;
        loop {
            match self.look().await {
                Ok(Some(end)) => return Ok(end),
                Ok(None) => {
                    tries = 0;
                    tokio::time::sleep(LOOK).await;
                }
                Err(error) if tries == TRIES => return Err(error),
                Err(error) => {
                    tries += 1;
                    self.server.wait_until_back(error).await?;
                }
            }
        }
    }

    /// Shows the changes. Returns the end of the mission, if it has ended.
    async fn look(&mut self) -> anyhow::Result<Option<End>> {
        let path = format!("/threads/{}", self.thread);
        let mission: Value = self.server.ask(&self.client, &path, &[]).await?;
        // Read behind the mission: its end is behind that of its tasks.
        let tasks = format!("{path}/tasks");
        let tasks = self.server.all(&self.client, &tasks, &[]).await?;
        self.show_changes(&tasks)?;
        match text(&mission, "status") {
            "done" | "failed" | "stopped" => {
                let (came_to, shortfall) = came_to(&mission, &tasks);
                let answer = self.answer().await?;
                return Ok(Some(End {
                    answer,
                    tasks: tasks.len(),
                    came_to,
                    shortfall,
                }));
            }
            "waiting" => self.show_requests().await?,
            _ => {}
        }
        Ok(None)
    }

    /// Says once of everything that people are asked how they answer.
    async fn show_requests(&mut self) -> anyhow::Result<()> {
        let all = self.server.waiting(&self.client, Some(&self.thread));
        let all = all.await?;
        for request in &all {
            if self.asked.insert(request.id.clone()) {
                say(escaped(&request_line(request, &request.handle(&all))))?;
            }
        }
        Ok(())
    }

    fn show_changes(&mut self, tasks: &[Value]) -> anyhow::Result<()> {
        let parent = |task| Some((text(task, "id"), task["parent"].as_str()?));
        let parents: HashMap<&str, &str> = tasks.iter().filter_map(parent).collect();
        for task in tasks {
            let id = text(task, "id");
            let status = text(task, "status");
            if self.shown.get(id).is_some_and(|shown| shown == status) {
                continue;
            }
            let depth = std::iter::successors(parents.get(id), |id| parents.get(**id)).count();
            say(format_args!("{}{}", "  ".repeat(depth), self.line(task)))?;
            self.shown.insert(id.to_owned(), status.to_owned());
        }
        Ok(())
    }

    /// `t2 list the talks: closed: nine talks`
    fn line(&self, task: &Value) -> String {
        let (word, code, more) = match text(task, "status") {
            "open" => ("○", FAINT, ""),
            "in_progress" => ("◐", BOLD, ""),
            "closed" => ("●", BOLD, text(task, "answer")),
            _ => ("✗", ALARM, text(task, "reason")),
        };
        let cut = |text: String| escaped(&text.chars().take(LINE).collect::<String>());
        let line = cut(format!("{} {}", text(task, "id"), text(task, "name")));
        let more = cut(more.split_whitespace().collect::<Vec<_>>().join(" "));
        let colon = if more.is_empty() { "" } else { ": " };
        let more = painted(self.colours, &[FAINT], &format!("{colon}{more}"));
        format!("{} {line}{more}", painted(self.colours, &[code], word))
    }

    async fn answer(&self) -> anyhow::Result<String> {
        let query = [
            ("thread", self.thread.clone()),
            ("tags", "response".to_owned()),
            ("limit", "1".to_owned()),
        ];
        let page: Value = self.server.ask(&self.client, "/events", &query).await?;
        let answer = page["items"][0]["payload"]["text"].as_str();
        Ok(answer.unwrap_or("There is no answer.").to_owned())
    }
}
