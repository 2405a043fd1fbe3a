//! Arguments of `repro`: a scenario, and the systems that it runs against.

use std::path::{Path, PathBuf};

use clap::Args;
use suites::Session;
use suites::harness::invocation::program;
use suites::harness::manifest::Manifest;
use suites::harness::system::Systems;
use suites::report::SystemRecord;

use crate::args::{RepeatArgs, RunArgs, TimeArgs};
use crate::run_folder::RunFolder;
use crate::runner::options;
use crate::{Exit, e2e, manifest, mutants, out};
use references::Defect;
use references::built_in;

/// Arguments of `repro`.
#[derive(Args)]
pub(crate) struct ReproArgs {
    /// The scenario, which can be any case file
    pub(crate) file: PathBuf,
    /// Only these cases of the file, given as case ids or names of table rows
    pub(crate) rows: Vec<String>,
    /// Run against the programs of this manifest instead of the built-in references
    #[arg(long, value_name = "FILE", conflicts_with = "simulate")]
    pub(crate) sut: Option<PathBuf>,
    /// Inject a defect into a reference implementation
    #[arg(long, value_parser = Defect::named, conflicts_with = "sut")]
    defect: Option<Defect>,
    /// Also run the cases against this second manifest, and compare the results; `built-in` means the references. --output then stores only
    /// runs, without reports
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keep", "repeat", "shard", "keep_passed", "simulate"])]
    pub(crate) compare: Option<PathBuf>,
    /// Keep the cluster running after the verdict, until Ctrl-C
    #[arg(long, conflicts_with_all = ["attempts", "repeat", "shard", "output", "apiserver", "simulate"])]
    pub(crate) keep: bool,
    /// With --keep: write the kubeconfig into this file and leave it there [default: a temporary file]
    #[arg(long, value_name = "FILE", requires = "keep")]
    pub(crate) kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) repeat: RepeatArgs,
    #[command(flatten)]
    pub(crate) time: TimeArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Systems under test, with their manifest and the injected defect, if any.
pub(crate) struct SystemsUnderTest {
    pub(crate) systems: Systems,
    pub(crate) manifest: Option<Manifest>,
    pub(crate) defect: Option<Defect>,
    pub(crate) record: SystemRecord,
}

impl SystemsUnderTest {
    /// The programs of a manifest, or the references with a defect if there is no manifest.
    pub(crate) fn new(sut: Option<&Path>, defect: Option<Defect>) -> Result<Self, Exit> {
        sut.map_or_else(|| Ok(Self::built_in(defect)), Self::of_manifest)
    }

    pub(crate) fn built_in(defect: Option<Defect>) -> Self {
        SystemsUnderTest {
            systems: built_in(defect),
            defect,
            manifest: None,
            record: e2e::record(defect),
        }
    }

    /// The programs of a manifest, with the references for the roles that the manifest does not contain.
    pub(crate) fn of_manifest(path: &Path) -> Result<Self, Exit> {
        let manifest = manifest::manifest(path)?;
        let mut systems = built_in(None);
        manifest.install(&mut systems);
        Ok(SystemsUnderTest {
            systems,
            defect: None,
            record: manifest::record(&manifest),
            manifest: Some(manifest),
        })
    }

    /// A session (configuration for running cases) that stores runs in the folder `runs`.
    pub(crate) fn session(self, args: &ReproArgs, runs: PathBuf, keep_passed: bool) -> Session {
        let options = options(args.run.patience, self.manifest.as_ref(), self.defect);
        let rerun = format!(
            "{program} {}",
            out::shell_command(args.command().iter().chain(&args.run.words())),
            program = program()
        );
        Session {
            attempts: args.run.attempts,
            runs_folder: Some(runs),
            keep_passed,
            ..Session::new(self.systems, options, self.manifest, 1, rerun)
        }
    }
}

impl ReproArgs {
    /// The command line that repeats this run.
    pub(crate) fn command(&self) -> Vec<String> {
        let mut words = e2e::defect_words(self.defect, "repro");
        words.extend(self.sut.as_ref().map(|sut| format!("--sut={}", sut.display())));
        words.extend(self.time.words());
        words.push(self.file.display().to_string());
        words
    }

    pub(crate) fn selected_systems(&self) -> Result<SystemsUnderTest, Exit> {
        mutants::ensure_available(self.defect)?;
        SystemsUnderTest::new(self.sut.as_deref(), self.defect)
    }
}

/// The folder in which one of two compared systems stores its runs. `number`: index of the system.
pub(crate) fn folder_of_compared_system(args: &ReproArgs, run_folder: &RunFolder, number: usize) -> PathBuf {
    let root = match &args.run.output {
        Some(_) => run_folder.cases(),
        None => run_folder.cases().join("compare"),
    };
    root.join(number.to_string())
}
