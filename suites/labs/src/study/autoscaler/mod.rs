//! `autoscaler`: a simulated autoscaler that is configured as the KEP describes, and one that is not.
//!
//! ```text
//! world    node groups, drivers, pods              recipe   configuration by the administrator
//! state    a cluster in a round; the scheduler     look     template nodes, readiness, scale-up
//! run      the loop over rounds                    setting  the clusters of the experiments
//! ```
//!
//! No part is specific to a driver: drivers are data. The scheduler's own filter decides whether a pod fits a node, real or template. Time
//! is counted in rounds of the autoscaler.

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

/// The autoscaler as the KEP describes it. Deterministic and small, so that size and seed make no difference.
pub fn run(setup: Setup) -> Study {
    study(Abilities::default(), setup)
}

/// The study for an autoscaler with these features.
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

/// The same pods with different configurations.
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
