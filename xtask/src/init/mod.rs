//! `init`: creates the manifest of a program from its help output, and runs trial cases with the manifest.

mod draft;
mod driver;
mod flags;
mod help;
mod trial;

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use suites::built_in_manifests;
use suites::harness::invocation::program;
use suites::harness::plan::features;
use suites::harness::scenario::Role;
use suites::quoted;

use crate::args::role;
use crate::interrupt::interrupted;
use crate::out::{eprintln, println};
use crate::runtime::runtime;
use crate::{Exit, preflight};
use draft::Draft;
use trial::TrialResult;

/// Arguments of `init`.
#[derive(Args)]
pub(crate) struct InitArgs {
    /// Role of the program: publisher, scheduler, cleaner or driver; prompted for if omitted
    #[arg(long, value_parser = role)]
    role: Option<Role>,
    /// Name in reports [default: the program's name]
    #[arg(long)]
    name: Option<String>,
    /// Copy the built-in manifest of this name as a template, instead of creating a manifest
    #[arg(long, value_name = "NAME", conflicts_with_all = ["role", "name", "program"])]
    from: Option<String>,
    /// File to write the manifest to
    #[arg(short, long, value_name = "FILE", default_value = "sut.yaml")]
    output: PathBuf,
    /// The program and its fixed arguments; prompted for if omitted
    #[arg(last = true, value_name = "PROGRAM [ARGUMENT…]")]
    program: Vec<String>,
}

pub(crate) fn run(args: &InitArgs) -> Exit {
    try_run(args).unwrap_or_else(|(exit, why)| {
        eprintln!("error: {why}");
        exit
    })
}

type InitError = (Exit, String);

fn try_run(args: &InitArgs) -> Result<Exit, InitError> {
    if args.output.exists() {
        let why = format!(
            "{} already exists; name another file with --output",
            args.output.display()
        );
        return Err((Exit::Usage, why));
    }
    if let Some(name) = &args.from {
        return copy_built_in_manifest(name, &args.output);
    }
    let role = role_of(args)?;
    let argv = argv_of(args)?;
    let untried = |exit| (exit, "the program can't be tried".to_owned());
    preflight::temporary_files().map_err(untried)?;
    runtime().map_err(untried)?.block_on(async {
        tokio::select! {
            ended = try_out(args, role, argv) => ended,
            () = interrupted() => Err((Exit::Interrupted, "interrupted, and no manifest was written".to_owned())),
        }
    })
}

/// Drafts a manifest, runs trial cases with it, and writes it.
async fn try_out(args: &InitArgs, role: Role, argv: Vec<String>) -> Result<Exit, InitError> {
    let program = argv.first().map_or("", String::as_str);
    let name = args.name.clone().unwrap_or_else(|| base_name(program));
    let has = help::flags(&argv).await.map_err(|why| (Exit::Environment, why))?;
    let mut draft = Draft::of(name, role, relative_to_manifest(&args.output, argv), &has);
    print_flags(&draft);
    if role == Role::Driver {
        identify_driver(&mut draft, &args.output).await?;
    }
    let tried = trial::run(&draft, &args.output).await;
    let tried = tried.map_err(|error| (Exit::Usage, error.to_string()))?;
    finish(&draft, &tried, &args.output)
}

/// The role from the arguments or the prompt.
fn role_of(args: &InitArgs) -> Result<Role, InitError> {
    match args.role {
        Some(role) => Ok(role),
        None => {
            let word = prompt("role (publisher, scheduler, cleaner, driver)", "--role")?;
            role(&word).map_err(|why| (Exit::Usage, why))
        }
    }
}

/// The program and its arguments, from the command line or the prompt; never empty.
fn argv_of(args: &InitArgs) -> Result<Vec<String>, InitError> {
    if !args.program.is_empty() {
        return Ok(args.program.clone());
    }
    let line = prompt("program with its fixed arguments", "`-- PROGRAM`")?;
    match line.split_whitespace().map(str::to_owned).collect::<Vec<_>>() {
        words if words.is_empty() => Err((Exit::Usage, "no program given; add `-- PROGRAM`".to_owned())),
        words => Ok(words),
    }
}

fn copy_built_in_manifest(name: &str, output: &Path) -> Result<Exit, InitError> {
    let Some((_, text)) = built_in_manifests().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = built_in_manifests().map(|(name, _)| name).collect();
        let why = format!(
            "no manifest `{name}` is built in; name one of {}",
            names.join(", ")
        );
        return Err((Exit::Usage, why));
    };
    write(output, text)?;
    println!("wrote {}", output.display());
    Ok(Exit::Passed)
}

/// Prompts for a line on standard input. `instead`: what to write on the command line, for the error if standard input is no terminal.
fn prompt(what: &str, instead: &str) -> Result<String, InitError> {
    let input = std::io::stdin();
    if input.is_terminal() {
        eprintln!("{what}?");
    }
    let mut line = String::new();
    match input.lock().read_line(&mut line) {
        Ok(1..) => Ok(line.trim().to_owned()),
        _ => Err((
            Exit::Usage,
            format!(
                "the {what} is missing, and standard input is no terminal to prompt for it; add {instead}"
            ),
        )),
    }
}

fn base_name(program: &str) -> String {
    let name = Path::new(program).file_name();
    name.map_or_else(|| program.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Makes the path of a program relative to the folder of the manifest; the user specifies it relative to the current folder.
fn relative_to_manifest(manifest: &Path, mut argv: Vec<String>) -> Vec<String> {
    let is_here = manifest
        .parent()
        .is_none_or(|folder| folder.as_os_str().is_empty());
    if let Some(first) = argv.first_mut()
        && first.contains('/')
        && !is_here
        && let Ok(absolute) = std::path::absolute(&*first)
    {
        *first = absolute.display().to_string();
    }
    argv
}

fn print_flags(draft: &Draft) {
    for (argument, meaning) in &draft.recognised {
        println!("recognised  {argument:<36}  {meaning}");
    }
    for (value, meaning) in &draft.missing {
        println!("missing     {value:<36}  {meaning}: no known flag; add an argument with {value}");
    }
}

/// Calls a driver to determine its name and topology segment, and prints them.
async fn identify_driver(draft: &mut Draft, output: &Path) -> Result<(), InitError> {
    draft.names = Some(driver::placeholder_names());
    let identity = driver::identify(draft, output).await;
    let identity = identity.map_err(|error| (Exit::Usage, error.to_string()))?;
    match &identity.failure {
        None => {
            let names = &identity.names;
            println!("recognised  {:<36}  its name", names.name);
            for key in &names.topology_keys {
                let value = names.topology.get(key).map_or("{node}", String::as_str);
                println!("recognised  {:<36}  its topology", format!("{key}={value}"));
            }
        }
        Some(why) => println!(
            "missing     {:<36}  {why}; correct `names`",
            "its name and topology"
        ),
    }
    if identity.has_capacity == Some(false) {
        println!(
            "missing     {:<36}  ControllerGetCapabilities does not return it, so publishers do not call GetCapacity",
            "GET_CAPACITY"
        );
    }
    draft.names = Some(identity.names);
    Ok(())
}

/// Features of the role that the draft does not claim and for which no trial case ran.
fn untried(draft: &Draft, tried: &[TrialResult]) -> Vec<&'static str> {
    let of_role = format!("{}.", draft.role.as_str());
    let is_known =
        |name: &str| draft.features.contains(&name) || tried.iter().any(|it| it.feature == Some(name));
    let names = features().map(|feature| feature.name);
    let mut names: Vec<&str> = names
        .filter(|name| name.starts_with(&of_role) && !is_known(name))
        .collect();
    names.sort_unstable();
    names
}

/// Prints the results of the trial cases, and writes the manifest with the features whose trial cases passed.
fn finish(draft: &Draft, tried: &[TrialResult], output: &Path) -> Result<Exit, InitError> {
    let mut features = draft.features.clone();
    let mut is_broken = false;
    for trial in tried {
        let of = trial
            .feature
            .map_or_else(String::new, |feature| format!(" ({feature})"));
        match &trial.failure {
            None => {
                features.extend(trial.feature);
                println!("passed      {}{of}", trial.case);
            }
            Some(why) => {
                is_broken |= trial.feature.is_none();
                let follows = trial.feature.map_or("", |_| "; not claimed");
                println!("failed      {}{of}: {why}{follows}", trial.case);
                for line in &trial.log {
                    println!("            {line}");
                }
            }
        }
    }
    let untried = untried(draft, tried);
    if !untried.is_empty() {
        let list = untried.join(", ");
        println!("not tried   {list}; add the features that the program has to the list `features`");
    }
    let text = draft
        .text(&features)
        .map_err(|error| (Exit::Usage, error.to_string()))?;
    write(output, &text)?;
    println!("wrote       {}", output.display());
    let sut = quoted(&output.display().to_string());
    match is_broken {
        true => println!(
            "look closer: {} conformance --sut {sut} {}",
            program(),
            tried.first().map_or("", |it| &it.case)
        ),
        false => println!(
            "run it:      {} conformance --sut {sut} --output report",
            program()
        ),
    }
    Ok(if is_broken { Exit::Failed } else { Exit::Passed })
}

fn write(output: &Path, text: &str) -> Result<(), InitError> {
    let write_error = |error| {
        (
            Exit::Environment,
            format!("{}: {error}; name another file with --output", output.display()),
        )
    };
    std::fs::write(output, text).map_err(write_error)
}
