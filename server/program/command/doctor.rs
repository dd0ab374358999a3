//! `thinkd doctor`: tries what a mind lives on (configuration, open files, database, feed, models, instruments, clock), a line each, and says what to change.
//! Here: the configuration, the clock, and what is printed.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::client::Target;
use super::safe::say_json;
use crate::edge::limits::ms;
use crate::model::prompt::Prompts;
use crate::program::descriptors;
use crate::program::output::say;
use crate::program::settings::{Invalid, Loaded, Settings};
use crate::program::telemetry::escaped;
use crate::tools::catalogue::Catalogue;
use crate::tools::code;
use crate::tools::code::workers::reach;
use crate::words::secret::shown_url;
use clock::Clock;

mod clock;
mod instruments;
mod model;
mod proxy;
mod servers;
mod speed;
mod storage;

/// How to try it.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// How long each check may take, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 120_000)]
    wait_ms: u64,
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

/// Tries everything, says what it found, and fails if anything is to be changed.
pub async fn run(
    options: &Options,
    loaded: Result<Loaded, Invalid>,
    tools: &Catalogue,
) -> anyhow::Result<()> {
    let mut report = Report {
        checks: Vec::new(),
        clocks: Vec::new(),
        write: None,
        voices: None,
        json: options.json,
        limit: ms(options.wait_ms),
    };
    let Loaded { settings, sources } = match loaded {
        Ok(loaded) => loaded,
        Err(error) => {
            report.tell("configuration", Err(error.into()))?;
            return report.end();
        }
    };
    let (prompts, tools) = (
        Prompts::load(settings.prompts.as_deref()),
        &settings.switched_on(tools),
    );
    report.tell(
        "configuration",
        configuration(&settings, &sources, prompts.as_ref().ok(), tools),
    )?;
    report.tell("descriptors", Ok(descriptors::said(settings.edge().limits)))?;
    storage::check(&settings, &options.target.server(&settings), &mut report).await?;
    match &prompts {
        Ok(prompts) => model::check(&settings, prompts, tools, &mut report).await?,
        Err(error) => report.tell("prompts", Err(anyhow::anyhow!("{error}")))?,
    }
    if settings.tools.code.enabled {
        report.check("code", worker(&settings.tools.code)).await?;
    }
    servers::check(&settings, tools, &mut report).await?;
    if let Some(unused) = proxy::unused() {
        report.tell("proxy", Ok(unused))?;
    }
    instruments::check(&settings, &mut report).await?;
    report.tell(
        "clock",
        clock::check(crate::words::time::now(), &report.clocks),
    )?;
    report.end()
}

/// Whether a worker of `run_code` starts, and what protects others from the code that it runs.
async fn worker(code: &code::Options) -> anyhow::Result<(String, ())> {
    let begin = Instant::now();
    let cure = match code.replica.url {
        Some(_) => "tools.code.replica.url: start thinkd replica there, or name another one",
        None => "switch run_code off by tools.code.enabled = false",
    };
    let workers = reach(code).await.context(cure)?;
    let kept = workers.probe().await.context(cure)?;
    let place = code
        .replica
        .url
        .as_ref()
        .map(|url| format!(" at {}", shown_url(url)))
        .unwrap_or_default();
    let started = format!(
        "a worker{place} for the code that models write (run_code) starts in {} ms",
        begin.elapsed().as_millis()
    );
    Ok(match kept.as_slice() {
        [] => (
            format!(
                "{started}, and gives up files, network, processes and memory beyond its limit"
            ),
            (),
        ),
        kept => (
            format!(
                "{started}; the kernel did not let it give up {}",
                kept.join(", ")
            ),
            (),
        ),
    })
}

/// Whether this could be served, and where it comes from.
fn configuration(
    settings: &Settings,
    sources: &[(String, String)],
    prompts: Option<&Prompts>,
    tools: &Catalogue,
) -> anyhow::Result<String> {
    settings.clone().with_key_files()?.check()?;
    prompts.map_or(Ok(()), |prompts| settings.check_tools(prompts, tools))?;
    let variable = |source: &str| {
        source
            .strip_prefix("the environment variable ")
            .map(str::to_owned)
    };
    let from: BTreeSet<String> = sources
        .iter()
        .map(|(_, source)| variable(source).unwrap_or_else(|| source.clone()))
        .collect();
    Ok(match Vec::from_iter(from).as_slice() {
        [] => "nothing is configured: all is as built in".to_owned(),
        from => format!("read from {}", from.join(", ")),
    })
}

/// One check, as it is printed.
struct Check {
    name: String,
    ok: bool,
    text: String,
}

/// What was found so far.
struct Report {
    checks: Vec<Check>,
    /// What the clocks of others said on the way.
    clocks: Vec<Clock>,
    /// The time of a durable write.
    write: Option<Duration>,
    /// The voices of the space; none: they are not known, or the space is new.
    voices: Option<Vec<speed::Voice>>,
    json: bool,
    limit: Duration,
}

impl Report {
    /// Makes a check within its time, and says what it found; what it leaves for others, if all is well.
    async fn check<T>(
        &mut self,
        name: &str,
        work: impl Future<Output = anyhow::Result<(String, T)>>,
    ) -> anyhow::Result<Option<T>> {
        let late = || {
            format!(
                "this did not come to its end within {} ms (--wait-ms)",
                self.limit.as_millis()
            )
        };
        let (found, left) = match timeout(self.limit, work).await.with_context(late) {
            Ok(Ok((text, left))) => (Ok(text), Some(left)),
            Ok(Err(error)) | Err(error) => (Err(error), None),
        };
        self.tell(name, found)?;
        Ok(left)
    }

    fn tell(&mut self, name: &str, found: anyhow::Result<String>) -> anyhow::Result<()> {
        let ok = found.is_ok();
        let text = escaped(&found.unwrap_or_else(|error| format!("{error:#}")));
        if !self.json {
            say(format_args!(
                "{}  {name:<13}  {text}",
                if ok { "ok   " } else { "WRONG" }
            ))?;
        }
        self.checks.push(Check {
            name: name.to_owned(),
            ok,
            text,
        });
        Ok(())
    }

    fn end(self) -> anyhow::Result<()> {
        let wrong = self.checks.iter().filter(|check| !check.ok).count();
        if self.json {
            let check =
                |Check { name, ok, text }: &Check| json!({ "check": name, "ok": ok, "text": text });
            say_json(
                &json!({ "ok": wrong == 0, "checks": Vec::from_iter(self.checks.iter().map(check)) }),
            )?;
        }
        match wrong {
            0 if self.json => Ok(()),
            0 => Ok(say("all is well")?),
            1 => bail!("one thing is to be changed"),
            many => bail!("{many} things are to be changed"),
        }
    }
}
