//! The manifest of programs under test (`sut.yaml`): their roles, how to start them, and what to expect of them.
//!
//! Owns the format and its validation. `child` starts and stops programs; the plan knows what a case needs.

mod child;
mod file;
mod known;
mod lifeline;
mod mark;
mod objects;
mod pod_folder;
mod process_group;
mod template;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::driver_state::NodeStorage;
use crate::plan::{self, Plan, resolve};
use crate::scenario::{self, ExternalDriver, Role, ScenarioError};
use crate::system::{DriverSocket, System, Systems};
use child::Program;

pub use known::{ENOUGH_RUNS, FailurePattern, FailureRate, KnownFailure, UNWRITTEN, parse_version};
/// Placeholders that the texts of a manifest may contain, with their descriptions.
pub use template::NAMES as PLACEHOLDERS;

/// The programs under test, as defined by a manifest.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// Name of the programs in reports.
    pub name: String,
    /// Version of the programs in reports.
    pub version: String,
    /// Poll interval of the publisher; `None`: the harness's default.
    pub refresh: Option<Duration>,
    /// Maximum back-off of the programs after an error; `None`: the default of the harness.
    pub retry_interval_max: Option<Duration>,
    /// Names of the features that the programs support.
    pub features: Vec<String>,
    /// Known failures of any version of the programs.
    known: Vec<KnownFailure>,
    driver: Option<DriverUnderTest>,
    programs: Vec<(Role, Arc<Program>)>,
    /// Path of the manifest, as the user spelled it, and the text of the manifest.
    source: String,
    text: String,
}

/// Settings that only a driver under test has.
#[derive(Debug, Clone)]
struct DriverUnderTest {
    names: ExternalDriver,
    /// Socket of a driver that is already running; `None` if the harness starts the driver.
    socket: Option<DriverSocket>,
    /// Whether patches of API objects can set the driver's maximum volume size.
    can_set_maximum: bool,
    provisions_volumes: bool,
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The content of the manifest is invalid.
    #[error(transparent)]
    File(#[from] ScenarioError),
    /// The manifest cannot be read.
    #[error("{path}: {source}; name a manifest of the programs to test")]
    Unreadable {
        /// Path of the manifest.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A program does not exist or cannot be executed.
    #[error("{path}: cannot execute `{program}` of the {role}: {why}")]
    Program {
        /// Path of the manifest.
        path: PathBuf,
        /// Role of the program.
        role: &'static str,
        /// The program as named in the manifest.
        program: String,
        /// Reason why the program cannot be executed, and the remedy.
        why: String,
    },
}

impl DriverUnderTest {
    /// Whether a case runs with this driver: true for cases about drivers, and for cases whose storage the driver accepts.
    fn can_run(&self, plan: &Plan) -> bool {
        plan.roles.contains(&Role::Driver) || plan.has_storage() && self.replacement_problem(plan).is_none()
    }

    fn adapt(&self, plan: &Plan) -> Result<Plan, ScenarioError> {
        let case = scenario::parse_one(&plan.source, &plan.text)?;
        resolve(&case.with_driver(&self.names)?)
    }

    /// Why this driver cannot replace the built-in driver in a case; `None` if it can replace the built-in driver.
    fn replacement_problem(&self, plan: &Plan) -> Option<String> {
        let only = |what: &str| {
            Some(format!(
                "the case sets {what}, which only the built-in driver supports"
            ))
        };
        if !self.names.accepts_backend {
            return only(plan.unsupported_driver_settings()?);
        }
        if let Some(what) = plan.unsupported_settings_besides_storage() {
            return only(what);
        }
        for storage in plan.storage() {
            if NodeStorage::of(storage).is_none() {
                return Some("the storage of the case is a filesystem or devices, and `backend` of the manifest can set only {available} and {maximum}".to_owned());
            }
        }
        if plan.calls_once_for_new_storage() {
            return Some(
                "the publisher of the case calls GetCapacity once after a change of storage, and the driver may observe the change after that call"
                    .to_owned(),
            );
        }
        if plan.has_maximum_volume_size() && !self.can_set_maximum {
            return Some(
                "the case sets a maximum volume size, and no `backend` of the manifest contains {maximum}"
                    .to_owned(),
            );
        }
        if self.names.reports_maximum && !plan.has_maximum_volume_size() && !plan.serves_maximum_volume_size()
        {
            return Some(
                "the API server of the case does not store maximumVolumeSize, and the driver always reports one"
                    .to_owned(),
            );
        }
        self.incompatibility(plan)
    }

    /// Why a case cannot run with this driver, whatever storage the case sets; `None` if the case can run.
    fn incompatibility(&self, plan: &Plan) -> Option<String> {
        if !self.provisions_volumes && plan.needs_create_volume() {
            return Some(
                "the case provisions volumes, which the driver as started does not (`volumes: false`)"
                    .to_owned(),
            );
        }
        let error = self.adapt(plan).err()?;
        Some(format!(
            "the case cannot be expressed with the names of this driver: {}",
            error.message
        ))
    }

    /// Why the harness does not run a case with this driver; `None` if the case runs.
    fn skip_reason(&self, plan: &Plan) -> Option<String> {
        let sets = match self.names.accepts_backend {
            true => plan.unsupported_settings_besides_storage(),
            false => plan.unsupported_driver_settings(),
        };
        if let Some(what) = sets {
            return Some(format!(
                "the case sets {what}, which only the built-in driver supports"
            ));
        }
        let is_running = self.socket.is_some();
        if is_running && plan.has_several_drivers() {
            return Some(
                "the case has the driver on several nodes, and a driver with a `socket` runs on one"
                    .to_owned(),
            );
        }
        if is_running && plan.stops_the_driver() {
            return Some(
                "the case stops the driver, and the harness does not stop a driver with a `socket`"
                    .to_owned(),
            );
        }
        self.incompatibility(plan)
    }
}

impl Manifest {
    /// The roles of the programs in the manifest.
    pub fn roles(&self) -> impl Iterator<Item = Role> {
        let of_programs = self.programs.iter().map(|(role, _)| *role);
        let running = self.driver.as_ref().filter(|driver| driver.socket.is_some());
        of_programs.chain(running.map(|_| Role::Driver))
    }

    /// The executables of each role: the program, then its sidecars.
    pub fn programs(&self) -> impl Iterator<Item = (Role, &Path)> {
        self.programs.iter().flat_map(|(role, program)| {
            let starts =
                std::iter::once(&program.start).chain(program.sidecars.iter().map(|process| &process.start));
            starts.map(move |start| (*role, start.path.as_path()))
        })
    }

    /// Socket of a driver that is already running; `None` if the harness starts the driver, or the manifest has no driver.
    pub fn driver_socket(&self) -> Option<&Path> {
        let socket = self.driver.as_ref()?.socket.as_ref()?;
        Some(&socket.path)
    }

    /// Whether a program needs the in-cluster configuration of a pod.
    pub fn is_in_cluster(&self) -> bool {
        self.programs.iter().any(|(_, program)| program.in_cluster)
    }

    /// Replaces the reference programs by those of the manifest.
    pub fn install(&self, systems: &mut Systems) {
        for (role, program) in &self.programs {
            let (program, objects) = (program.clone(), program.objects.clone());
            let system = System {
                name: self.name.clone(),
                metrics_url: program.metrics.as_ref().map(|metrics| metrics.url.clone()),
                run: Arc::new(move |access, stop| Box::pin(child::run(program.clone(), access, stop))),
                is_child: true,
            };
            systems.by_role.insert(*role, system);
            if !objects.is_empty() {
                systems.objects.insert(*role, objects);
            }
        }
        systems.driver_socket = self.driver.as_ref().and_then(|driver| driver.socket.clone());
    }

    /// Adapts a case to the programs of the manifest: if their driver runs the case, the case uses the driver's names.
    ///
    /// Returns an error if the case uses topology that the driver does not have.
    pub fn adapt(&self, plan: &Plan) -> Result<Plan, ScenarioError> {
        match &self.driver {
            Some(driver) if driver.can_run(plan) => driver.adapt(plan),
            _ => Ok(plan.clone()),
        }
    }

    /// Why the harness does not run a case with the programs of the manifest; `None` if the case runs.
    pub fn skip_reason(&self, plan: &Plan) -> Option<String> {
        let driver = self.driver.as_ref();
        let is_for_the_driver = driver.is_some_and(|driver| driver.can_run(plan));
        if !is_for_the_driver && !plan.roles.iter().any(|role| self.roles().any(|own| own == *role)) {
            let roles: Vec<&str> = self.roles().map(Role::as_str).collect();
            if let (["driver"], Some(driver), true) = (
                roles.as_slice(),
                driver,
                plan.unsupported_driver_settings().is_some(),
            ) {
                return driver.replacement_problem(plan);
            }
            return Some(format!("the case has no {}", roles.join(" and no ")));
        }
        if let Some(driver) = driver
            && is_for_the_driver
            && let Some(why) = driver.skip_reason(plan)
        {
            return Some(why);
        }
        let adapted = is_for_the_driver.then(|| self.adapt(plan).ok()).flatten();
        let needed = adapted.as_ref().unwrap_or(plan).features();
        let is_own = |name: &&str| self.roles().any(|role| name.starts_with(role.as_str()));
        let missing = needed
            .into_iter()
            .filter(is_own)
            .find(|name| !self.features.iter().any(|claimed| claimed == name))?;
        let text = plan::feature(missing).map_or("", |feature| feature.text);
        Some(format!("{missing} is not claimed: {text}"))
    }

    /// Known failures that apply to the version in the manifest.
    pub fn known(&self) -> impl Iterator<Item = &KnownFailure> {
        self.known.iter().filter(|known| known.is_of_this_version)
    }

    /// Known failures that apply to a case and to the version in the manifest.
    pub fn known_failures(&self, case: &str) -> impl Iterator<Item = &KnownFailure> {
        self.known().filter(move |known| known.covers(case))
    }

    /// Checks the case ids of all known failures, of any version. `problem_of` returns a message if an id is invalid.
    pub fn check_cases(&self, problem_of: impl Fn(&str) -> Option<String>) -> Result<(), ScenarioError> {
        for known in &self.known {
            if let Some(message) = problem_of(&known.case) {
                return Err(ScenarioError::at(
                    &self.source,
                    &self.text,
                    known.location,
                    message,
                ));
            }
        }
        Ok(())
    }

    /// Whether the manifest has any known failures.
    pub fn has_known_failures(&self) -> bool {
        !self.known.is_empty()
    }

    /// Case ids of all known failures, of any version.
    pub fn known_cases(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|known| known.case.as_str())
    }
}
