//! `autoscaler`: a simulated autoscaler that is configured as the KEP describes, and one that is not.
//!
//! ```text
//! input_cluster  node groups, drivers, pods          recipe     configuration by the administrator
//! state          nodes and pods in a round           iteration  template nodes, readiness, scale-up
//! run            the loop over rounds                setting    the clusters of the experiments
//! ```
//!
//! No part is specific to a driver: drivers are data. The scheduler's own filter decides whether a pod fits a node, real or template. Time
//! is counted in rounds of the autoscaler.

mod input_cluster;
mod iteration;
mod local;
mod network;
mod recipe;
mod run;
mod setting;
mod state;

pub use iteration::AutoscalerFeatures;

use recipe::{Readiness, Recipe};
use run::{SimulationResult, simulate};

use crate::study::result::{Axis, Cell, Line, Plot, Setup, Study, Table};

/// Runs the study with the autoscaler as the KEP describes it. Ignores size and seed: simulations are small and deterministic.
pub fn run(setup: Setup) -> Study {
    study(AutoscalerFeatures::default(), setup)
}

/// Runs the study with an autoscaler that has these features.
pub fn study(features: AutoscalerFeatures, setup: Setup) -> Study {
    let mut study = Study::new(
        "autoscaler",
        "Scaling up a cluster for storage: with the configuration of the KEP, with parts of it, and without",
        setup,
    );
    let courses = run_simulations(features);
    study.tables.push(table(&courses));
    study.plots.push(plot(
        "Pending pods, with a local and a zonal driver at once",
        "pods",
        &courses,
        |round| round.1,
    ));
    study
        .plots
        .push(plot("Nodes", "nodes", &courses, |round| round.0));
    study.findings.extend(local::findings(features));
    study.findings.extend(network::findings(features));
    study.findings.sort_by_key(|finding| finding.sort_key());
    study
}

/// Simulates the same pods with different configurations of the autoscaler.
fn run_simulations(features: AutoscalerFeatures) -> Vec<(&'static str, SimulationResult)> {
    let (cluster, recipe) = network::local_and_zonal();
    let without_objects = Recipe {
        readiness: Readiness::Kubelet,
        ..recipe.clone()
    };
    let counting = AutoscalerFeatures {
        counts_volumes: true,
        ..features
    };
    vec![
        (
            "without the KEP's configuration",
            simulate(&cluster, &Recipe::default(), features),
        ),
        (
            "with the KEP's configuration",
            simulate(&cluster, &recipe, features),
        ),
        (
            "without waiting for objects",
            simulate(&cluster, &without_objects, features),
        ),
        ("counting volumes", simulate(&cluster, &recipe, counting)),
    ]
}

fn table(courses: &[(&str, SimulationResult)]) -> Table {
    let columns = [
        "configuration",
        "nodes added",
        "rounds with growth",
        "most in a round",
        "pods stuck",
    ];
    let mut table = Table::new("A local and a zonal driver at once", &columns);
    for (name, course) in courses {
        let numbers = [
            course.added_nodes(),
            course.scale_ups(),
            course.max_added(),
            course.pending_pods(),
        ];
        table.row([Cell::from(*name)].into_iter().chain(numbers.map(Cell::from)));
    }
    table
}

fn plot(
    title: &str,
    what: &str,
    courses: &[(&str, SimulationResult)],
    of: fn(&(usize, usize)) -> usize,
) -> Plot {
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
        x: Axis::linear("rounds of the autoscaler"),
        y: Axis::linear(what),
        lines: lines.collect(),
    }
}
