//! `study`: reproduces the experiments of the KEPs, and writes the results.

use labs::study::{Study, StudyArgs, text, write};
use suites::harness::report::Paint;
use suites::harness::system::BoxError;

use super::calculate;
use crate::out::{eprintln, println};
use crate::{Exit, manifest, mutants, preflight};

/// Runs a study, and prints its findings.
pub(crate) fn run(args: StudyArgs) -> Exit {
    let study = move || attempt(&args).unwrap_or_else(|exit| exit);
    calculate(
        study,
        "a study prints its results at its end, so none are printed; --small is a shorter one",
    )
}

fn attempt(args: &StudyArgs) -> Result<Exit, Exit> {
    let output = args.common().output.as_deref();
    output.map(preflight::output).transpose()?;
    mutants::at_hand(args.defect())?;
    let manifest = args.sut().map(manifest::manifest).transpose()?;
    let made = args.make(manifest);
    let told = made.and_then(|study| tell(args, &study).map(|()| study.holds()));
    Ok(match told {
        Ok(true) => Exit::Passed,
        Ok(false) => Exit::Failed,
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Environment
        }
    })
}

fn tell(args: &StudyArgs, study: &Study) -> Result<(), BoxError> {
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
