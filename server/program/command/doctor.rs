//! `thinkd doctor`: tries the parts a mind lives on, a line each: configuration, open files,
//! database, feed, models, instruments, clock. It names the remedies. Here: the configuration, the
//! clock and the output.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::client::Target;
use super::safe::say_json;
use crate::program::descriptors;
use crate::program::output::say;
use crate::program::settings::{Invalid, Loaded, Settings};
use crate::program::telemetry::escaped;
use clock::Clock;
use thinkd_edge::limits::ms;
use thinkd_model::prompt::Prompts;
use thinkd_tools::catalogue::Catalogue;
use thinkd_tools::code;
use thinkd_tools::code::workers::reach;
use thinkd_words::secret::shown_url;

mod clock;
mod instruments;
mod model;
mod proxy;
mod servers;
mod speed;
mod storage;

/// The checks to run.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// The longest time of a check, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 120_000)]
    wait_ms: u64,
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

/// Tries everything, prints the findings, and fails if anything is to be changed.
pub async fn run(
    options: &Options,
    loaded: Result<Loaded, Invalid>,
    tools: &Catalogue,
) -> anyhow::Result<()> {
    let mut report = Report {
        checks: Vec::new(),
        clocks: Vec::new(),
        write: None,
        submodules: None,
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
    let prompts = Prompts::load(settings.prompts.as_deref());
    let tools = &settings.switched_on(tools);
    let configured = configuration(&settings, &sources, prompts.as_ref().ok(), tools);
    report.tell("configuration", configured)?;
    report.tell("descriptors", Ok(descriptors::said(settings.edge().limits)))?;
    storage::check(&settings, &options.target.server(&settings), &mut report).await?;
    match &prompts {
        Ok(prompts) => model::check(&settings, prompts, tools, &mut report).await?,
        Err(error) => report.tell("prompts", Err(anyhow::anyhow!("{error}")))?,
    }
    if settings.tools.code.enabled {
        report.look("code", worker(&settings.tools.code)).await?;
    }
    servers::check(&settings, tools, &mut report).await?;
    if let Some(unused) = proxy::unused() {
        report.tell("proxy", Ok(unused))?;
    }
    instruments::check(&settings, &mut report).await?;
    let clock = clock::check(thinkd_words::time::now(), &report.clocks);
    report.tell("clock", clock)?;
    report.end()
}

/// Checks that a worker of `run_code` starts, and names the protection of others from its code.
async fn worker(code: &code::Options) -> anyhow::Result<String> {
    let begin = Instant::now();
    let cure = match code.replica.url {
        Some(_) => "tools.code.replica.url: start thinkd replica there, or name another one",
        None => "switch run_code off by tools.code.enabled = false",
    };
    let workers = reach(code).await.context(cure)?;
    let kept = workers.probe().await.context(cure)?;
    let place = (code.replica.url.as_ref()).map(|url| format!(" at {}", shown_url(url)));
    let place = place.unwrap_or_default();
    let ms = begin.elapsed().as_millis();
    let started =
        format!("a worker{place} for the code that models write (run_code) starts in {ms} ms");
    Ok(match kept.as_slice() {
        [] => {
            format!("{started}, and gives up files, network, processes and memory beyond its limit")
        }
        kept => format!(
            "{started}; the kernel did not let it give up {}",
            kept.join(", ")
        ),
    })
}

fn configuration(
    settings: &Settings,
    sources: &[(String, String)],
    prompts: Option<&Prompts>,
    tools: &Catalogue,
) -> anyhow::Result<String> {
    settings.clone().with_key_files()?.check()?;
    prompts.map_or(Ok(()), |prompts| settings.check_tools(prompts, tools))?;
    let shown = |source: &str| {
        let variable = source.strip_prefix("the environment variable ");
        variable.unwrap_or(source).to_owned()
    };
    let from: BTreeSet<String> = sources.iter().map(|(_, source)| shown(source)).collect();
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

/// The findings so far.
struct Report {
    checks: Vec<Check>,
    /// The clocks of others, noted on the way.
    clocks: Vec<Clock>,
    /// The time of a durable write.
    write: Option<Duration>,
    /// The submodules of the space; none: they are not known, or the space is new.
    submodules: Option<Vec<speed::Submodule>>,
    json: bool,
    limit: Duration,
}

impl Report {
    /// Makes a check within its time, and reports the finding. Returns its value for other checks,
    /// if all is well.
    async fn check<T>(
        &mut self,
        name: &str,
        work: impl Future<Output = anyhow::Result<(String, T)>>,
    ) -> anyhow::Result<Option<T>> {
        let ms = self.limit.as_millis();
        let late = || format!("this did not come to its end within {ms} ms (--wait-ms)");
        let (found, left) = match timeout(self.limit, work).await.with_context(late) {
            Ok(Ok((text, left))) => (Ok(text), Some(left)),
            Ok(Err(error)) | Err(error) => (Err(error), None),
        };
        self.tell(name, found)?;
        Ok(left)
    }

    /// Makes a check that leaves nothing for others. Returns true if all is well.
    async fn look(
        &mut self,
        name: &str,
        work: impl Future<Output = anyhow::Result<String>>,
    ) -> anyhow::Result<bool> {
        let found = self.check(name, async { Ok((work.await?, ())) });
        Ok(found.await?.is_some())
    }

    fn tell(&mut self, name: &str, found: anyhow::Result<String>) -> anyhow::Result<()> {
        let ok = found.is_ok();
        let text = escaped(&found.unwrap_or_else(|error| format!("{error:#}")));
        if !self.json {
            let mark = if ok { "ok   " } else { "WRONG" };
            say(format_args!("{mark}  {name:<13}  {text}"))?;
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
            let check = |it: &Check| json!({ "check": it.name, "ok": it.ok, "text": it.text });
            let checks = Vec::from_iter(self.checks.iter().map(check));
            say_json(&json!({ "ok": wrong == 0, "checks": checks }))?;
        }
        match wrong {
            0 if self.json => Ok(()),
            0 => Ok(say("all is well")?),
            1 => bail!("one thing is to be changed"),
            many => bail!("{many} things are to be changed"),
        }
    }
}
