//! Read-only commands: `list`, `explain`, `judge`.

use std::path::Path;

use suites::Catalogue;
use suites::harness::api_server::RealApiServer;
use suites::harness::invocation::program;
use suites::harness::judge::{Verdict, verdict};
use suites::harness::plan::Plan;
use suites::harness::record;
use suites::harness::report::{
    Context, Paint, case_timeline, format_expectation, format_failure, logged_errors,
};
use suites::report::{RECORD, Report};

use crate::args::{ExplainArgs, ListArgs, SelectArgs};
use crate::lab;
use crate::manifest::manifest_for;
use crate::out::{eprintln, print, println};
use crate::runtime::runtime;
use crate::selected::{selected, selected_or_none};
use crate::{Exit, apiserver, out, repro, requirements};
use references::CHOICES;
use suites::quoted;

/// Prints a line per case: id and title. With a manifest or a real API server, also whether the case is skipped.
pub(crate) fn list(args: &ListArgs) -> Result<Exit, Exit> {
    if args.coverage {
        return lab::coverage(&args.select);
    }
    if args.dialects {
        return Ok(print_choices());
    }
    if args.requirements {
        return Ok(requirements::table(&args.select));
    }
    let manifest = args.sut.as_deref();
    let manifest = manifest.map(|sut| manifest_for(sut, &args.select.files()));
    let manifest = manifest.transpose()?;
    let plans = selected_or_none(&args.select)?;
    let server = runtime()?.block_on(apiserver::connect(args.apiserver.as_deref()))?;
    let paint = Paint::of(&std::io::stdout());
    let wanted = args.select.requirement.as_deref();
    let wanted = wanted.and_then(|id| Some((id, Catalogue::load().entry(id)?)));
    if let Some((id, entry)) = wanted {
        requirements::print_statement(id, entry);
    }
    let width = plans.iter().map(|plan| plan.id().len()).max().unwrap_or(0);
    let mut skipped = 0;
    for plan in &plans {
        let skip = manifest.as_ref().and_then(|manifest| manifest.skip_reason(plan));
        let skip = skip.or_else(|| server.as_ref()?.skip_reason(plan));
        let known = manifest.as_ref();
        let known = known.and_then(|manifest| manifest.known_failures(plan.id()).next());
        let status = match (skip, known) {
            (Some(why), _) => {
                skipped += 1;
                format!("skip: {why}")
            }
            (None, Some(known)) => {
                let often = known
                    .sometimes
                    .map(|seen| format!(" in {} of {} runs", seen.failed, seen.runs));
                format!(
                    "known to fail{} until {}: {}",
                    often.unwrap_or_default(),
                    known.until,
                    known.why
                )
            }
            (None, None) => plan.title.clone(),
        };
        println!("{:<width$}  {}", plan.id(), paint.dim(&status));
    }
    if let Some((_, entry)) = wanted {
        requirements::other_evidence(entry, !plans.is_empty());
    }
    let run = plans.len() - skipped;
    match (&manifest, &server) {
        (Some(manifest), _) => eprintln!("{run} of {} cases run for {}", plans.len(), manifest.name),
        (None, Some(_)) => eprintln!("{run} of {} cases run against the real API server", plans.len()),
        (None, None) => {}
    }
    Ok(Exit::Passed)
}

/// Prints the choices that the specifications leave to implementations.
fn print_choices() -> Exit {
    for choice in CHOICES {
        println!(
            "{:<10} {:<24} {}",
            choice.role().as_str(),
            choice.to_string(),
            choice.source
        );
    }
    Exit::Passed
}

pub(crate) fn explain(args: &ExplainArgs) -> Result<Exit, Exit> {
    let (plans, command) = cases_to_explain(&args.select)?;
    let [plan] = plans.as_slice() else {
        eprintln!("error: {} cases match; name one of them:", plans.len());
        for plan in &plans {
            eprintln!("{}", plan.id());
        }
        return Err(Exit::Usage);
    };
    match args.yaml {
        true => print!("{}", plan.text),
        false => println!("{}\n  run it: {} {command}", explanation(plan), program()),
    }
    Ok(Exit::Passed)
}

/// The selected cases, from a file or by id, and the command that runs them.
fn cases_to_explain(args: &SelectArgs) -> Result<(Vec<Plan>, String), Exit> {
    if let Some((file, rows)) = args.file() {
        let plans = repro::plans(file, rows).map_err(|message| Exit::Usage.with_error(message))?;
        let named = [file.display().to_string()]
            .into_iter()
            .chain(rows.iter().cloned());
        let words: Vec<String> = named.map(|word| quoted(&word)).collect();
        return Ok((plans, format!("repro {}", words.join(" "))));
    }
    let plans = selected(args)?;
    let ids = plans.first().map(|plan| plan.id().to_owned());
    let words = ["e2e".to_owned()].into_iter().chain(ids);
    Ok((plans, args.with_folder_option(words).join(" ")))
}

fn explanation(plan: &Plan) -> String {
    let paint = Paint::of(&std::io::stdout());
    let roles = match plan.roles.as_slice() {
        [] => "no program".to_owned(),
        roles => roles
            .iter()
            .map(|role| role.as_str())
            .collect::<Vec<_>>()
            .join(" and "),
    };
    let mut text = format!(
        "{}\n  {}\n  in {}\n",
        paint.strong(plan.id()),
        plan.title,
        plan.source
    );
    text.push_str(&format!("  level {:?}, runs {}\n", plan.level, roles).to_lowercase());
    text.push_str(&format!("  cluster: {}\n", cluster(plan)));
    for requirement in Catalogue::load().requirements_of(plan) {
        text.push_str(&format!("  must: {}\n", requirement.sentence()));
    }
    if let Some(beyond) = &plan.beyond {
        text.push_str(&format!("  beyond the documents: {beyond}\n"));
    }
    for report in &plan.catches {
        text.push_str(&format!("  catches {report}\n"));
    }
    for (number, step) in plan.steps.iter().enumerate() {
        text.push_str(&format!("  step {} “{}”\n", number + 1, step.id));
        let mut last = "";
        for (_, action) in &step.actions {
            // Consecutive actions with the same text are printed once.
            if action != last {
                text.push_str(&format!("    do      {action}\n"));
            }
            last = action;
        }
        for (at, expect) in step.expect.iter().enumerate() {
            text.push_str(&format!("    expect  {}\n", format_expectation(plan, number, at)));
            text.push_str(&format!("            because {}\n", expect.why));
        }
    }
    text.trim_end().to_owned()
}

/// The initial cluster of a case in one line; `--yaml` prints the complete cluster.
fn cluster(plan: &Plan) -> String {
    let named = |kind: &str| -> Vec<&str> {
        let of_kind = plan.objects.iter().filter(|object| object["kind"] == kind);
        of_kind
            .filter_map(|object| object["metadata"]["name"].as_str())
            .collect()
    };
    let listed =
        |what: &str, names: Vec<&str>| (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")));
    let pools: Vec<String> = plan
        .driver
        .pools
        .iter()
        .map(|(segment, _)| plan.segments.format(segment))
        .collect();
    let parts = [
        listed("nodes", named("Node")),
        listed("classes", named("StorageClass")),
        listed("storage at", pools.iter().map(String::as_str).collect()),
        listed("capacity objects", named("CSIStorageCapacity")),
        plan.is_distributed()
            .then(|| "a publisher on each node".to_owned()),
        (!plan.has_default_release()).then(|| format!("release {} at the start", plan.release)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "empty".to_owned(),
        false => parts.join("; "),
    }
}

/// Evaluates a stored run again, and prints the timeline of the whole case if requested.
pub(crate) fn judge(folder: &Path, with_timeline: bool) -> Result<Exit, Exit> {
    let (plan, facts) = record::load(folder).map_err(|error| Exit::Usage.with_error(error))?;
    if with_timeline {
        for line in case_timeline(&facts) {
            println!("{line}");
        }
    }
    let paint = Paint::of(&std::io::stdout());
    let verdict = verdict(&plan, facts.iter().cloned());
    let Some(found) = verdict.failure() else {
        println!("{}  {}", paint.good("pass"), plan.id());
        return Ok(Exit::Passed);
    };
    let context = Context {
        requirements: Catalogue::load().requirements_of(&plan),
        is_inconclusive: matches!(verdict, Verdict::Inconclusive(_)),
        logged_errors: logged_errors(&record::read_logs(folder)),
        rerun: rerun_command(&plan, folder),
        files: Vec::new(),
    };
    println!("{}", format_failure(&plan, &facts, found, &context, paint));
    Ok(match verdict {
        Verdict::Inconclusive(_) => Exit::Inconclusive,
        _ => Exit::Failed,
    })
}

/// The command that reruns a stored run. If the folder of the run or a parent folder contains a report, uses the command in the report.
/// Otherwise, a case of this repository is run by id, and any other case by file.
fn rerun_command(plan: &Plan, folder: &Path) -> String {
    let id = plan.id();
    let of_file = |options: &str| {
        let file = folder.join(record::SCENARIO);
        format!("repro{options} {}", quoted(&file.display().to_string()))
    };
    let words = match command_of(folder) {
        // A generated case has no id in the catalogue, so it is rerun from its file, with the same programs.
        Some(words) => match words.first().and_then(|word| word.strip_prefix("explore")) {
            Some(options) => of_file(options),
            None => format!("{} {id}", out::shell_command(&words)),
        },
        None => match suites::plan(&suites::case_files(), id) {
            Ok(Some(_)) => format!("e2e {id}"),
            _ => of_file(""),
        },
    };
    format!("{} {words}", program())
}

/// The recorded command of a run.
fn command_of(folder: &Path) -> Option<Vec<String>> {
    let records = folder.ancestors().skip(1).take(2).map(|above| above.join(RECORD));
    let report = records.filter_map(|path| Report::load(&path).ok()).next()?;
    Some(report.command).filter(|words| !words.is_empty())
}
