//! `autoscaler`: an autoscaler that follows the recipe of the KEP, and one that does not, over rounds.
//!
//! ```text
//! world    groups of nodes, drivers, pods          recipe   what an administrator configures
//! state    a cluster in a round; the scheduler     look     imagined nodes, readiness, growth
//! run      round after round                       setting  the clusters of the experiments
//! ```
//!
//! No part of it knows a driver: drivers differ in their data alone. A pod fits a node, real or imagined, where the scheduler's own filter
//! says so. Time is counted in rounds of the autoscaler.

mod local;
mod look;
mod network;
mod recipe;
mod run;
mod setting;
mod state;
mod world;

pub use look::Abilities;

use recipe::{Readiness, Recipe};
use run::{Course, grow};

use crate::study::result::{Axis, Cell, Line, Plot, Setup, Study, Table};

/// The autoscaler as the KEP has it. Nothing here is left to chance, and all of it is small.
pub fn run(setup: Setup) -> Study {
    study(Abilities::default(), setup)
}

/// An autoscaler with these abilities.
pub fn study(abilities: Abilities, setup: Setup) -> Study {
    let mut study = Study::new(
        "autoscaler",
        "Growing a cluster for its storage: with the recipe of the KEP, with parts of it, and without",
        setup,
    );
    let courses = courses(abilities);
    study.tables.push(table(&courses));
    study.plots.push(plot(
        "Pods that wait, with a local and a zonal driver at once",
        "pods",
        &courses,
        |round| round.1,
    ));
    study
        .plots
        .push(plot("Nodes", "nodes", &courses, |round| round.0));
    study.findings.extend(local::findings(abilities));
    study.findings.extend(network::findings(abilities));
    study.findings.sort_by_key(|finding| finding.order());
    study
}

/// The same pods under different configurations.
fn courses(abilities: Abilities) -> Vec<(&'static str, Course)> {
    let (world, recipe) = network::both_kinds();
    let impatient = Recipe {
        readiness: Readiness::Kubelet,
        ..recipe.clone()
    };
    let counting = Abilities {
        counts_volumes: true,
        ..abilities
    };
    vec![
        ("without the recipe", grow(&world, &Recipe::default(), abilities)),
        ("with the recipe", grow(&world, &recipe, abilities)),
        ("without waiting for objects", grow(&world, &impatient, abilities)),
        ("counting volumes", grow(&world, &recipe, counting)),
    ]
}

fn table(courses: &[(&str, Course)]) -> Table {
    let columns = [
        "configuration",
        "nodes added",
        "rounds with growth",
        "most in a round",
        "pods stuck",
    ];
    let mut table = Table::new("A local and a zonal driver at once", &columns);
    for (name, course) in courses {
        let numbers = [course.grown(), course.growths(), course.most(), course.stuck()];
        table.row([Cell::from(*name)].into_iter().chain(numbers.map(Cell::from)));
    }
    table
}

fn plot(title: &str, what: &str, courses: &[(&str, Course)], of: fn(&(usize, usize)) -> usize) -> Plot {
    let lines = courses.iter().map(|(name, course)| {
        let rounds = course.rounds.iter().enumerate();
        Line {
            name: (*name).to_owned(),
            points: rounds
                .map(|(round, counts)| ((round + 1) as f64, of(counts) as f64))
                .collect(),
        }
    });
    Plot {
        title: title.to_owned(),
        x: Axis::even("rounds of the autoscaler"),
        y: Axis::even(what),
        lines: lines.collect(),
    }
}
