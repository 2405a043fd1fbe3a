//! `study`: reproduces experiments of the KEPs, and writes the results.

use labs::study::{Study, StudyArgs, text, write};
use suites::harness::report::Paint;
use suites::harness::system::BoxError;

use super::run_abortable;
use crate::out::println;
use crate::{Exit, manifest, mutants, preflight};

pub(crate) fn run(args: StudyArgs) -> Result<Exit, Exit> {
    run_abortable(
        move || run_study(&args),
        "a study prints its results at its end, so no result is printed; --small runs a shorter study",
    )
}

fn run_study(args: &StudyArgs) -> Result<Exit, Exit> {
    let output = args.common().output.as_deref();
    output.map(preflight::check_output_folder).transpose()?;
    mutants::ensure_available(args.defect())?;
    let manifest = args.sut().map(manifest::manifest).transpose()?;
    let study_result = args.run(manifest);
    let holds = study_result.and_then(|study| print_and_write(args, &study).map(|()| study.holds()));
    Ok(match holds {
        Ok(true) => Exit::Passed,
        Ok(false) => Exit::Failed,
        Err(error) => Exit::Environment.with_error(error),
    })
}

fn print_and_write(args: &StudyArgs, study: &Study) -> Result<(), BoxError> {
    let json = serde_json::to_string_pretty(study)?;
    if let Some(folder) = &args.common().output {
        write(folder, study, &json)?;
    }
    match args.common().json {
        true => println!("{json}"),
        false => println!("{}", text(study, Paint::of(&std::io::stdout()))),
    }
    Ok(())
}
