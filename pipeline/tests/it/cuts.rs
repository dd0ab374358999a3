//! Random pipelines under a journal, cut off at random places and taken up with other timing: no call ever gets a value
//! that is not its own.
//!
//! Every call knows where in the plan it stands, which the journal is not told. A value that it was
//! given once it must be given ever after. Nodes give random numbers, so that a mix-up shows.
//! `PIPELINE_JOURNAL_CASES` is the number of cases, `PIPELINE_JOURNAL_FIRST` the number of the
//! first.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, join_all};
use serde::Serialize;
use tokio::sync::Notify;
use unhurried::{
    Context, Journal, JournalError, JournalStore, MemoryStore, NodeExecutionError, Record, Run,
    all, at_once, node, outcomes,
};

/// Most lives of a run before it is left in peace.
const LIVES: usize = 6;

/// A small random number generator (xorshift), seeded, so that a case can be repeated.
struct Random(u64);

impl Random {
    fn of(case: u64, life: u64) -> Self {
        let mut random = Random(
            (case + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (life + 1).wrapping_mul(0xbf58_476d),
        );
        for _ in 0..4 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }
}

#[derive(Clone, Debug, Serialize)]
enum Step {
    /// A random number: few different arguments, so that calls look alike.
    Draw(u64),
    /// Of the last value.
    Mix,
    /// Two nodes that are read at once, through a third.
    Join(u64),
    /// Contexts made beforehand, read side by side.
    Fan(u64),
    /// The same, gathered in one of four ways.
    Gather(u64, u64),
    /// A node that runs these.
    Nested(Vec<Step>),
    /// This way or that, by the last value.
    Decide(Vec<Step>, Vec<Step>),
    Again(usize, Vec<Step>),
    /// Side by side, on one task or on one each.
    Flows(Vec<Vec<Step>>, bool),
}

fn steps(random: &mut Random, depth: u64) -> Vec<Step> {
    (0..1 + random.below(3))
        .map(|_| step(random, depth))
        .collect()
}

fn step(random: &mut Random, depth: u64) -> Step {
    match random.below(if depth == 0 { 5 } else { 11 }) {
        0 | 1 => Step::Draw(random.below(2)),
        2 => Step::Mix,
        3 => Step::Join(random.below(2)),
        4 if random.below(2) == 0 => Step::Fan(1 + random.below(3)),
        4 => Step::Gather(1 + random.below(4), random.below(4)),
        5 => Step::Nested(steps(random, depth - 1)),
        6 => Step::Decide(steps(random, depth - 1), steps(random, depth - 1)),
        7 => Step::Again(1 + random.below(2) as usize, steps(random, depth - 1)),
        // Flows that begin alike are the ones that can be mixed up.
        8 => Step::Flows(vec![steps(random, depth - 1); 2], random.below(2) == 0),
        _ => Step::Flows(
            (0..2 + random.below(2))
                .map(|_| steps(random, depth - 1))
                .collect(),
            random.below(2) == 0,
        ),
    }
}

/// All that outlives a life, and the dice.
struct World {
    random: Mutex<Random>,
    /// The value that each call was given, by its place in the plan.
    given: Mutex<HashMap<String, u64>>,
    wrong: Mutex<Vec<String>>,
    ran: AtomicUsize,
    replayed: AtomicUsize,
    /// Flows have no names, but arguments that are all different.
    bare: bool,
}

#[derive(Clone)]
struct Who(Arc<World>, String);

impl World {
    fn below(&self, limit: u64) -> u64 {
        self.random.lock().unwrap().below(limit)
    }

    async fn pause(&self) {
        for _ in 0..self.below(4) {
            tokio::task::yield_now().await;
        }
    }

    fn give(&self, at: &str, value: u64) -> u64 {
        if let Some(before) = self.given.lock().unwrap().insert(at.to_owned(), value) {
            self.replayed.fetch_add(1, Ordering::Relaxed);
            if before != value {
                self.wrong
                    .lock()
                    .unwrap()
                    .push(format!("{at}: first {before:x}, then {value:x}"));
            }
        }
        value
    }

    /// Returns the first value of a flow.
    fn start(&self, at: &str) -> u64 {
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        if self.bare {
            at.bytes().fold(0xcbf2_9ce4_8422_2325, fold)
        } else {
            0
        }
    }
}

#[node(ignore(who))]
async fn draw(kind: u64, who: Who) -> Result<u64, String> {
    who.0.ran.fetch_add(1, Ordering::Relaxed);
    who.0.pause().await;
    let value = kind ^ who.0.random.lock().unwrap().next();
    if who.0.below(60) == 0 {
        Err("no luck".to_owned())
    } else {
        Ok(value)
    }
}

#[node(ignore(who))]
async fn mix(a: u64, b: u64, who: Who) -> u64 {
    who.0.ran.fetch_add(1, Ordering::Relaxed);
    who.0.pause().await;
    a.rotate_left(7) ^ b ^ who.0.random.lock().unwrap().next()
}

#[node(ignore(who))]
async fn tally(values: Vec<u64>, who: Who) -> u64 {
    who.0.ran.fetch_add(1, Ordering::Relaxed);
    who.0.pause().await;
    let dice = who.0.random.lock().unwrap().next();
    values
        .into_iter()
        .fold(dice, |sum, value| sum.rotate_left(7) ^ value)
}

#[node(ignore(who))]
async fn nested(start: u64, steps: Vec<Step>, who: Who) -> Result<u64, NodeExecutionError> {
    flow(who.0, who.1, start, steps).await
}

fn flow(
    world: Arc<World>,
    at: String,
    start: u64,
    steps: Vec<Step>,
) -> BoxFuture<'static, Result<u64, NodeExecutionError>> {
    Box::pin(async move {
        let mut last = start;
        for (i, step) in steps.into_iter().enumerate() {
            let at = format!("{at}.{i}");
            let who = |more: &str| Who(world.clone(), format!("{at}{more}"));
            world.pause().await;
            last = match step {
                Step::Draw(kind) => {
                    let kind = if world.bare { world.start(&at) } else { kind };
                    world.give(&at, draw(Context::new(kind), who("")).await?)
                }
                Step::Mix => world.give(&at, mix(Context::new(last), 1, who("")).await?),
                Step::Join(kind) => {
                    let kind = if world.bare { world.start(&at) } else { kind };
                    let one = draw(Context::new(kind), who("a"));
                    let two = draw(Context::new(kind), who("b"));
                    let both = mix(&one, &two, who(""));
                    let both = world.give(&at, both.await?);
                    (world.give(&who("a").1, one.await?) ^ world.give(&who("b").1, two.await?))
                        .wrapping_add(both)
                }
                Step::Fan(n) => {
                    let made = (0..n)
                        .map(|k| mix(Context::new(last), k % 2, who("")))
                        .collect::<Vec<_>>();
                    let found = join_all(made.iter().map(Context::data)).await;
                    let mut sum = 0_u64;
                    for (k, value) in found.into_iter().enumerate() {
                        sum = sum.wrapping_add(world.give(&format!("{at}f{k}"), value?));
                    }
                    sum
                }
                Step::Gather(n, how) => {
                    let kind = |k: u64| {
                        if world.bare {
                            world.start(&format!("{at}g{k}"))
                        } else {
                            k % 2
                        }
                    };
                    let made = (0..n)
                        .map(|k| draw(Context::new(kind(k)), who("")))
                        .collect::<Vec<_>>();
                    let tally = match how {
                        0 => tally(&made, who("")),
                        1 => tally(all(made.clone()), who("")),
                        2 => tally(at_once(2).all(made.clone()), who("")),
                        _ => {
                            let found = outcomes(made.clone())
                                .await?
                                .into_iter()
                                .collect::<Result<Vec<_>, _>>();
                            tally(Context::new(found?), who(""))
                        }
                    };
                    let tally = world.give(&at, tally.await?);
                    for (k, made) in made.iter().enumerate() {
                        world.give(&format!("{at}g{k}"), made.data().await?);
                    }
                    tally
                }
                Step::Nested(steps) => {
                    world.give(&at, nested(Context::new(last), steps, who("n")).await?)
                }
                Step::Decide(even, _) if last.is_multiple_of(2) => {
                    flow(world.clone(), format!("{at}e"), last, even).await?
                }
                Step::Decide(_, odd) => flow(world.clone(), format!("{at}o"), last, odd).await?,
                Step::Again(times, steps) => {
                    for k in 0..times {
                        last =
                            flow(world.clone(), format!("{at}r{k}"), last, steps.clone()).await?;
                    }
                    last
                }
                Step::Flows(flows, spawned) => side_by_side(&world, &at, flows, spawned).await?,
            };
        }
        Ok(last)
    })
}

async fn side_by_side(
    world: &Arc<World>,
    at: &str,
    flows: Vec<Vec<Step>>,
    spawned: bool,
) -> Result<u64, NodeExecutionError> {
    let flows = flows.into_iter().enumerate().map(|(k, steps)| {
        let at = format!("{at}b{k}");
        flow(world.clone(), at.clone(), world.start(&at), steps)
    });
    let ends = match (world.bare, spawned) {
        (true, _) => join_all(flows).await,
        (false, true) => {
            let tasks = flows
                .enumerate()
                .map(|(k, flow)| Run::spawn(k, flow))
                .collect::<Vec<_>>();
            match join_all(tasks).await.into_iter().collect() {
                Ok(ends) => ends,
                Err(_ended) => std::future::pending().await, // the runtime goes, and this life with it
            }
        }
        (false, false) => join_all(flows.enumerate().map(|(k, flow)| Run::branch(k, flow))).await,
    };
    ends.into_iter()
        .try_fold(0_u64, |sum, end| Ok(sum.rotate_left(3) ^ end?))
}

/// A store in which a life ends: before or after it has kept a record.
struct Store {
    records: MemoryStore,
    world: Arc<World>,
    left: AtomicUsize,
    after: bool,
    cut: Arc<Notify>,
    /// Forgets the branch of a record: the journal without branches.
    mixes_up: bool,
}

impl Store {
    fn place(&self, place: &str) -> String {
        if !self.mixes_up {
            return place.to_owned();
        }
        place
            .split('.')
            .map(|part| part.split('/').next().unwrap_or_default())
            .collect::<Vec<_>>()
            .join(".")
    }
}

#[unhurried::async_trait]
impl JournalStore for Store {
    async fn find(&self, run: &str, place: &str) -> io::Result<Option<Record>> {
        self.world.pause().await;
        self.records.find(run, &self.place(place)).await
    }

    async fn keep(&self, run: &str, mut record: Record) -> io::Result<()> {
        self.world.pause().await;
        record.place = self.place(&record.place);
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            if self.after {
                self.records.keep(run, record).await?;
            }
            self.cut.notify_one();
            return std::future::pending().await;
        }
        self.records.keep(run, record).await
    }

    async fn forget(&self, run: &str) -> io::Result<()> {
        self.records.forget(run).await
    }
}

/// Counts of some cases.
#[derive(Default, Debug)]
struct Tally {
    cases: usize,
    lives: usize,
    cuts: usize,
    ran: usize,
    replayed: usize,
    refused: usize,
    wrong: Vec<String>,
}

/// Why a life ended.
enum End {
    Whole(u64),
    Cut,
    Unlucky,
    Refused(String),
}

fn live(
    case: u64,
    life: u64,
    plan: &[Step],
    world: &Arc<World>,
    records: &MemoryStore,
    mixes_up: bool,
) -> End {
    let mut random = Random::of(case, life);
    let left = if life < LIVES as u64 {
        1 + random.below(12) as usize
    } else {
        usize::MAX
    };
    let after = random.below(2) == 0;
    let cut = Arc::new(Notify::new());
    *world.random.lock().unwrap() = random;
    let records = records.clone();
    let world = world.clone();
    let store = Store {
        records,
        world: world.clone(),
        left: left.into(),
        after,
        cut: cut.clone(),
        mixes_up,
    };
    // The runtime goes with the life, and all its tasks with it, as a process does.
    let runtime = match case % 8 {
        0 => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap(),
        _ => tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap(),
    };
    let run = Run::new("r").hook(Journal::new(store)).scope(flow(
        world,
        "p".to_owned(),
        0,
        plan.to_vec(),
    ));
    let end = runtime.block_on(async {
        tokio::select! {
            biased;
            () = cut.notified() => None,
            end = run => Some(end),
        }
    });
    match end {
        None => End::Cut,
        Some(Ok(value)) => End::Whole(value),
        Some(Err(failure)) if failure.cause().is::<JournalError>() => {
            End::Refused(failure.to_string())
        }
        Some(Err(_)) => End::Unlucky,
    }
}

fn case(number: u64, bare: bool, mixes_up: bool, tally: &mut Tally) {
    let plan = steps(&mut Random::of(number, 1000), 3);
    let world = Arc::new(World {
        random: Mutex::new(Random(1)),
        given: Mutex::default(),
        wrong: Mutex::default(),
        ran: AtomicUsize::new(0),
        replayed: AtomicUsize::new(0),
        bare,
    });
    let records = MemoryStore::default();
    let mut whole = None;
    for life in 0.. {
        tally.lives += 1;
        match live(number, life, &plan, &world, &records, mixes_up) {
            End::Cut => tally.cuts += 1,
            End::Unlucky => {}
            End::Refused(why) => {
                tally.refused += 1;
                if !bare && !mixes_up {
                    tally.wrong.push(format!("case {number}: refused: {why}"));
                }
                break;
            }
            End::Whole(value) => match whole.replace((value, world.ran.load(Ordering::Relaxed))) {
                None => {}
                // Once more, when all is recorded: the same end, and nothing runs.
                Some(before) => {
                    if before != (value, world.ran.load(Ordering::Relaxed)) {
                        tally
                            .wrong
                            .push(format!("case {number}: another end the second time"));
                    }
                    break;
                }
            },
        }
    }
    tally.cases += 1;
    tally.ran += world.ran.load(Ordering::Relaxed);
    tally.replayed += world.replayed.load(Ordering::Relaxed);
    let wrong = std::mem::take(&mut *world.wrong.lock().unwrap());
    tally.wrong.extend(
        wrong
            .into_iter()
            .map(|wrong| format!("case {number}: {wrong}")),
    );
}

fn cases(title: &str, bare: bool, mixes_up: bool, most: u64) -> Tally {
    let mut tally = Tally::default();
    (first()..first() + most).for_each(|number| case(number, bare, mixes_up, &mut tally));
    let Tally {
        cases,
        lives,
        cuts,
        ran,
        replayed,
        refused,
        wrong,
    } = &tally;
    // Past the test's own output, which nobody sees of a test that passes.
    let said = writeln!(
        std::io::stderr(),
        "{title}: {cases} pipelines in {lives} lives, {cuts} of them cut off: {ran} nodes ran, {replayed} values were given again, \
         {refused} runs refused, {} wrong values",
        wrong.len()
    );
    said.unwrap();
    tally
}

/// Returns the number of the first case: by it a failing case is looked at alone.
fn first() -> u64 {
    std::env::var("PIPELINE_JOURNAL_FIRST").map_or(0, |first| {
        first.parse().expect("PIPELINE_JOURNAL_FIRST is a number")
    })
}

fn many() -> u64 {
    std::env::var("PIPELINE_JOURNAL_CASES").map_or(2000, |cases| {
        cases.parse().expect("PIPELINE_JOURNAL_CASES is a number")
    })
}

#[test]
fn no_call_gets_another_ones_value_wherever_the_run_was_cut_off() {
    let tally = cases("named branches", false, false, many());
    assert!(
        tally.wrong.is_empty(),
        "{:#?}",
        &tally.wrong[..tally.wrong.len().min(5)]
    );
    assert!(
        tally.cuts > tally.cases && tally.replayed > tally.cases,
        "too little was cut off: {tally:?}"
    );
}

#[test]
fn flows_without_names_get_no_wrong_value_either_but_may_be_refused() {
    let tally = cases("flows without names", true, false, many());
    assert!(
        tally.wrong.is_empty(),
        "{:#?}",
        &tally.wrong[..tally.wrong.len().min(5)]
    );
    assert!(
        tally.refused > 0 && tally.refused < tally.cases,
        "{tally:?}"
    );
}

// Control: this test finds what it looks for.
#[test]
fn a_journal_that_knew_no_branches_is_found_out() {
    let tally = cases("control, names forgotten", false, true, 300);
    assert!(!tally.wrong.is_empty(), "{tally:?}");
}
