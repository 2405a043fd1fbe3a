//! `explore --defects`: measures the time until exploration finds each defect of the catalogue, and verifies that exploration finds nothing
//! without a defect.

use std::sync::Arc;
use std::time::{Duration, Instant};

use suites::Defects;
use suites::explore::{Exploration, Explorer, Until};
use suites::harness::report::Paint;

use crate::Exit;
use crate::interrupt::interrupted;
use crate::mutants;
use crate::out::{eprintln, println};
use crate::runtime::runtime;
use references::Defect;

/// The result of exploring with one defect, or without a defect.
struct Attempt {
    exploration: Exploration,
    elapsed: Duration,
}

/// Explores with each available defect, and without one, for up to `budget` each.
pub(crate) fn run(budget: Duration, explorer: impl Fn(Option<Defect>) -> Explorer) -> Result<Exit, Exit> {
    let catalogue = Defects::load();
    let defects = catalogue
        .iter()
        .filter_map(|defect| Defect::named(&defect.name).ok());
    let mut defects: Vec<Defect> = defects.collect();
    mutants::remove_unavailable(&mut defects);
    mutants::ensure_available(defects.iter().copied())?;
    let runtime = runtime()?;
    let exit = runtime.block_on(async {
        tokio::select! {
            exit = try_all(&defects, budget, explorer) => exit,
            () = interrupted() => Exit::Interrupted,
        }
    });
    runtime.shutdown_background();
    Ok(exit)
}

async fn try_all(
    defects: &[Defect],
    budget: Duration,
    explorer: impl Fn(Option<Defect>) -> Explorer,
) -> Exit {
    let paint = Paint::of(&std::io::stdout());
    let control = explore_until_finding(explorer(None), budget).await;
    let is_clean = control.exploration.findings.is_empty() && control.exploration.broken.is_empty();
    match is_clean {
        true => print_attempt("none", "without a defect", &control),
        false => print_attempt(&paint.bad("FALSE ALARM"), "without a defect", &control),
    }
    let mut missed = Vec::new();
    for defect in defects {
        let attempted = explore_until_finding(explorer(Some(*defect)), budget).await;
        let is_found = !attempted.exploration.findings.is_empty();
        print_attempt(
            if is_found { "found" } else { "missed" },
            &defect.to_string(),
            &attempted,
        );
        missed.extend((!is_found).then(|| defect.to_string()));
    }
    let (found, all) = (defects.len() - missed.len(), defects.len());
    println!(
        "{found} of {all} defects found within {} s each",
        budget.as_secs()
    );
    if !missed.is_empty() {
        println!("missed: {}", missed.join(", "));
    }
    match is_clean {
        true => Exit::Passed,
        false => Exit::Failed,
    }
}

async fn explore_until_finding(explorer: Explorer, budget: Duration) -> Attempt {
    let began = Instant::now();
    let mut exploration = Exploration::default();
    let until = Until::Finding(began + budget);
    let explored = Arc::new(explorer)
        .explore(until, &mut exploration, &mut |_| {})
        .await;
    // No file is written without an output folder, so only an error of the harness is possible.
    if let Err(error) = explored {
        eprintln!("error: {error}");
    }
    Attempt {
        exploration,
        elapsed: began.elapsed(),
    }
}

fn print_attempt(word: &str, name: &str, attempted: &Attempt) {
    let exploration = &attempted.exploration;
    let finding = exploration.findings.first();
    let broken = exploration
        .broken
        .first()
        .map(|(seed, why)| format!("seed {seed}: {why}"));
    let signature =
        finding.map(|finding| format!("{} (seed {}, {})", finding.signature, finding.seed, finding.focus));
    println!(
        "{word:<7} {name:<38} {:>6} clusters {:>5.1} s  {}",
        exploration.clusters,
        attempted.elapsed.as_secs_f64(),
        signature.or(broken).unwrap_or_default()
    );
}
