//! Missions: the share of planted ones that are answered right, beside other ways to spend the same
//! calls; and the cost of a task. `bench/README.md` explains the figures.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use door::{Door, plain};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::figures::{Arguments, Usage, ms};
use crate::planted_missions::{Planted, RUNS};
use crate::process::{self, Folder, Server};

#[path = "missions/door.rs"]
mod door;

const STEPS: [usize; 6] = [3, 5, 10, 20, 40, 80];
const CHANCES: [f64; 4] = [0.7, 0.8, 0.9, 0.95];
const ERRORS: [f64; 3] = [0.0, 0.1, 0.2];
/// Worlds in which the other ways are tried, `RUNS` times each.
const WORLDS: u64 = 250;
/// Tasks of a mission at a time: `mission.width` where nothing is configured.
const WIDTH: u64 = 4;
/// Missions at a time.
const AT_ONCE: usize = 16;
/// Missions that are held beside each other: as many as fill the caches of the database, and two more.
const HELD: usize = 6;
/// Longest time of a mission.
const PATIENCE: Duration = Duration::from_secs(600);

/// Points behind the best of the others that are too many, and points ahead that are wanted where whole attempts do not succeed.
const BEHIND: f64 = 5.0;
const AHEAD: f64 = 10.0;

type Way = fn(&Planted) -> bool;
const OTHERS: [(&str, Way); 4] = [
    ("direct", Planted::direct),
    ("best of n", Planted::best_of_n),
    ("majority", Planted::majority),
    ("split at once", Planted::split_at_once),
];

/// Of worlds tried `RUNS` times each: the share of all that was right, and of worlds where all was, in percent.
#[derive(Clone, Copy)]
struct Passes {
    one: f64,
    eight: f64,
}

impl Passes {
    fn of(worlds: &[Vec<bool>]) -> Self {
        let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
        let right = worlds.iter().flatten().filter(|right| **right).count();
        let all = worlds
            .iter()
            .filter(|runs| runs.iter().all(|right| *right))
            .count();
        Self {
            one: share(right, worlds.iter().map(Vec::len).sum()),
            eight: share(all, worlds.len()),
        }
    }
}

/// A cell but for its world and its run.
fn cell(steps: usize, chance: f64, judge_error: f64, repeat: f64) -> Planted {
    Planted {
        steps,
        chance,
        judge_error,
        repeat,
        world: 0,
        run: 0,
    }
}

fn worlds(cell: Planted, count: u64) -> impl Iterator<Item = Vec<Planted>> {
    (1..=count).map(move |world| {
        (1..=RUNS)
            .map(|run| Planted { world, run, ..cell })
            .collect()
    })
}

/// In how many worlds the server is tried: `seeds` where a mission has 20 steps, more where it has fewer, which take less.
fn ours(seeds: u64, steps: usize) -> u64 {
    (seeds * 20 / steps as u64).clamp(2, 48)
}

fn other(cell: Planted, way: Way) -> Passes {
    Passes::of(
        &worlds(cell, WORLDS)
            .map(|runs| runs.iter().map(way).collect())
            .collect::<Vec<_>>(),
    )
}

pub fn run(arguments: &Arguments) {
    let threads = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let wants = |part: &str| arguments.case.as_deref().is_none_or(|case| case == part);
    if wants("costs") {
        threads.block_on(costs());
    }
    if wants("reach") {
        reach();
    }
    if wants("server") {
        threads.block_on(server(arguments.seeds));
    }
}

/// A server and the model that it asks.
struct Missions {
    server: Server,
    http: reqwest::Client,
    door: Door,
    _folder: Folder,
}

impl Missions {
    async fn start() -> Self {
        let door = Door::open().await;
        let folder = Folder::new();
        let settings = [
            "THINKD_TEST_MISSION__DEPTH=1",
            "THINKD_TEST_MISSION__TASKS=10000",
            "budget.root.model_calls=1200000",
            "budget.root.tokens=1000000000",
        ];
        let server =
            Server::thinkd_asking(&folder.file("missions.db"), &door.model(), &settings).await;
        Self {
            server,
            http: process::http(),
            door,
            _folder: folder,
        }
    }

    async fn begin(&self, mission: &str, calls: u64) -> String {
        let body =
            json!({ "kind": "mission", "mission": mission, "budget": { "model_calls": calls } });
        let answer = self
            .http
            .post(self.server.url("/threads"))
            .json(&body)
            .send()
            .await
            .unwrap();
        let thread: Value = answer.json().await.unwrap();
        thread["id"]
            .as_str()
            .unwrap_or_else(|| panic!("no mission: {thread}"))
            .to_owned()
    }

    async fn get(&self, path: &str) -> Value {
        let begin = Instant::now();
        loop {
            let answer = self.http.get(self.server.url(path)).send().await.unwrap();
            if answer.status() != 503 || begin.elapsed() > PATIENCE {
                return answer.json().await.unwrap();
            }
        }
    }

    /// Waits until a mission has ended: its answer.
    async fn answer(&self, mission: &str) -> String {
        let begin = Instant::now();
        loop {
            let thread = self.get(&format!("/threads/{mission}")).await;
            if ["done", "failed", "stopped"]
                .contains(&thread["status"].as_str().unwrap_or_default())
            {
                break;
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "a mission without an end: {thread}"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let replies = self
            .get(&format!("/events?thread={mission}&tags=response&limit=1"))
            .await;
        replies["items"][0]["payload"]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Returns, for each of these, true if it is answered right.
    async fn right(&self, all: &[Planted]) -> Vec<bool> {
        let right = futures_util::stream::iter(all)
            .map(async |planted| {
                let mission = self.begin(&planted.to_string(), planted.calls()).await;
                planted.answers(&self.answer(&mission).await)
            })
            .buffered(AT_ONCE);
        right.collect().await
    }
}

/// The rule beside the other ways, in many worlds.
fn reach() {
    let mut behind = Vec::new();
    let mut ahead = Vec::new();
    let mut crossings = Crossings::default();
    println!(
        "4n + 2 calls each; pass^1 / pass^8 in percent, of {WORLDS} worlds, {RUNS} times each; ours by its rule"
    );
    print!("chance steps   whole %  error");
    OTHERS
        .iter()
        .map(|it| it.0)
        .chain(["ours"])
        .for_each(|name| print!("{name:>16}"));
    println!();
    for (row, chance) in CHANCES.into_iter().enumerate() {
        for steps in STEPS {
            // Nobody judges: what a judge gets wrong is no matter, as the missions of the server show below.
            let ours = other(cell(steps, chance, ERRORS[0], 0.0), Planted::by_rule);
            for (column, error) in ERRORS.into_iter().enumerate() {
                let cell = cell(steps, chance, error, 0.0);
                let others = OTHERS.map(|(_, way)| other(cell, way));
                print_cell(&cell, &others, ours);
                crossings.note((row, column), steps, &others, ours);
                let best = others.iter().map(|it| it.one).fold(0.0, f64::max);
                behind.push((best - ours.one, cell));
                if cell.whole() < 0.001 {
                    let whole = others[..3].iter().map(|it| it.one).fold(0.0, f64::max);
                    ahead.push((ours.one - whole, cell));
                }
            }
        }
    }
    crossings.print();
    let (most, at) = behind
        .into_iter()
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap();
    println!("at most {most:.1} points behind the best of the others (goal {BEHIND}): {at}");
    let (least, at) = ahead
        .into_iter()
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap();
    println!(
        "where less than 0.1 % of whole attempts succeed, {least:.1} points ahead of them at least (goal {AHEAD}): {at}"
    );
    println!(
        "\nwhere another try of a step repeats it, right or wrong, with this chance; no error of judges; last: where two that agree always do"
    );
    for repeat in [0.0, 0.1, 0.3] {
        for chance in [0.7, 0.95] {
            for steps in [3, 20, 80] {
                let cell = cell(steps, chance, 0.0, repeat);
                print!("{repeat:<4}");
                print_cell(
                    &cell,
                    &OTHERS.map(|(_, way)| other(cell, way)),
                    other(cell, Planted::by_rule),
                );
                let Passes { one, eight } = other(cell, Planted::by_two);
                println!("{:>100}", format!("{one:.1} / {eight:.0}"));
            }
        }
    }
}

/// Missions of the server, held against the rule in the same worlds.
async fn server(seeds: u64) {
    let missions = Missions::start().await;
    let begin = Instant::now();
    println!(
        "\nmissions of the server, judges err in {}: how many were right, how many by the rule, and how often both say the same",
        ERRORS[2]
    );
    for chance in CHANCES {
        for steps in STEPS {
            let cell = cell(steps, chance, ERRORS[2], 0.0);
            let all: Vec<Planted> = worlds(cell, ours(seeds, steps)).flatten().collect();
            let right = missions.right(&all).await;
            let by_rule: Vec<bool> = all.iter().map(Planted::by_rule).collect();
            let count = |of: &[bool]| of.iter().filter(|right| **right).count();
            let same = right
                .iter()
                .zip(&by_rule)
                .filter(|(one, other)| one == other)
                .count();
            let right = count(&right);
            let by_rule = count(&by_rule);
            println!(
                "{chance:<6} {steps:>5} {right:>6} {by_rule:>6} {same:>6} of {}",
                all.len()
            );
        }
    }
    println!(
        "judges were asked {} times (goal 0: then it is no matter how they err)",
        missions.door.count("judge")
    );
    println!("{:.0} s", begin.elapsed().as_secs_f64());
}

fn print_cell(cell: &Planted, others: &[Passes; 4], ours: Passes) {
    let Planted {
        steps,
        chance,
        judge_error,
        ..
    } = cell;
    print!(
        "{chance:<6} {steps:>5} {:>9.3}  {judge_error:<5}",
        100.0 * cell.whole()
    );
    for Passes { one, eight } in others.iter().chain([&ours]) {
        print!("{:>16}", format!("{one:.1} / {eight:.0}"));
    }
    println!();
}

/// From how many steps on ours is ahead of each of the others, by chance and error of judges.
#[derive(Default)]
struct Crossings(BTreeMap<(usize, usize), [Option<usize>; 4]>);

impl Crossings {
    fn note(&mut self, at: (usize, usize), steps: usize, others: &[Passes; 4], ours: Passes) {
        let first = self.0.entry(at).or_default();
        for (first, other) in first.iter_mut().zip(others) {
            let is_ahead = other.one + BEHIND < ours.one;
            *first = if is_ahead {
                first.or(Some(steps))
            } else {
                None
            };
        }
    }

    fn print(&self) {
        println!("\nours is more than {BEHIND} points ahead from so many steps on");
        print!("chance error");
        OTHERS.iter().for_each(|it| print!("{:>16}", it.0));
        println!();
        for ((chance, error), first) in &self.0 {
            print!("{:<6} {:<5}", CHANCES[*chance], ERRORS[*error]);
            first.iter().for_each(|steps| {
                print!(
                    "{:>16}",
                    steps.map_or_else(|| "-".to_owned(), |it| it.to_string())
                )
            });
            println!();
        }
    }
}

/// Measures the cost of tasks that are considered, done and judged at once.
async fn costs() {
    let missions = Missions::start().await;
    let pid = missions.server.pid();
    // What is done once in the life of a server is no task's.
    let warm = missions.begin(&plain(20, false), 1_000_000).await;
    missions.answer(&warm).await;
    let mut walls = Vec::new();
    for tasks in [100, 1000] {
        let before = Usage::quiet(pid).await;
        let begin = Instant::now();
        let answers = missions.door.count("answer");
        let mission = missions.begin(&plain(tasks, false), 1_000_000).await;
        // Nobody looks how far it is before its last call: what a look costs is no task's.
        while missions.door.count("answer") == answers && begin.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(missions.answer(&mission).await, "all is done");
        let wall = ms(begin.elapsed());
        let cpu = Usage::quiet(pid).await.cpu_ms - before.cpu_ms;
        println!(
            "{tasks} tasks: {wall:.0} ms, {:.2} ms of CPU a task (goal 5; three model calls each, the model aside)",
            cpu / tasks as f64
        );
        walls.push(wall);
    }
    println!(
        "1,000 tasks take {:.1} times as long as 100 (goal 11)",
        walls[1] / walls[0]
    );
    // The first ones bring along what the server then has for everybody: pages of the database, the newest events, the memory of its allocator.
    let mut asked = missions.door.count("solve");
    for which in 1..=HELD {
        let before = Usage::quiet(pid).await;
        let begin = Instant::now();
        missions.begin(&plain(10_000, true), 1_000_000).await;
        asked += WIDTH;
        while missions.door.count("solve") < asked && begin.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let wall = ms(begin.elapsed());
        let bytes = (Usage::quiet(pid).await.kib - before.kib) * 1024.0 / 10_000.0;
        println!(
            "mission {which} of {HELD} of 10,000 tasks, made in {wall:.0} ms: {bytes:.0} bytes a task in memory (goal 1024)"
        );
    }
}
