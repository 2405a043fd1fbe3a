//! The manifest of programs under test (`sut.yaml`): which roles they play, how to start them, and what to expect.
//!
//! Owns the format and its checks. Starting and stopping is `child`'s; what a case wants is the plan's.

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

use crate::driver_state::Figures;
use crate::plan::{self, Plan, resolve};
use crate::scenario::{self, ExternalDriver, Role, ScenarioError};
use crate::system::{DriverSocket, System, Systems};
use child::Program;

pub use known::{ENOUGH_RUNS, KnownFailure, Sometimes, UNWRITTEN, Words, parse_version};
/// Names in braces that texts of a manifest may use, with what they stand for.
pub use template::NAMES as PLACEHOLDERS;

/// Programs under test, and what is known about them.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// What reports call them.
    pub name: String,
    /// Their version, as reports show it.
    pub version: String,
    /// The poll interval to run a publisher with; none: the harness's own.
    pub refresh: Option<Duration>,
    /// The longest time that the programs wait after an error before they try again; none: as long as most clients.
    pub retry_interval_max: Option<Duration>,
    /// Names of the features that they claim.
    pub features: Vec<String>,
    /// Failures that are known, of this version of the programs and of others.
    known: Vec<KnownFailure>,
    driver: Option<DriverUnderTest>,
    programs: Vec<(Role, Arc<Program>)>,
    /// The file as it was named, and its text.
    source: String,
    text: String,
}

/// What is special about a driver under test.
#[derive(Debug, Clone)]
struct DriverUnderTest {
    names: ExternalDriver,
    /// Where it runs already; none: it is one of the programs.
    socket: Option<DriverSocket>,
    /// Whether it is told the largest volume by objects.
    takes_maximum: bool,
    /// Whether it makes volumes, as it is started.
    makes_volumes: bool,
}

/// A manifest can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Something in it is wrong.
    #[error(transparent)]
    File(#[from] ScenarioError),
    /// It can't be read.
    #[error("{path}: {source}; name a manifest of the programs to test")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A program is not there.
    #[error("{path}: the {role} is `{program}`, which is {why}")]
    Program {
        /// The manifest.
        path: PathBuf,
        /// The role.
        role: &'static str,
        /// The program, as it is named.
        program: String,
        /// What is the matter with it, and what to do.
        why: String,
    },
}

impl DriverUnderTest {
    /// Whether it is the driver of a case: of those about drivers, and of those whose storage it can be told.
    fn plays(&self, plan: &Plan) -> bool {
        plan.roles.contains(&Role::Driver) || plan.has_storage() && self.cannot_be_told(plan).is_none()
    }

    fn adapt(&self, plan: &Plan) -> Result<Plan, ScenarioError> {
        let case = scenario::parse_one(&plan.source, &plan.text)?;
        resolve(&case.with_driver(&self.names)?)
    }

    /// Why a case can't have this driver in the place of the built-in one; none: it can.
    fn cannot_be_told(&self, plan: &Plan) -> Option<String> {
        let only = |what: &str| Some(format!("it sets {what}, and only the built-in driver lets it"));
        if !self.names.takes_backend {
            return only(plan.sets_the_driver()?);
        }
        if let Some(what) = plan.sets_more_than_storage() {
            return only(what);
        }
        for storage in plan.storage() {
            if Figures::of(storage).is_none() {
                return Some("it has a filesystem or devices, and the manifest says how a driver is told {available} and {maximum} alone (`backend`)".to_owned());
            }
        }
        if plan.asks_once_for_new_storage() {
            return Some(
                "its publisher asks once for storage that comes later, and the driver may hear of that later still"
                    .to_owned(),
            );
        }
        if plan.has_largest() && !self.takes_maximum {
            return Some(
                "it sets the largest volume, and no `backend` of the manifest has {maximum}".to_owned(),
            );
        }
        if self.names.tells_maximum && !plan.has_largest() && !plan.stores_maximum() {
            return Some(
                "its API server knows no largest volume, and the driver always tells one".to_owned(),
            );
        }
        self.cannot_take_part(plan)
    }

    /// Why no case of that kind is for it; none: it is.
    fn cannot_take_part(&self, plan: &Plan) -> Option<String> {
        if !self.makes_volumes && plan.makes_volumes() {
            return Some(
                "it makes volumes, and the driver does not as it is started (`volumes: false`)".to_owned(),
            );
        }
        let error = self.adapt(plan).err()?;
        Some(format!(
            "it can't be told in this driver's names: {}",
            error.message
        ))
    }

    /// Why it does not play its part in a case; none: it does.
    fn skips(&self, plan: &Plan) -> Option<String> {
        let sets = match self.names.takes_backend {
            true => plan.sets_more_than_storage(),
            false => plan.sets_the_driver(),
        };
        if let Some(what) = sets {
            return Some(format!("it sets {what}, and only the built-in driver lets it"));
        }
        let is_one = self.socket.is_some();
        if is_one && plan.has_several_drivers() {
            return Some(
                "it has the driver on several nodes, and a driver that runs already is on one".to_owned(),
            );
        }
        if is_one && plan.stops_the_driver() {
            return Some("it stops the driver, and one that runs already is not ours to stop".to_owned());
        }
        self.cannot_take_part(plan)
    }
}

impl Manifest {
    /// The roles that its programs play.
    pub fn roles(&self) -> impl Iterator<Item = Role> {
        let of_programs = self.programs.iter().map(|(role, _)| *role);
        let running = self.driver.as_ref().filter(|driver| driver.socket.is_some());
        of_programs.chain(running.map(|_| Role::Driver))
    }

    /// The files that are started for each role: those beside a program after it.
    pub fn programs(&self) -> impl Iterator<Item = (Role, &Path)> {
        self.programs.iter().flat_map(|(role, program)| {
            let starts =
                std::iter::once(&program.start).chain(program.beside.iter().map(|process| &process.start));
            starts.map(move |start| (*role, start.path.as_path()))
        })
    }

    /// The socket of a driver that runs already; none: its program is started, or it has no driver.
    pub fn driver_socket(&self) -> Option<&Path> {
        let socket = self.driver.as_ref()?.socket.as_ref()?;
        Some(&socket.path)
    }

    /// Whether one of its programs knows the configuration of a pod alone.
    pub fn is_in_cluster(&self) -> bool {
        self.programs.iter().any(|(_, program)| program.in_cluster)
    }

    /// Puts its programs in the place of others.
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

    /// The case as it is for these programs: with the names of their driver, where that plays its part.
    ///
    /// Fails if the case names things in ways that the driver's topology does not have.
    pub fn adapt(&self, plan: &Plan) -> Result<Plan, ScenarioError> {
        match &self.driver {
            Some(driver) if driver.plays(plan) => driver.adapt(plan),
            _ => Ok(plan.clone()),
        }
    }

    /// Why a case is not for these programs; none: it is.
    pub fn skips(&self, plan: &Plan) -> Option<String> {
        let driver = self.driver.as_ref();
        let is_for_the_driver = driver.is_some_and(|driver| driver.plays(plan));
        if !is_for_the_driver && !plan.roles.iter().any(|role| self.roles().any(|own| own == *role)) {
            let roles: Vec<&str> = self.roles().map(Role::as_str).collect();
            if let (["driver"], Some(driver), true) =
                (roles.as_slice(), driver, plan.sets_the_driver().is_some())
            {
                return driver.cannot_be_told(plan);
            }
            return Some(format!("it has no {}", roles.join(" and no ")));
        }
        if let Some(driver) = driver
            && is_for_the_driver
            && let Some(why) = driver.skips(plan)
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

    /// The known failures of this version of the programs.
    pub fn known(&self) -> impl Iterator<Item = &KnownFailure> {
        self.known.iter().filter(|known| known.is_of_this_version)
    }

    /// The known failures that a case falls under.
    pub fn known_failures(&self, case: &str) -> impl Iterator<Item = &KnownFailure> {
        self.known().filter(move |known| known.covers(case))
    }

    /// Asks of every entry, of whichever version, whether its case is one; `wrong` says what is the matter if it is none.
    pub fn check_cases(&self, wrong: impl Fn(&str) -> Option<String>) -> Result<(), ScenarioError> {
        for known in &self.known {
            if let Some(message) = wrong(&known.case) {
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

    /// Whether the manifest has an entry for a known failure at all.
    pub fn has_known_failures(&self) -> bool {
        !self.known.is_empty()
    }

    /// What its entries for known failures, of whichever version, speak of.
    pub fn known_cases(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|known| known.case.as_str())
    }
}
