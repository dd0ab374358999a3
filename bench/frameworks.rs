//! Frameworks on probation: 40 planted ones, half of them bad. Measures the costs and gains of
//! using them by their tallies over 2,000 like tasks, beside using none
//! (`tests/kit/planted_frameworks.rs`).

use thinkd::event::framework::Standing;

use crate::figures::{Arguments, at};
use crate::planted_frameworks::{Came, Worth, came, points};

pub fn run(arguments: &Arguments) {
    let all: Vec<Came> = (1..=arguments.seeds.max(1)).map(came).collect();
    println!(
        "seed  lowest, points  at the end, points  of good ones, points  never: uses  costs: uses, ended  good kept"
    );
    for (seed, it) in (1..).zip(&all) {
        let of = |worth| {
            it.planted
                .iter()
                .filter(move |planted| planted.worth == worth)
        };
        let most = |worth| of(worth).map(|planted| planted.uses).max().unwrap_or(0);
        let ended = of(Worth::Costs)
            .filter(|planted| planted.ended.is_some())
            .count();
        let kept = of(Worth::Gains)
            .filter(|planted| planted.ended.is_none())
            .count();
        println!(
            "{seed:>4}  {:>14.2}  {:>18.2}  {:>20.2}  {:>11}  {:>10}, {ended:>2} of 10  {kept:>6} of 20",
            points(it.lowest),
            points(it.all),
            points(it.good),
            most(Worth::Never),
            most(Worth::Costs),
        );
    }
    let of = |worth| {
        all.iter()
            .flat_map(|it| &it.planted)
            .filter(move |planted| planted.worth == worth)
    };
    let unusable = of(Worth::Never)
        .filter(|it| it.tally.standing() == Standing::Unusable && it.uses <= 5)
        .count();
    println!(
        "never work: {unusable} of {} unusable within 5 uses",
        of(Worth::Never).count()
    );
    let quick = of(Worth::Costs).filter(|it| it.uses <= 30).count();
    let ended = of(Worth::Costs).filter(|it| it.ended.is_some()).count();
    let count = of(Worth::Costs).count();
    println!(
        "cost 20 points: {quick} of {count} used 30 times at most, {ended} dropped (the rest met too few like tasks)"
    );
    let mut lowest: Vec<f64> = all.iter().map(|it| points(it.lowest)).collect();
    let mut good: Vec<f64> = all.iter().map(|it| points(it.good)).collect();
    println!(
        "lowest point of all seeds {:.2} (goal: not below -1), median gain of the good ones {:.2} points",
        at(&mut lowest, 0.0),
        at(&mut good, 0.5)
    );
}
