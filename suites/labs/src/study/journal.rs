//! Counts the API requests, CSI calls, changes and watch events of a run, for each step of its case. Does not know studies.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use capacity_types::capacity_api::RESOURCE;
use parking_lot::Mutex;
use references::{Defect, built_in};
use serde_json::Value;
use suites::harness::journal::{Change, Fact, Observation};
use suites::harness::manifest::Manifest;
use suites::harness::plan::{Plan, resolve};
use suites::harness::scenario::parse;
use suites::harness::standalone::CsiMethod;
use suites::harness::system::{BoxError, Systems};
use suites::harness::{Observer, RunOptions, run, simulate};

/// Counts of the requests, calls, changes and watch events of a run.
#[derive(Debug, Default)]
pub(super) struct Run {
    steps: Vec<Tally>,
    /// The API objects that exist at the end of the run, by resource and name.
    objects: BTreeMap<(String, String), Arc<Value>>,
    /// Size of the largest capacity object with metadata, in bytes of JSON.
    largest_object: usize,
}

/// Counts and times of what the programs under test did in one step.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// API requests by client (without node name), verb and resource.
    pub(super) requests: BTreeMap<(String, &'static str, String), usize>,
    /// Committed object changes by kind (create, update or delete) and resource.
    pub(super) commits: BTreeMap<(&'static str, String), usize>,
    pub(super) calls: BTreeMap<CsiMethod, usize>,
    /// Watch events delivered, by client (with node name) and resource.
    pub(super) deliveries: BTreeMap<(String, String), usize>,
    /// CSI calls that the driver rejected, by method.
    pub(super) rejected: BTreeMap<CsiMethod, usize>,
    pub(super) extender_calls: usize,
    /// Time from the first to the last fact of the step.
    pub(super) took: Duration,
    /// Scheduling times of pods, in seconds since the first pod was created.
    pub(super) placements: Vec<f64>,
    began: Duration,
    first_pod: Option<Duration>,
    placed: BTreeSet<String>,
}

/// Runs scenarios in simulated or real time.
pub(super) struct Runner {
    systems: Systems,
    manifest: Option<Manifest>,
    defect: Option<Defect>,
    /// Seed in simulated time; `None` for real time.
    seed: Option<u64>,
}

impl Runner {
    /// Creates a runner for the references in simulated time, with an injected defect if one is given.
    pub(super) fn simulated(seed: u64, defect: Option<Defect>) -> Self {
        Self {
            seed: Some(seed),
            ..Self::real(None, defect)
        }
    }

    /// Creates a runner for the programs of a manifest in real time. The references run in all roles that the manifest does not fill.
    pub(super) fn real(manifest: Option<Manifest>, defect: Option<Defect>) -> Self {
        let mut systems = built_in(defect);
        if let Some(manifest) = &manifest {
            manifest.install(&mut systems);
        }
        Self {
            systems,
            manifest,
            defect,
            seed: None,
        }
    }

    pub(super) fn is_simulated(&self) -> bool {
        self.seed.is_some()
    }

    /// Runs a scenario. Fails if an expectation of the scenario is not met: the counts would be meaningless. With an injected defect,
    /// unmet expectations are ignored: the counts show the effect of the defect.
    pub(super) fn run(&self, scenario: &Value, refresh: Duration) -> Result<Run, BoxError> {
        let (run, unmet) = self.run_counted(scenario, refresh)?;
        match unmet.filter(|_| self.defect.is_none()) {
            Some(unmet) => Err(unmet.into()),
            None => Ok(run),
        }
    }

    pub(super) fn run_ignoring_failures(&self, scenario: &Value, refresh: Duration) -> Result<Run, BoxError> {
        self.run_counted(scenario, refresh).map(|(run, _)| run)
    }

    /// Reason that the programs under test skip a scenario; `None` if they run the scenario.
    pub(super) fn skips(&self, scenario: &Value) -> Result<Option<String>, BoxError> {
        let manifest = self.manifest.as_ref();
        let plan = plan(scenario)?;
        Ok(manifest.and_then(|manifest| manifest.skip_reason(&plan)))
    }

    /// Runs a scenario. Returns its counts, and a message on an unmet expectation, if any.
    fn run_counted(&self, scenario: &Value, refresh: Duration) -> Result<(Run, Option<String>), BoxError> {
        let plan = Arc::new(plan(scenario)?);
        let counted = Arc::new(Mutex::new(Run::default()));
        let observer = Observer(Arc::new({
            let counted = Arc::clone(&counted);
            move |fact: &Fact| counted.lock().count(fact)
        }));
        let options = RunOptions {
            refresh,
            seed: self.seed,
            observer: Some(observer),
            ..RunOptions::default()
        };
        let options = match self.defect {
            Some(defect) => defect.apply_to(options),
            None => options,
        };
        let systems = &self.systems;
        let outcome = match self.seed {
            Some(_) => simulate(Arc::clone(&plan), systems, options)?,
            None => {
                let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
                runtime.block_on(run(Arc::clone(&plan), systems, options))?
            }
        };
        let unmet = outcome.verdict.failure().map(|failure| {
            let step = plan.steps.get(failure.step).map_or("", |step| step.id.as_str());
            format!("{}: step {step} does not meet its expectations", plan.title)
        });
        let counted = std::mem::take(&mut *counted.lock());
        Ok((counted, unmet))
    }
}

fn plan(scenario: &Value) -> Result<Plan, BoxError> {
    let scenarios = parse("study", &scenario.to_string())?;
    let scenario = scenarios.first().ok_or("the scenario of the study is empty")?;
    Ok(resolve(scenario)?)
}

impl Run {
    fn count(&mut self, fact: &Fact) {
        if matches!(fact.what, Observation::StepStarted(_)) {
            self.steps.push(Tally {
                began: fact.at(),
                ..Tally::default()
            });
        }
        if let Some(step) = self.steps.last_mut() {
            step.count(fact);
        }
        let Observation::Commit(commit) = &fact.what else {
            return;
        };
        if *commit.resource == *RESOURCE {
            let bytes = commit.object.to_string().len();
            self.largest_object = self.largest_object.max(bytes);
        }
        if *commit.resource == *"events" {
            return;
        }
        let key = (commit.resource.to_string(), commit.name.clone());
        match commit.change {
            Change::Deleted => self.objects.remove(&key),
            _ => self.objects.insert(key, commit.object.clone()),
        };
    }

    /// The counts of a step; all zero if the run ended before the step started.
    pub(super) fn step(&self, step: usize) -> &Tally {
        static NOTHING: LazyLock<Tally> = LazyLock::new(Tally::default);
        self.steps.get(step).unwrap_or(&NOTHING)
    }

    /// Size of each existing object by resource, in bytes of JSON without metadata, which varies between runs.
    pub(super) fn bytes(&self) -> BTreeMap<String, Vec<usize>> {
        let mut bytes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for ((resource, _), object) in &self.objects {
            let mut object = Value::clone(object);
            if let Some(fields) = object.as_object_mut() {
                fields.remove("metadata");
            }
            bytes
                .entry(resource.clone())
                .or_default()
                .push(object.to_string().len());
        }
        bytes
    }

    /// Size of the largest capacity object with metadata, in bytes of JSON.
    pub(super) fn largest_object(&self) -> usize {
        self.largest_object
    }

    /// An object of a resource that exists at the end of the run.
    pub(super) fn object(&self, resource: &str) -> Option<&Value> {
        let mut objects = self.objects.iter();
        let (_, object) = objects.find(|((of, _), _)| of == resource)?;
        Some(object)
    }
}

impl Tally {
    fn count(&mut self, fact: &Fact) {
        self.took = fact.at().saturating_sub(self.began);
        match &fact.what {
            Observation::Request(request) => {
                let client = request.client.split('@').next().unwrap_or_default();
                let key = (client.to_owned(), request.verb.as_str(), request.resource.clone());
                *self.requests.entry(key).or_default() += 1;
            }
            Observation::Commit(commit) => {
                let key = (commit.change.verb(), commit.resource.to_string());
                *self.commits.entry(key).or_default() += 1;
                if *commit.resource == *"pods" {
                    let first = *self.first_pod.get_or_insert(fact.at());
                    let is_placed = commit.object["spec"]["nodeName"].is_string();
                    if is_placed && self.placed.insert(commit.name.clone()) {
                        self.placements
                            .push(fact.at().saturating_sub(first).as_secs_f64());
                    }
                }
            }
            Observation::Call(call) => {
                *self.calls.entry(call.method).or_default() += 1;
                if call.code != "OK" {
                    *self.rejected.entry(call.method).or_default() += 1;
                }
            }
            Observation::Extender(_) => self.extender_calls += 1,
            Observation::Delivery(delivery) => {
                let key = (delivery.client.to_string(), delivery.resource.to_string());
                *self.deliveries.entry(key).or_default() += 1;
            }
            _ => {}
        }
    }

    /// Number of changes of capacity objects of one kind (`create`, `update` or `delete`).
    pub(super) fn objects(&self, change: &str) -> usize {
        let key = |(kind, resource): &(&str, String)| *kind == change && resource == RESOURCE;
        let of_kind = self.commits.iter().filter(|(it, _)| key(it));
        of_kind.map(|(_, count)| count).sum()
    }

    /// Number of all changes of capacity objects in the step.
    pub(super) fn writes(&self) -> usize {
        ["create", "update", "delete"]
            .map(|change| self.objects(change))
            .iter()
            .sum()
    }

    pub(super) fn calls(&self, method: CsiMethod) -> usize {
        self.calls.get(&method).copied().unwrap_or_default()
    }

    pub(super) fn rejected(&self, method: CsiMethod) -> usize {
        self.rejected.get(&method).copied().unwrap_or_default()
    }

    pub(super) fn requests_of_client(&self, client: &str) -> usize {
        let of_client = self.requests.iter().filter(|((by, _, _), _)| by == client);
        of_client.map(|(_, count)| count).sum()
    }

    /// Number of a client's requests with this verb, for one resource or, if `resource` is empty, for all.
    pub(super) fn count_requests(&self, client: &str, verb: &str, resource: &str) -> usize {
        let matches = |(by, how, what): &(String, &str, String)| {
            by == client && *how == verb && (resource.is_empty() || what == resource)
        };
        let matching = self.requests.iter().filter(|(key, _)| matches(key));
        matching.map(|(_, count)| count).sum()
    }
}
