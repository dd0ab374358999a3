//! Turns on Postgres: beside the same turns on SQLite, from an empty log to a long one, with and without statistics, and by three
//! servers at once. `BENCH_POSTGRES_URL` names a server where databases may be made (and `fsync` is on).

use std::time::Instant;

use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use thinkd::log::appended::Append;
use thinkd::log::options::Options;
use thinkd::log::store;
use thinkd::log::thread_row::ThreadRow;
use thinkd::words::id::Space;

use crate::figures::{Arguments, client, median};
use crate::history::drafts;
use crate::process::{Folder, Server, Shape};
use crate::stub::Stub;
use crate::turns::{Block, block};

/// Shape and conversations at a time.
const CASES: [(Shape, usize); 4] = [(Shape::A, 1), (Shape::B, 1), (Shape::A, 64), (Shape::B, 64)];
/// Conversations at a time of each of several servers, in sum.
const TOGETHER: usize = 48;
/// Turns of one append while a log is filled.
const FILL: usize = 300;

pub fn run(arguments: &Arguments) {
    let Ok(url) = std::env::var("BENCH_POSTGRES_URL") else {
        println!("not measured: BENCH_POSTGRES_URL names no server");
        return;
    };
    let stub = Stub::start();
    let client = client();
    client.block_on(beside_sqlite(arguments, &stub, &url));
    let wanted = |case: &str| arguments.case.as_ref().is_none_or(|of| of == case);
    if wanted("growing") {
        client.block_on(as_it_grows(arguments, &stub, &url));
    }
    if wanted("three") {
        client.block_on(three_servers(arguments, &stub, &url));
    }
}

async fn beside_sqlite(arguments: &Arguments, stub: &Stub, url: &str) {
    let folder = Folder::new();
    for shape in [Shape::A, Shape::B] {
        let database = Database::new(url, true).await;
        let file = folder.file(&format!("{}.db", shape.name()));
        let sqlite = Server::thinkd(&file, stub, shape).await;
        let postgres = Server::thinkd_on(&database.url, &folder.0, stub, shape).await;
        for (_, conversations) in CASES.into_iter().filter(|(of, _)| *of == shape) {
            let wanted = format!("{}-{conversations}", shape.name());
            if arguments.case.as_ref().is_some_and(|case| *case != wanted) {
                continue;
            }
            block(&sqlite, conversations, arguments.secs).await;
            block(&postgres, conversations, arguments.secs).await;
            let mut file = Vec::new();
            let mut server = Vec::new();
            for _ in 0..arguments.rounds {
                file.push(block(&sqlite, conversations, arguments.secs).await);
                server.push(block(&postgres, conversations, arguments.secs).await);
            }
            let ratio = |figure: fn(&Block) -> f64| {
                median(server.iter().zip(&file).map(|(a, b)| figure(a) / figure(b)))
            };
            let name = format!("{} {conversations:>3}", shape.name());
            println!("{name}  SQLite   {}", Block::median(&file));
            println!("{name}  Postgres {}", Block::median(&server));
            let n = ratio(|b| b.per_second);
            let p50 = ratio(|b| b.p50);
            let cpu = ratio(|b| b.cpu);
            println!(
                "{name}  ratio  turns/s {n:.2} (goal 0.5)  p50 {p50:.2} (goal 2 for one)  CPU of thinkd {cpu:.2}"
            );
        }
        sqlite.stop();
        postgres.stop();
        database.drop().await;
    }
}

/// From an empty log to a long one; never analyzed, then analyzed.
async fn as_it_grows(arguments: &Arguments, stub: &Stub, url: &str) {
    let folder = Folder::new();
    let database = Database::new(url, false).await;
    let mut first: Option<[Block; 2]> = None;
    let mut filled = 0;
    for events in [0, 25_000, 100_000, arguments.events] {
        let begin = Instant::now();
        database.fill(filled..events).await;
        if events > filled {
            println!(
                "filled with {} events at {:.0}/s",
                events,
                (events - filled) as f64 / begin.elapsed().as_secs_f64()
            );
        }
        filled = filled.max(events);
        for statistics in [false, true] {
            if statistics {
                database.run("analyze").await;
            }
            let server = Server::thinkd_on(&database.url, &folder.0, stub, Shape::B).await;
            let mut now = Vec::new();
            for conversations in [1, 64] {
                block(&server, conversations, arguments.secs).await;
                let mut blocks = Vec::new();
                for _ in 0..arguments.rounds {
                    blocks.push(block(&server, conversations, arguments.secs).await);
                }
                now.push(Block::median(&blocks));
            }
            server.stop();
            let [one, many] = now[..] else {
                unreachable!("two cases")
            };
            let [one_first, many_first] = *first.get_or_insert([one, many]);
            let with = if statistics { "with" } else { "without" };
            println!("log of {events:>7} events, {with} statistics:  b   1 {one}");
            println!("log of {events:>7} events, {with} statistics:  b  64 {many}");
            println!(
                "  to the empty log's: p50 of one {:.2}, turns/s of 64 {:.2} (goal 1.2 and 0.83)",
                one.p50 / one_first.p50,
                many.per_second / many_first.per_second
            );
            if statistics {
                database.run("delete from pg_statistic").await;
            }
        }
    }
    database.drop().await;
}

/// As many conversations on three servers as on one; and, as a control, on three servers that share nothing but the machine.
async fn three_servers(arguments: &Arguments, stub: &Stub, url: &str) {
    let folder = Folder::new();
    let mut databases = Vec::new();
    for _ in 0..3 {
        databases.push(Database::new(url, true).await);
    }
    let mut servers = Vec::new();
    let mut strangers = Vec::new();
    for database in &databases {
        servers.push(Server::thinkd_on(&databases[0].url, &folder.0, stub, Shape::B).await);
        strangers.push(Server::thinkd_on(&database.url, &folder.0, stub, Shape::B).await);
    }
    let mut one = Vec::new();
    let mut three = Vec::new();
    let mut apart = Vec::new();
    for round in 0..=arguments.rounds {
        let alone = block(&servers[0], TOGETHER, arguments.secs)
            .await
            .per_second;
        let together = each(arguments, &servers).await;
        let separate = each(arguments, &strangers).await;
        // The first round is for every thread to get as long as it is ever shown.
        if round > 0 {
            one.push(alone);
            three.push(together);
            apart.push(separate);
        }
    }
    let ratio = |of: &[f64]| median(of.iter().zip(&one).map(|(several, one)| several / one));
    let together = ratio(&three);
    let separate = ratio(&apart);
    println!(
        "b {TOGETHER:>3}  one server {:.1} turns/s, three {:.1}: {together:.2} of it (goal 0.9), three with a database each {:.1}: {separate:.2}",
        median(one),
        median(three),
        median(apart)
    );
    servers.into_iter().chain(strangers).for_each(Server::stop);
    for database in databases {
        database.drop().await;
    }
}

/// Returns the joint rate of several servers at the same time, in turns per second.
async fn each(arguments: &Arguments, servers: &[Server]) -> f64 {
    let each = servers.iter().enumerate().map(|(at, server)| {
        let names = format!("of-{at}");
        async move { crate::turns::block_of(server, &names, TOGETHER / 3, arguments.secs).await }
    });
    futures_util::future::join_all(each)
        .await
        .iter()
        .map(|block| block.per_second)
        .sum()
}

/// A database of its own.
pub struct Database {
    server: String,
    name: String,
    pub url: String,
}

impl Database {
    /// `statistics`: whether Postgres gathers them by itself.
    pub async fn new(server: &str, statistics: bool) -> Self {
        let name = format!("bench_{}", thinkd::words::id::fresh().simple());
        let (address, _) = server.rsplit_once('/').expect("postgres://…/database");
        let database = Self {
            server: server.to_owned(),
            url: format!("{address}/{name}"),
            name,
        };
        database
            .run_on_server(&format!("create database {}", database.name))
            .await;
        if !statistics {
            // The tables are made here, so that they can be told to stay without.
            store::open(&database.url, Options::default(), ThreadRow::apply)
                .await
                .unwrap()
                .close()
                .await;
            let all = "do $$ declare t text; begin for t in select quote_ident(relname) from pg_class where relkind = 'r' \
                and relnamespace = 'public'::regnamespace loop execute 'alter table ' || t || ' set (autovacuum_enabled = off)'; \
                end loop; end $$";
            database.run(all).await;
        }
        database
    }

    async fn run(&self, text: &str) {
        execute(&self.url, text).await;
    }

    async fn run_on_server(&self, text: &str) {
        execute(&self.server, text).await;
    }

    async fn fill(&self, range: std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        let log = store::open(&self.url, Options::default(), ThreadRow::apply)
            .await
            .unwrap();
        let turns: Vec<usize> = (range.start / 6..range.end / 6).collect();
        for turns in turns.chunks(FILL) {
            let drafts = turns.iter().flat_map(|turn| drafts(*turn)).collect();
            log.append(Append::free(&Space::default(), drafts))
                .await
                .unwrap();
        }
        crate::process::indexed(&log, &format!("filled{}", range.end)).await;
        log.close().await;
    }

    pub async fn drop(self) {
        self.run_on_server(&format!("drop database {} with (force)", self.name))
            .await;
    }
}

async fn execute(url: &str, text: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(text.to_owned()))
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
}
