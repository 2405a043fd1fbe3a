//! Arguments that several commands have in common, and what they mean. Knows no command.

use std::path::{Path, PathBuf};

use clap::Args;
use suites::harness::plan::Plan;
use suites::harness::scenario::{CaseFiles, Role, Strength};
use suites::{Selection, Shard};

use crate::Exit;
use crate::out::eprintln;
use references::Defect;
use references::Dialect;

/// Arguments of `e2e`.
#[derive(Args)]
pub(crate) struct E2eArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Cases at the same time [default: 16 per processor, and 4 with --apiserver; fewer where too few files may be open]
    #[arg(long, value_parser = at_least_one)]
    pub(crate) jobs: Option<usize>,
    #[command(flatten)]
    pub(crate) repeat: RepeatArgs,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
    /// Break one of the references on purpose, to see what the cases say
    #[arg(long, value_parser = Defect::named)]
    pub(crate) defect: Option<Defect>,
    /// Run the references with these choices where the specifications leave one, such as `update=patch`; `list --dialects` prints them
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = Dialect::parse, conflicts_with = "defect")]
    pub(crate) dialect: Option<Dialect>,
    /// Run the core cases in simulated time in every dialect: each choice alone, and pairwise combinations
    #[arg(long, conflicts_with_all = ["defect", "dialect", "repeat", "output", "shard", "apiserver", "watch"])]
    pub(crate) every_dialect: bool,
    /// Run the cases of a file instead, and again at each save, in simulated time, until Ctrl-C
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cases", "role", "requirement", "folder", "repeat", "output", "shard", "apiserver"])]
    pub(crate) watch: Option<PathBuf>,
}

/// How often to run.
#[derive(Args)]
pub(crate) struct RepeatArgs {
    /// Run everything so many times, and stop at the first time that fails
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
}

impl RepeatArgs {
    /// Runs until one run does not pass.
    pub(crate) fn run(&self, mut once: impl FnMut() -> Exit) -> Exit {
        for time in 1..=self.repeat {
            if self.repeat > 1 {
                eprintln!("run {time} of {}", self.repeat);
            }
            let exit = once();
            if exit != Exit::Passed {
                return exit;
            }
        }
        Exit::Passed
    }
}

/// In which time to run.
#[derive(Args)]
pub(crate) struct TimeArgs {
    /// Run in simulated time, which waits for nothing: everything is in memory, and follows from the seed [default seed: 0]
    #[arg(long, value_name = "SEED", num_args = 0..=1, require_equals = true, default_missing_value = "0", value_parser = seed, conflicts_with = "apiserver")]
    pub(crate) simulate: Option<u64>,
}

/// How to run, whatever is tested.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// One line per case instead of one per area
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Multiply every bound, for slow machines
    #[arg(long, default_value_t = 1.0, value_parser = patience)]
    pub(crate) patience: f64,
    /// Run a case that fails so often in all; if it passes then it is flaky, which is no pass
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) attempts: u32,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Write the reports into that folder, with the runs of the cases that did not pass
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// A real API server in the place of the one in memory: what a kubeconfig's current context names. Everything that the run creates
    /// there is labelled, and removed afterwards
    #[arg(long, value_name = "KUBECONFIG")]
    pub(crate) apiserver: Option<PathBuf>,
    /// Write the runs of the cases that passed there too
    #[arg(long, requires = "output")]
    pub(crate) keep_passed: bool,
    /// Go on where a program was never ready in three cases in a row; else the run stops there
    #[arg(long)]
    pub(crate) keep_going: bool,
}

/// Which part of a run is this machine's.
#[derive(Args)]
pub(crate) struct PartArgs {
    /// Run only part m of n, such as 1/4; `index/N` is the part of a pod of an Indexed Job, which JOB_COMPLETION_INDEX says
    #[arg(long, value_name = "M/N", value_parser = shard)]
    pub(crate) shard: Option<Shard>,
    /// What the shards of one run have in common, so that `report merge` joins no others; in GitHub Actions the number of the
    /// workflow run
    #[arg(long, value_name = "ID", env = "GITHUB_RUN_ID", hide_env_values = true)]
    pub(crate) run_id: Option<String>,
}

/// Which cases are meant.
#[derive(Args)]
pub(crate) struct SelectArgs {
    /// Ids of cases, or the beginning of ids such as `scheduler/filter`
    cases: Vec<String>,
    /// Only cases with that role
    #[arg(long, value_parser = role)]
    role: Option<Role>,
    /// Only cases that show that requirement, such as PUB-21
    #[arg(long, value_name = "ID")]
    pub(crate) requirement: Option<String>,
    /// Of cases with axes, run so many that every 2 values occur together in one of them, or every 3
    #[arg(long, value_name = "2|3", default_value = "2", value_parser = strength)]
    pub(crate) strength: Strength,
    /// Read the cases below that folder instead of the built-in ones
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl TimeArgs {
    /// The option of a command that must be the same when a case is run again.
    pub(crate) fn words(&self) -> Option<String> {
        self.simulate.map(|seed| format!("--simulate={seed}"))
    }
}

impl RunArgs {
    /// The options of a command that must be the same when a case is run again.
    pub(crate) fn words(&self) -> Option<String> {
        self.apiserver
            .as_ref()
            .map(|file| format!("--apiserver={}", file.display()))
    }
}

impl SelectArgs {
    /// Whether not all cases are meant.
    pub(crate) fn is_narrow(&self) -> bool {
        !self.cases.is_empty() || self.role.is_some() || self.requirement.is_some()
    }

    /// A command that means these cases' folder, without the selection in it.
    pub(crate) fn command(&self, words: impl IntoIterator<Item = String>) -> Vec<String> {
        let folder = self.folder.as_ref();
        let folder = folder.map(|folder| format!("--folder={}", folder.display()));
        words.into_iter().chain(folder).collect()
    }

    /// The file that is named in the place of cases, and the rows of it that are meant.
    pub(crate) fn file(&self) -> Option<(&Path, &[String])> {
        let (first, rows) = self.cases.split_first()?;
        Some((Path::new(first), rows)).filter(|(file, _)| file.is_file())
    }

    /// The folder of the user's in which no case was found.
    pub(crate) fn empty_folder(&self, found: &[Plan]) -> Option<&Path> {
        self.folder.as_deref().filter(|_| found.is_empty())
    }

    /// Where the cases come from.
    pub(crate) fn files(&self) -> CaseFiles {
        let folder = self.folder.clone();
        folder.map_or_else(suites::case_files, CaseFiles::Folder)
    }

    pub(crate) fn selection(&self) -> Selection {
        Selection {
            ids: self.cases.clone(),
            role: self.role,
            requirement: self.requirement.clone(),
        }
    }
}

/// Waiting costs nothing, so there is more in flight than there are processors. A real API server and its etcd have to be waited for, and
/// in simulated time nobody waits.
pub(crate) fn default_jobs(run: &RunArgs, simulate: Option<u64>) -> usize {
    let per_core = match simulate {
        Some(_) => 1,
        None if run.apiserver.is_some() => 4,
        None => 16,
    };
    std::thread::available_parallelism().map_or(4, |cores| cores.get() * per_core)
}

/// Reads a shard. A pod of an Indexed Job does not know its number beforehand, and counts from 0.
fn shard(text: &str) -> Result<Shard, String> {
    const INDEX: &str = "JOB_COMPLETION_INDEX";
    let Some(of) = text.strip_prefix("index/") else {
        return text.parse();
    };
    let index = std::env::var(INDEX).ok();
    let index = index.and_then(|index| index.parse::<usize>().ok()?.checked_add(1));
    match index {
        Some(part) => format!("{part}/{of}").parse(),
        None => Err(format!(
            "{INDEX} is no number; set `completionMode: Indexed` in the Job"
        )),
    }
}

pub(crate) fn patience(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if (0.1..=1000.0).contains(&factor) {
        Ok(factor)
    } else {
        Err("it must be from 0.1 to 1000".to_owned())
    }
}

/// Reads how many there are to be of something that is of no use without one.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("write a whole number such as 8".to_owned()),
    }
}

fn strength(text: &str) -> Result<Strength, String> {
    match text {
        "2" => Ok(Strength::Pairs),
        "3" => Ok(Strength::Triples),
        _ => Err("write 2 or 3".to_owned()),
    }
}

/// Reads a role.
pub(crate) fn role(text: &str) -> Result<Role, String> {
    Role::ALL
        .into_iter()
        .find(|role| role.as_str() == text)
        .ok_or_else(|| format!("`{text}` is no role; roles: publisher, scheduler, cleaner, driver"))
}

/// Arguments of `list`.
#[derive(Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// Say of each case whether it is skipped for the programs of that manifest and why, or known to fail
    #[arg(long, value_name = "FILE")]
    pub(crate) sut: Option<PathBuf>,
    /// Say how many pairs of values of axes occur together in the cases, for every two axes of a file, and which do not
    #[arg(long, conflicts_with_all = ["sut", "apiserver"])]
    pub(crate) coverage: bool,
    /// List the choices that the specifications leave, for `e2e --dialect`, instead
    #[arg(long, conflicts_with_all = ["cases", "role", "requirement", "coverage", "sut", "apiserver", "requirements"])]
    pub(crate) dialects: bool,
    /// List what the documents ask instead, by document and section, with what shows it; for one alone, use --requirement
    #[arg(long, conflicts_with_all = ["cases", "role", "requirement", "coverage", "sut", "apiserver"])]
    pub(crate) requirements: bool,
    /// Say of each case whether it is skipped for that real API server and why
    #[arg(long, value_name = "KUBECONFIG")]
    pub(crate) apiserver: Option<PathBuf>,
}

/// Arguments of `explain`.
#[derive(Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// Print the text of the case instead: a file that `repro` runs, and from which another case can be made
    #[arg(long)]
    pub(crate) yaml: bool,
}

/// Reads the seed of what is drawn.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "a seed is a whole number from 0 to 2^64-1, such as 7".to_owned())
}
