//! `schedule`: wakes the thread by the clock again and again, also after restarts; lists and
//! removes the schedules of the thread.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::Change;
use thinkd_event::schedule::{CATCH_UP_S, Overlap, Schedule as Plan};
use thinkd_log::error::StoreError;
use thinkd_log::projections::schedules::ScheduleRow;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::Name;
use thinkd_words::recurrence::{Day, Recurrence, RecurrenceKind, Weekday, When};

/// See the module.
pub struct Schedule(pub Supplies);

/// What it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    /// Sets one.
    Create,
    /// Lists those of the thread.
    List,
    /// Removes one of the thread.
    Remove,
}

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    action: Act,
    name: Option<String>,
    text: Option<String>,
    kind: Option<RecurrenceKind>,
    at: Option<String>,
    seconds: Option<f64>,
    time: Option<String>,
    zone: Option<String>,
    days: Option<Vec<Weekday>>,
    day: Option<String>,
}

impl Typed for Schedule {
    type Input = Input;
    const NAME: &'static str = "schedule";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/schedule.md");
    const EFFECT: Effect = Effect::Events;
    const READS_ROWS: bool = true;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        match input.action {
            Act::List => self.list(site).await,
            Act::Create => self.create(input, site).await,
            Act::Remove => self.remove(&named(input.name)?, site).await,
        }
    }
}

impl Schedule {
    /// The least time between two runs: the server's own limit holds for minds, too.
    fn least_interval(&self) -> Duration {
        let of_minds = Duration::from_millis(self.0.budget.timer_ms);
        of_minds.max(self.0.limits.schedule_interval)
    }

    async fn of_thread(&self, site: &CallSite) -> Result<Vec<ScheduleRow>, StoreError> {
        let store = &self.0.store;
        let most = self.0.limits.schedules;
        store
            .schedules(&site.space, Some(&site.thread), None, most)
            .await
    }

    async fn list(&self, site: &CallSite) -> Result<Output, Failure> {
        let shown = |row: ScheduleRow| {
            let Plan {
                event,
                payload,
                when,
                note,
                paused,
                due,
                ..
            } = row.schedule;
            let text = payload.get("text").cloned();
            json!({ "name": row.name, "event": event, "text": text, "when": when, "paused": paused, "note": note, "next": due })
        };
        let all: Vec<Value> = self.of_thread(site).await?.into_iter().map(shown).collect();
        Ok(Output::value(Value::from(all)))
    }

    async fn create(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let Input {
            name,
            text,
            kind,
            at,
            seconds,
            time,
            zone,
            days,
            day,
            ..
        } = input;
        let name = named(name)?;
        let Some(kind) = kind else {
            let text = "kind is missing: once, every, daily, weekly or monthly";
            return Err(failed(text));
        };
        let day = day.map(|day| day.parse().map_or(Day::Word(day), Day::Number));
        let when = When {
            kind,
            at,
            seconds,
            start: None,
            time,
            zone,
            days,
            day,
        }
        .starting(site.now);
        let wrong = |it: thinkd_words::recurrence::Wrong| format!("{}: {}", it.member, it.detail);
        let recurrence = when
            .read()
            .map_err(|all| failed(all.into_iter().map(wrong).collect::<Vec<_>>().join("; ")))?;
        let least = self.least_interval();
        if matches!(recurrence, Recurrence::Every { micros, .. } if u128::from(micros.unsigned_abs()) < least.as_micros())
        {
            return Err(failed(format!(
                "seconds: at least {} lie between two",
                least.as_secs_f64()
            )));
        }
        let Some(due) = recurrence.next(site.now) else {
            let text = format!("nothing of this is to come: now it is {}", site.now);
            return Err(failed(text));
        };
        if self.0.store.schedule(&site.space, &name).await?.is_some() {
            let text = format!("a schedule {name} exists already; choose another name");
            return Err(failed(text));
        }
        let own = self.of_thread(site).await?.len() as u64;
        let limit = self.0.budget.schedules;
        if own >= limit {
            let text = format!("this thread has {limit} schedules already; remove one first");
            return Err(Failure::new(FailureKind::Budget, text));
        }
        let most = self.0.limits.schedules;
        let all = self.0.store.schedules(&site.space, None, None, most);
        let all = all.await?.len();
        if all >= most as usize {
            let text = format!("the space has {all} schedules already");
            return Err(Failure::new(FailureKind::Budget, text));
        }
        let plan = Plan {
            thread: site.thread.clone(),
            event: name.clone(),
            payload: text
                .map(|text| ("text".to_owned(), text.into()))
                .into_iter()
                .collect(),
            when,
            overlap: Overlap::Skip,
            catch_up_s: CATCH_UP_S,
            note: String::new(),
            paused: false,
            due: Some(due),
            through: None,
            last: None,
            set: Some(site.now),
            root: site.so_far.purse.root(),
        };
        let change = Change::Schedule(Some(Box::new(plan)));
        let draft = Draft::set(&site.thread, name.as_str(), change);
        let draft = draft.only_if(Condition::NewSchedule {
            name: name.clone(),
            most: most as usize,
        });
        let value = json!({ "name": name, "next": due });
        Ok(Output::done(vec![draft], value))
    }

    async fn remove(&self, name: &Name, site: &CallSite) -> Result<Output, Failure> {
        let row = self.0.store.schedule(&site.space, name).await?;
        let Some(row) = row.filter(|row| row.schedule.thread == site.thread) else {
            return Err(failed(format!("this thread has no schedule {name}")));
        };
        let draft = Draft::set(&site.thread, name.as_str(), Change::Schedule(None));
        let draft = draft.only_if(row.stands(None));
        Ok(Output::done(vec![draft], json!({ "removed": name })))
    }
}

fn named(name: Option<String>) -> Result<Name, Failure> {
    let Some(name) = name else {
        return Err(failed("name is missing"));
    };
    Name::parse(&name).map_err(|error| failed(error.to_string()))
}

fn failed(text: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Tool, text)
}
