//! Arguments shared by several commands, and their parsers. Does not know any command.

use std::path::{Path, PathBuf};

use clap::Args;
use suites::harness::plan::Plan;
use suites::harness::renamed::current_case_id;
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
    /// Cases to run concurrently [default: 16 per CPU, 4 with --apiserver; fewer if the open-file limit is low]
    #[arg(long, value_parser = at_least_one)]
    pub(crate) jobs: Option<usize>,
    #[command(flatten)]
    pub(crate) repeat: RepeatArgs,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
    /// Inject a defect into a reference implementation, to see which cases detect it
    #[arg(long, value_parser = Defect::named)]
    pub(crate) defect: Option<Defect>,
    /// Behaviour of the references where the specifications leave a choice, such as `update=patch`; see `list --dialects`
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = Dialect::parse, conflicts_with = "defect")]
    pub(crate) dialect: Option<Dialect>,
    /// Run the core cases in simulated time with every dialect: each choice alone, and pairwise combinations of choices
    #[arg(long, conflicts_with_all = ["defect", "dialect", "repeat", "output", "shard", "apiserver", "watch"])]
    pub(crate) every_dialect: bool,
    /// Run the cases of FILE in simulated time, and again at each save, until Ctrl-C
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cases", "role", "requirement", "folder", "repeat", "output", "shard", "apiserver"])]
    pub(crate) watch: Option<PathBuf>,
}

/// How often a run is repeated.
#[derive(Args)]
pub(crate) struct RepeatArgs {
    /// Run everything N times, stopping at the first run that fails
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
}

impl RepeatArgs {
    /// Repeats a run up to `repeat` times, until a run does not pass.
    pub(crate) fn run(&self, mut once: impl FnMut() -> Result<Exit, Exit>) -> Result<Exit, Exit> {
        for time in 1..=self.repeat {
            if self.repeat > 1 {
                eprintln!("run {time} of {}", self.repeat);
            }
            let exit = once()?;
            if exit != Exit::Passed {
                return Ok(exit);
            }
        }
        Ok(Exit::Passed)
    }
}

/// Selects real or simulated time.
#[derive(Args)]
pub(crate) struct TimeArgs {
    /// Run in simulated time with this seed: in memory, without real waiting, reproducible [default seed: 0]
    #[arg(long, value_name = "SEED", num_args = 0..=1, require_equals = true, default_missing_value = "0", value_parser = seed, conflicts_with = "apiserver")]
    pub(crate) simulate: Option<u64>,
}

/// Options for running cases, common to all systems under test.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// Print one line per case instead of one line per area
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Scale all timeouts by this factor, for slow machines
    #[arg(long, default_value_t = 1.0, value_parser = patience)]
    pub(crate) patience: f64,
    /// Maximum attempts per failing case; a pass on a retry is reported as flaky and does not count as a pass
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) attempts: u32,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Write the reports, and the runs of cases that did not pass, into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Run against a real API server: the current context of this kubeconfig. All objects that the run creates there carry a label and are
    /// deleted afterwards
    #[arg(long, value_name = "KUBECONFIG")]
    pub(crate) apiserver: Option<PathBuf>,
    /// Write the runs of all cases, even of cases that passed
    #[arg(long, requires = "output")]
    pub(crate) keep_passed: bool,
    /// Continue after three consecutive cases in which a program never became ready, instead of stopping
    #[arg(long)]
    pub(crate) keep_going: bool,
}

/// Selects the shard of a run that this machine executes.
#[derive(Args)]
pub(crate) struct PartArgs {
    /// Run only shard M/N, such as 1/4; `index/N` takes M from JOB_COMPLETION_INDEX (Indexed Job)
    #[arg(long, value_name = "M/N", value_parser = shard)]
    pub(crate) shard: Option<Shard>,
    /// Id of the run, which all of its shards share; `report merge` merges only shards with the same id [default in GitHub Actions: the run
    /// id]
    #[arg(long, value_name = "ID", env = "GITHUB_RUN_ID", hide_env_values = true)]
    pub(crate) run_id: Option<String>,
}

/// Selects the cases of a command.
#[derive(Args)]
pub(crate) struct SelectArgs {
    /// Case ids, or prefixes of ids such as `scheduler/filter`
    cases: Vec<String>,
    /// Only cases in which this role takes part
    #[arg(long, value_parser = role)]
    role: Option<Role>,
    /// Only cases that verify this requirement, such as PUB-21
    #[arg(long, value_name = "ID")]
    pub(crate) requirement: Option<String>,
    /// Coverage of cases with axes: run enough table rows for every 2-way (pairwise) or 3-way combination of axis values
    #[arg(long, value_name = "2|3", default_value = "2", value_parser = strength)]
    pub(crate) strength: Strength,
    /// Read cases from this folder instead of the built-in cases
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl TimeArgs {
    /// `--simulate` with its seed, for the command that reruns a case; `None` if the user did not give the option.
    pub(crate) fn words(&self) -> Option<String> {
        self.simulate.map(|seed| format!("--simulate={seed}"))
    }
}

impl RunArgs {
    /// `--apiserver` with its kubeconfig, for the command that reruns a case; `None` if the user did not give the option.
    pub(crate) fn words(&self) -> Option<String> {
        self.apiserver
            .as_ref()
            .map(|file| format!("--apiserver={}", file.display()))
    }
}

impl SelectArgs {
    /// Whether ids, a role or a requirement restrict the cases.
    pub(crate) fn restricts_cases(&self) -> bool {
        !self.cases.is_empty() || self.role.is_some() || self.requirement.is_some()
    }

    /// Adds the `--folder` option, if the user gave it, to the words of a command.
    pub(crate) fn with_folder_option(&self, words: impl IntoIterator<Item = String>) -> Vec<String> {
        let folder = self.folder.as_ref();
        let folder = folder.map(|folder| format!("--folder={}", folder.display()));
        words.into_iter().chain(folder).collect()
    }

    /// The case file that the user gave instead of case ids, and the selected table rows of that file.
    pub(crate) fn file(&self) -> Option<(&Path, &[String])> {
        let (first, rows) = self.cases.split_first()?;
        Some((Path::new(first), rows)).filter(|(file, _)| file.is_file())
    }

    /// The folder given with `--folder` if no case was found there; otherwise `None`.
    pub(crate) fn empty_folder(&self, found: &[Plan]) -> Option<&Path> {
        self.folder.as_deref().filter(|_| found.is_empty())
    }

    /// The source of the cases: the folder given with `--folder`, or the built-in cases.
    pub(crate) fn files(&self) -> CaseFiles {
        let folder = self.folder.clone();
        folder.map_or_else(suites::case_files, CaseFiles::Folder)
    }

    /// The selection of cases. Old ids of renamed cases are resolved for built-in cases only.
    pub(crate) fn selection(&self) -> Selection {
        Selection {
            ids: match self.folder {
                None => self.cases.iter().map(|id| current_case_id(id)).collect(),
                Some(_) => self.cases.clone(),
            },
            role: self.role,
            requirement: self.requirement.clone(),
        }
    }
}

/// Default of `--jobs`. In real time, more cases run than there are CPUs, because cases mostly wait. A real API server and its etcd need
/// CPU time too, and in simulated time no case waits.
pub(crate) fn default_jobs(run: &RunArgs, simulate: Option<u64>) -> usize {
    let per_core = match simulate {
        Some(_) => 1,
        None if run.apiserver.is_some() => 4,
        None => 16,
    };
    std::thread::available_parallelism().map_or(4, |cores| cores.get() * per_core)
}

/// Parses a shard. For `index/N`, the shard number is read from JOB_COMPLETION_INDEX, which counts from 0.
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
            "{INDEX} is not a number; set `completionMode: Indexed` in the Job"
        )),
    }
}

pub(crate) fn patience(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if (0.1..=1000.0).contains(&factor) {
        Ok(factor)
    } else {
        Err("it must be from 0.1 to 1000".to_owned())
    }
}

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

pub(crate) fn role(text: &str) -> Result<Role, String> {
    Role::ALL
        .into_iter()
        .find(|role| role.as_str() == text)
        .ok_or_else(|| format!("`{text}` is not a role; roles: publisher, scheduler, cleaner, driver"))
}

/// Arguments of `list`.
#[derive(Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// Mark each case that is skipped for the programs of this manifest, with the reason, and each known failure
    #[arg(long, value_name = "FILE")]
    pub(crate) sut: Option<PathBuf>,
    /// Show the pair coverage of axis values in the cases, for every two axes of a file, and list uncovered pairs
    #[arg(long, conflicts_with_all = ["sut", "apiserver"])]
    pub(crate) coverage: bool,
    /// List the choices that the specifications leave open, for `e2e --dialect`, instead of cases
    #[arg(long, conflicts_with_all = ["cases", "role", "requirement", "coverage", "sut", "apiserver", "requirements"])]
    pub(crate) dialects: bool,
    /// List the requirements by document and section with their evidence, instead of cases; with --requirement, only that requirement
    #[arg(long, conflicts_with_all = ["cases", "role", "requirement", "coverage", "sut", "apiserver"])]
    pub(crate) requirements: bool,
    /// Mark each case that is skipped on this real API server, with the reason
    #[arg(long, value_name = "KUBECONFIG")]
    pub(crate) apiserver: Option<PathBuf>,
}

/// Arguments of `explain`.
#[derive(Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    /// Print the YAML source of the case instead of an explanation: a file for `repro`, or a template for another case
    #[arg(long)]
    pub(crate) yaml: bool,
}

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "a seed is a whole number from 0 to 2^64-1, such as 7".to_owned())
}
