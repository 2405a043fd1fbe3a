//! Comparison of two systems on the same cases: verdicts, deciding facts, and the first difference.
//!
//! Owns only the layout: the harness compares the journals.

use std::fmt::Write as _;
use std::sync::Arc;

use suites::CaseResult;
use suites::harness::invocation::program;
use suites::harness::plan::Plan;
use suites::harness::record;
use suites::harness::report::{Comparison, Paint, ValueChange, compare};
use suites::report::CaseRecord;
use tokio::runtime::Runtime;

use crate::interrupt::interrupted;
use crate::out::{eprintln, println};
use crate::repro_args::{ReproArgs, SystemsUnderTest, folder_of_compared_system};
use crate::run_folder::RunFolder;
use crate::runtime::runtime;
use crate::verdicts::exit_of_verdicts;
use crate::{Exit, apiserver, preflight};

/// Maximum number of printed rows of the final state; rows that differ come first.
const ROWS: usize = 16;
/// Maximum width of a column in the comparison, in characters.
const WIDTH: usize = 44;

pub(crate) fn run(
    args: &ReproArgs,
    plans: Vec<Plan>,
    mut sides: [SystemsUnderTest; 2],
) -> Result<Exit, Exit> {
    preflight::temporary_files()?;
    let (runtime, run_folder) = (runtime()?, RunFolder::lock(args.run.output.as_deref())?);
    let server = runtime.block_on(apiserver::connect(args.run.apiserver.as_deref()))?;
    for side in &mut sides {
        side.systems.api_server = apiserver::real_api_server(server.as_ref());
    }
    let exit = compare_all(&runtime, &run_folder, args, plans, sides);
    Ok(runtime.block_on(apiserver::clean_up(server, exit)))
}

fn compare_all(
    runtime: &Runtime,
    run_folder: &RunFolder,
    args: &ReproArgs,
    plans: Vec<Plan>,
    sides: [SystemsUnderTest; 2],
) -> Exit {
    let names = sides.each_ref().map(|side| {
        let record = &side.record;
        format!("{} {}", record.name, record.version)
            .trim_end()
            .to_owned()
    });
    let mut number = 0;
    let sessions = sides.map(|side| {
        number += 1;
        Arc::new(side.session(args, folder_of_compared_system(args, run_folder, number), true))
    });
    let mut records = Vec::new();
    for plan in plans {
        let both = runtime.block_on(async {
            let both = async {
                (
                    sessions[0].run_one(plan.clone()).await,
                    sessions[1].run_one(plan).await,
                )
            };
            tokio::select! {
                (one, other) = both => Some([one, other]),
                () = interrupted() => None,
            }
        });
        let Some(both) = both else {
            eprintln!("interrupted: the cases that were running have no verdict");
            return Exit::Interrupted;
        };
        println!("{}", page(&names, &both));
        records.extend(both.iter().map(CaseRecord::new));
    }
    exit_of_verdicts(&records)
}

fn page(names: &[String; 2], both: &[CaseResult; 2]) -> String {
    let paint = Paint::of(&std::io::stdout());
    let plan = &both[0].plan;
    let mut out = format!("{}\n  {}\n\n", paint.strong(plan.id()), plan.title);
    push_row(&mut out, " ", "", names);
    let records = both.each_ref().map(CaseRecord::new);
    let verdict = |record: &CaseRecord| format!("{}  {:.2}s", record.verdict, record.seconds);
    push_row(&mut out, " ", "verdict", &records.each_ref().map(verdict));
    for (name, record) in names.iter().zip(&records) {
        if !record.reason.is_empty() {
            let _ = writeln!(out, "  why, {name}: {}", record.reason);
        }
    }
    match journals(both) {
        Some([one, other]) => differences(&mut out, plan, &compare(plan, &one, &other)),
        None => out.push_str("  no comparison: one of the two systems was not run\n"),
    }
    for (result, name) in both.iter().zip(names) {
        if let Some(folder) = &result.folder {
            let _ = writeln!(
                out,
                "  the whole run of {name}: {program} judge {}",
                folder.display(),
                program = program()
            );
        }
    }
    out
}

/// The journals of both runs; `None` if a system did not run the case.
fn journals(both: &[CaseResult; 2]) -> Option<[Vec<suites::harness::journal::Fact>; 2]> {
    let facts = |result: &CaseResult| {
        let (_, facts) = record::load(result.folder.as_ref()?).ok()?;
        Some(facts)
    };
    Some([facts(&both[0])?, facts(&both[1])?])
}

fn differences(out: &mut String, plan: &Plan, compared: &Comparison) {
    match &compared.first {
        None => out.push_str("\n  No difference in the compared facts.\n"),
        Some(first) => {
            let _ = writeln!(out, "\n  They first differ in {}:", first.subject);
            let format = |change: &Option<ValueChange>| match change {
                Some(it) => {
                    let step = plan.steps.get(it.step).map_or("", |step| &step.id);
                    format!("{}  step “{step}” {:+.3}s", it.value, it.seconds)
                }
                None => "(nothing more)".to_owned(),
            };
            push_row(out, "~", "", &first.got.each_ref().map(format));
        }
    }
    let step = plan.steps.get(compared.step).map_or("", |step| &step.id);
    let _ = writeln!(out, "\n  At the end of step {} “{step}”:", compared.step + 1);
    let differs = |side: &&suites::harness::report::ValuePair| side.got[0] != side.got[1];
    let (different, same): (Vec<_>, Vec<_>) = compared.rows.iter().partition(differs);
    let shown = different
        .iter()
        .map(|row| ("~", row))
        .chain(same.iter().map(|row| ("=", row)));
    for (mark, row) in shown.take(ROWS) {
        let format = |got: &Option<String>| got.clone().unwrap_or_else(|| "-".to_owned());
        push_row(out, mark, &row.subject, &row.got.each_ref().map(format));
    }
    if compared.rows.len() > ROWS {
        let _ = writeln!(out, "    … and {} more", compared.rows.len() - ROWS);
    }
    out.push_str("\n  Writes and CSI calls before that:\n");
    for (kind, counts) in &compared.operations {
        let mark = if counts[0] == counts[1] { "=" } else { "~" };
        push_row(out, mark, kind, &counts.map(|count| count.to_string()));
    }
    out.push('\n');
}

fn push_row(out: &mut String, mark: &str, subject: &str, both: &[String; 2]) {
    let [one, other] = both.each_ref().map(|text| clip(text));
    let text = format!("  {mark} {:<30} {one:<WIDTH$} {other}", clip(subject));
    let _ = writeln!(out, "{}", text.trim_end());
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
