//! A planted world of 500 claims through the whole server. As many survive as the arithmetic of the
//! method says (`support/worlds/formula.rs`), and no more where an instrument reads again that errs
//! again. The bench has the large worlds.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::collections::BTreeSet;
use std::sync::Arc;

use kit::app::Setup;
use kit::http;
use kit::worlds::door::{Door, Quality};
use kit::worlds::formula::{correlated, independent};
use kit::worlds::run::{Asked, Report, SETTINGS, Tried, run};
use kit::worlds::{By, World};

use super::*;

const CLAIMS: usize = 500;
const YEARS: usize = 5;
const RELIABILITY: f64 = 0.9;

/// Returns the report on a world's claims, on a server with verdicts by two readings of three.
async fn judged_by(medium: Medium, claims: usize, quality: Quality) -> Report {
    let world = Arc::new(World::new(16, claims, YEARS));
    let door = Door::open(&world, quality).await;
    let mut setup = Setup::offline(medium)
        .env("THINKD_MODEL", "world")
        .env("OPENAI_BASE_URL", door.model())
        .env("OPENAI_API_KEY", "test")
        .env("THINKD_MEMORY__TWO_OF_THREE", true)
        .file(
            "thinkd.toml",
            &format!("[memory.knowledge]\nurl = \"{}\"\n", door.search()),
        );
    for (name, value) in SETTINGS {
        setup = setup.env(name, value);
    }
    let app = setup.start().await;
    let report = run(&Asked::at(http::client(), &app.address), &world, &door).await;
    println!(
        "{:?}, {} calls of {} claims, {} statements",
        report.counts(),
        report.calls,
        report.claims,
        report.tried.len()
    );
    report
}

on_sqlite!(
    d1_43_of_500_planted_claims_as_many_survive_as_the_formula_says,
    |medium| {
        let report = judged_by(medium, CLAIMS, Quality::of(RELIABILITY)).await;
        let counts = report.counts();
        let expected = independent(RELIABILITY, true, 2).of(counts.of_true, counts.of_false);
        assert!(
            expected.holds(counts.kept, counts.believed),
            "{counts:?} is not within {expected:?}"
        );
        // The stream is one that a trial can be told by: neither all is true nor all false, and orders are no claims.
        assert!(counts.of_true > 80 && counts.of_false > 80, "{counts:?}");
        let is_order = |it: &&Tried| it.said.by == By::Order && it.said.claim.is_none();
        assert_eq!(
            report.tried.iter().filter(is_order).count(),
            0,
            "an order is no claim"
        );
        // What has ended is another statement when it is claimed again: its time is another one.
        let lasting = || report.tried.iter().filter(|it| it.status != "ended");
        let once: BTreeSet<_> = lasting().map(|it| it.said.claim.clone()).collect();
        assert_eq!(
            once.len(),
            lasting().count(),
            "a claim that is said again in other words is one statement"
        );
    }
);

on_sqlite!(
    d1_43_what_errs_again_is_no_better_for_being_read_again,
    |medium| {
        let quality = Quality {
            correlation: 1.0,
            ..Quality::of(RELIABILITY)
        };
        let counts = judged_by(medium, CLAIMS / 2, quality).await.counts();
        let expected = correlated(RELIABILITY).of(counts.of_true, counts.of_false);
        assert!(
            expected.holds(counts.kept, counts.believed),
            "{counts:?} is not within {expected:?}"
        );
        let better = independent(RELIABILITY, true, 2).of(counts.of_true, counts.of_false);
        assert!(
            !better.holds(counts.kept, counts.believed),
            "{counts:?} is what readings that err by themselves come to"
        );
    }
);
