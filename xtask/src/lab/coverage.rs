//! `list --coverage`: pair coverage of axis values in the cases.

use std::collections::BTreeSet;

use labs::pairs;
use suites::harness::scenario::{PairCoverage, coverage, load_tree_where};

use crate::Exit;
use crate::args::SelectArgs;
use crate::out::println;
use crate::selected::selected;

/// Prints a table for all selected cases, and a table for each file with axes.
pub(crate) fn list(args: &SelectArgs) -> Result<Exit, Exit> {
    let plans = selected(args)?;
    let ids: BTreeSet<&str> = plans.iter().map(|plan| plan.id()).collect();
    let refused = |error| Exit::Usage.with_error(error);
    let scenarios = load_tree_where(&args.files(), args.strength, &|_| true).map_err(refused)?;
    let scenarios = scenarios.iter().filter(|it| ids.contains(&*it.id));
    table("all", ids.len(), &pairs(scenarios).map_err(refused)?);
    let rows: Vec<&str> = ids.iter().copied().collect();
    for (file, pairs) in coverage(&args.files(), &rows).map_err(refused)? {
        let is_row = |id: &&&str| id.rsplit_once('/').is_some_and(|(of, _)| of == file);
        match rows.iter().filter(is_row).count() {
            0 => {}
            count => table(&file, count, &pairs),
        }
    }
    Ok(Exit::Passed)
}

/// Prints the pair coverage of every two axes.
fn table(name: &str, cases: usize, pairs: &[PairCoverage]) {
    println!("{name}, {cases} cases");
    pairs.iter().for_each(print_pair_coverage);
    let sum = |count: fn(&PairCoverage) -> usize| pairs.iter().map(count).sum::<usize>();
    println!(
        "  {:<24}  {} of {}",
        "every two",
        sum(|it| it.covered),
        sum(|it| it.possible)
    );
}

fn print_pair_coverage(pairs: &PairCoverage) {
    let axes = format!("{} x {}", pairs.first, pairs.second);
    println!("  {axes:<24}  {} of {}", pairs.covered, pairs.possible);
    for (value, with) in &pairs.missing {
        println!("    missing: {value} with {with}");
    }
}
