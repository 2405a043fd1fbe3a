//! `list --coverage`: how many pairs of values of axes occur together in the cases.

use suites::harness::scenario::{PairCoverage, coverage};

use crate::Exit;
use crate::args::SelectArgs;
use crate::out::{eprintln, println};
use crate::selected::selected;

/// Prints a table for each file with axes.
pub(crate) fn list(args: &SelectArgs) -> Exit {
    let plans = match selected(args) {
        Ok(plans) => plans,
        Err(exit) => return exit,
    };
    let ids: Vec<&str> = plans.iter().map(|plan| plan.id()).collect();
    let files = match coverage(&args.folder, &ids) {
        Ok(files) => files,
        Err(error) => {
            eprintln!("error: {error}");
            return Exit::Usage;
        }
    };
    for (file, pairs) in files {
        let is_row = |id: &&&str| id.rsplit_once('/').is_some_and(|(of, _)| of == file);
        let rows = ids.iter().filter(is_row).count();
        if rows == 0 {
            continue;
        }
        println!("{file}, {rows} cases");
        pairs.iter().for_each(line);
        let sum = |count: fn(&PairCoverage) -> usize| pairs.iter().map(count).sum::<usize>();
        println!(
            "  {:<24}  {} of {}",
            "all",
            sum(|it| it.covered),
            sum(|it| it.possible)
        );
    }
    Exit::Passed
}

fn line(pairs: &PairCoverage) {
    let axes = format!("{} x {}", pairs.first, pairs.second);
    println!("  {axes:<24}  {} of {}", pairs.covered, pairs.possible);
    for (value, with) in &pairs.missing {
        println!("    missing: {value} with {with}");
    }
}
