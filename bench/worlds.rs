//! Planted worlds: a stream of claims from honest and dishonest sources, and the statements that
//! memories hold of it. The memories: ours, ours with nothing but self-reflection, those that keep
//! all, that take the last write, the majority, a judge's word on alike claims, and an oracle.
//! `bench/README.md` explains the columns.

use std::sync::Arc;

use columns::{Answers, Columns, NAMES, columns, held};
use rivals::{Memory, Rival};

use crate::figures::{Arguments, at};
use crate::planted_worlds::door::{Door, Quality};
use crate::planted_worlds::formula::{correlated, independent};
use crate::planted_worlds::run::{Asked, Counts, Report, SETTINGS, run as tell};
use crate::planted_worlds::{By, Truth, World};
use crate::process::{self, Folder, Server};

#[path = "worlds/columns.rs"]
mod columns;
#[path = "worlds/rivals.rs"]
mod rivals;

/// Years of a stream.
const YEARS: usize = 10;
/// Claims of a world that is not of the first cell.
const SMALL: usize = 1000;
/// Statements that are claimed again as they are held.
const FED_AGAIN: usize = 200;
/// Statements of a world that have their calls counted.
const OWN_CALLS: usize = 200;

/// The setup of trials.
#[derive(Clone, Copy)]
struct Cell {
    quality: Quality,
    two_of_three: bool,
    knowledge: bool,
    /// People are asked, too, where the register has carried a statement but its new value was
    /// refused.
    people: bool,
}

const FIRST: Cell = Cell {
    quality: Quality::of(0.9),
    two_of_three: true,
    knowledge: true,
    people: false,
};

pub fn run(arguments: &Arguments) {
    let threads = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    threads.block_on(side_by_side(arguments));
    if arguments.case.is_some() {
        return;
    }
    threads.block_on(cells(arguments.claims.min(SMALL)));
    threads.block_on(chorus(arguments.claims.min(SMALL)));
}

/// A server that was told a world.
struct Told {
    _server: Server,
    _folder: Folder,
    _door: Arc<Door>,
    asked: Asked,
    report: Report,
}

async fn told(world: &Arc<World>, cell: Cell) -> Told {
    let door = Arc::new(Door::open(world, cell.quality).await);
    let mut settings: Vec<String> = SETTINGS
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    settings.push(format!("memory.two_of_three={}", cell.two_of_three));
    if cell.knowledge {
        settings.push(format!("memory.knowledge.url={}", door.search()));
    }
    if cell.people {
        settings.push("THINKD_TEST_MEMORY__QUESTIONS=400".to_owned());
    }
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let folder = Folder::new();
    let server = Server::thinkd_asking(&folder.file("worlds.db"), &door.model(), &settings).await;
    let asked = Asked::at(process::http(), &server.address);
    let asked = if cell.people {
        asked.with_people(&door)
    } else {
        asked
    };
    let report = tell(&asked, world, &door).await;
    Told {
        _server: server,
        _folder: folder,
        _door: door,
        asked,
        report,
    }
}

/// Counts of ours over all worlds.
#[derive(Default)]
struct Pooled {
    counts: Counts,
    /// False claims beside orders, and how many survived; false claims of others, and how many survived.
    ordered: [usize; 2],
    others: [usize; 2],
    /// Orders that became a statement; statements that were fed again, and new ones that came of
    /// them.
    obeyed: usize,
    fed_again: [usize; 2],
    /// Calls that each statement which survived took of its own.
    own: Vec<f64>,
    acks: Vec<f64>,
}

impl Pooled {
    fn add(&mut self, report: &Report) {
        let Counts {
            of_true,
            of_false,
            kept,
            believed,
        } = report.counts();
        let all = &mut self.counts;
        (all.of_true, all.of_false) = (all.of_true + of_true, all.of_false + of_false);
        (all.kept, all.believed) = (all.kept + kept, all.believed + believed);
        for it in report
            .tried
            .iter()
            .filter(|it| it.truth != Truth::So && it.status != "proposed")
        {
            let count = if it.said.by == By::Order {
                &mut self.ordered
            } else {
                &mut self.others
            };
            count[0] += 1;
            count[1] += usize::from(it.survived);
        }
        self.obeyed += report
            .tried
            .iter()
            .filter(|it| it.said.claim.is_none())
            .count();
        self.acks.extend(&report.acks);
    }

    fn print(mut self, cell: Cell) {
        let Counts {
            of_true,
            of_false,
            kept,
            believed,
        } = self.counts;
        let expected =
            independent(cell.quality.reliability, cell.two_of_three, 2).of(of_true, of_false);
        let ((low, high), (least, most)) = (expected.precision(), expected.recall(of_true));
        println!(
            "  first trials of {of_true} true and {of_false} false claims: {kept} and {believed} survived"
        );
        println!(
            "    precision {:.4}, by the formula {low:.4} to {high:.4} (goal 0.995)",
            self.counts.precision()
        );
        println!(
            "    recall    {:.4}, by the formula {least:.4} to {most:.4} (goal 0.93)",
            self.counts.recall()
        );
        println!(
            "    inside of the 99 % interval: {}",
            expected.holds(kept, believed)
        );
        println!(
            "  orders without a claim that became statements: {} (goal 0)",
            self.obeyed
        );
        let [[ordered, obeyed], [others, believed]] = [self.ordered, self.others];
        println!(
            "  false claims that survived: {obeyed} of {ordered} beside orders, {believed} of {others} others"
        );
        let [fed, new] = self.fed_again;
        println!("  statements that came of {fed} that were fed again: {new} (goal 0)");
        let half = at(&mut self.own, 0.5);
        let most = at(&mut self.own, 1.0);
        println!(
            "  calls to the model for a statement that survived: {half} (p50), {most} at most (goal 7)"
        );
        println!(
            "  a claim is acknowledged in {:.2} ms (p50), {:.2} ms (p99)",
            at(&mut self.acks, 0.5),
            at(&mut self.acks, 0.99)
        );
    }
}

async fn side_by_side(arguments: &Arguments) {
    let mut table: Vec<(&str, Columns)> = Rival::ALL
        .map(|(name, _)| (name, Columns::default()))
        .into();
    table.push(("ours, reflection only", Columns::default()));
    table.push(("ours", Columns::default()));
    table.push(("ours, and people", Columns::default()));
    let mut pooled = Pooled::default();
    for seed in 1..=arguments.seeds {
        let world = Arc::new(World::new(seed, arguments.claims, YEARS));
        for (row, (_, rival)) in table.iter_mut().zip(Rival::ALL) {
            let memory = Memory::of(rival, &world);
            let calls = (rival.calls() * arguments.claims) as f64;
            row.1.add(
                &columns(
                    &world,
                    &memory.held,
                    memory.lost,
                    &Answers::Memory(&memory),
                    calls,
                )
                .await,
            );
        }
        let ours = [
            Cell {
                knowledge: false,
                ..FIRST
            },
            FIRST,
            Cell {
                people: true,
                ..FIRST
            },
        ];
        for (row, cell) in table.iter_mut().skip(Rival::ALL.len()).zip(ours) {
            if arguments.case.as_ref().is_some_and(|case| case != row.0) {
                continue;
            }
            let told = told(&world, cell).await;
            let held = held(&told.report.rows);
            let lost = told.report.lost;
            let calls = told.report.calls as f64;
            row.1
                .add(&columns(&world, &held, lost, &Answers::Server(&told.asked), calls).await);
            if cell.knowledge && !cell.people {
                pooled.add(&told.report);
                pooled.own.extend(own_calls(&told).await);
                let (fed, new) = fed_again(&told).await;
                pooled.fed_again = [pooled.fed_again[0] + fed, pooled.fed_again[1] + new];
            }
        }
    }
    println!(
        "{} worlds of {} claims; r = 0.9, c = 0, two predictions, two of three readings",
        arguments.seeds, arguments.claims
    );
    println!(
        "  {:<22}{}",
        "",
        NAMES.map(|name| format!("{name:>10}")).concat()
    );
    let told = table.iter().filter(|(_, columns)| columns.0[0].1 > 0.0);
    told.for_each(|(name, columns)| println!("  {name:<22}{}", columns.line()));
    if pooled.counts.of_true > 0 {
        pooled.print(FIRST);
    }
}

/// Calls that statements took which survived: one derives, one is for each reading.
async fn own_calls(told: &Told) -> Vec<f64> {
    let mut all = Vec::new();
    for it in told
        .report
        .tried
        .iter()
        .filter(|it| it.status == "surviving")
        .take(OWN_CALLS)
    {
        let trial = told.asked.get(&format!("/world-model/{}", it.id)).await;
        let readings = trial["predictions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|it| it["readings"].as_array());
        all.push(1.0 + readings.map(Vec::len).sum::<usize>() as f64);
    }
    all
}

/// Claims held statements again, as they would come out of a recall. Returns their number, and the
/// number of statements that came of them.
async fn fed_again(told: &Told) -> (usize, usize) {
    let held = held(&told.report.rows);
    let some: Vec<_> = held.iter().take(FED_AGAIN).collect();
    for (way, it) in some.iter().enumerate() {
        told.asked.claim(&it.claim.text(way % 3)).await;
    }
    (
        some.len(),
        told.asked.settled().await.len() - told.report.rows.len(),
    )
}

/// Other instruments: the surviving statements, beside the values of the formula where there is
/// one.
async fn cells(claims: usize) {
    println!("other cells, one world of {claims} claims each");
    println!(
        "     r     c   covers   fails  readings  precision    recall   by the formula        calls a claim, at most for one that survived"
    );
    let world = Arc::new(World::new(1, claims, YEARS));
    let of = Quality::of;
    let qualities = [
        of(0.9),
        Quality {
            correlation: 0.5,
            ..of(0.9)
        },
        Quality {
            correlation: 1.0,
            ..of(0.9)
        },
        of(0.7),
        Quality {
            coverage: 0.7,
            ..of(0.9)
        },
        Quality {
            failures: 0.2,
            ..of(0.9)
        },
    ];
    for quality in qualities {
        for two_of_three in [false, true] {
            let told = told(
                &world,
                Cell {
                    quality,
                    two_of_three,
                    ..FIRST
                },
            )
            .await;
            let counts = told.report.counts();
            let Quality {
                reliability,
                correlation,
                coverage,
                failures,
            } = quality;
            let survival = match correlation {
                0.0 => Some(independent(reliability, two_of_three, 2)),
                1.0 => Some(correlated(reliability)),
                _ => None,
            };
            let mean = survival.map(|it| it.of(counts.of_true, counts.of_false).mean);
            let mean = mean.map_or("none".to_owned(), |(precision, recall)| {
                format!("{precision:.4}, {recall:.4}")
            });
            let readings = if two_of_three { "2 of 3" } else { "1" };
            let calls = told.report.calls as f64 / told.report.claims as f64;
            let own = at(&mut own_calls(&told).await, 1.0);
            println!(
                "  {reliability:>4} {correlation:>5} {coverage:>8} {failures:>7} {readings:>9} {:>10.4} {:>9.4}   {mean:<20} {calls:>10.2} {own:>4}",
                counts.precision(),
                counts.recall(),
            );
        }
    }
}

/// Measures the effect of liars that out-vote honest sources: precision of the held statements,
/// with and without them.
async fn chorus(claims: usize) {
    println!("precision of what is held, one world of {claims} claims");
    let mut of: Vec<[f64; 2]> = Vec::new();
    for is_there in [true, false] {
        let world = Arc::new(World::with_chorus(1, claims, YEARS, is_there));
        let majority = Memory::of(Rival::Majority, &world);
        let told = told(&world, FIRST).await;
        let ours = held(&told.report.rows);
        let precision = |columns: Columns| columns.0[0].0 / columns.0[0].1;
        let votes = columns(&world, &majority.held, 0, &Answers::Memory(&majority), 0.0).await;
        let tests = columns(&world, &ours, 0, &Answers::Server(&told.asked), 0.0).await;
        of.push([precision(votes), precision(tests)]);
    }
    for (at, (name, goal)) in [("majority", "more than 0.2"), ("ours", "at most 0.005")]
        .into_iter()
        .enumerate()
    {
        let [with, without] = [of[0][at], of[1][at]];
        println!(
            "  {name:<9} with the chorus {with:.4}, without {without:.4}: {:.4} less ({goal})",
            without - with
        );
    }
}
