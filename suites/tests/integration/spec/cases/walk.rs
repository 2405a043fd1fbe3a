//! Simulates one case step by step on the cluster state of the specification: actions of the case, and reactions of correct programs.

use std::collections::{BTreeMap, BTreeSet};

use capacity_spec::placement::{Decision, IndexedWorld};
use capacity_spec::world::{Api, NamespacedName, Release};
use capacity_types::Segment;
use serde_json::Value;
use suites::harness::expectation::{Expect, ExpectedNode, Predicate};
use suites::harness::plan::{Action, NAMESPACE, Plan, Step};
use suites::harness::scenario::Role;

use super::actions::scheduler;
use super::cluster::Cluster;
use super::compare::{self, Compared};
use super::plugin::Plugin;
use super::skip_reason::SkipReason;

/// The simulated cluster of a case, and the reasons for skipping later expectations.
pub(crate) struct CaseSimulation<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) cluster: Cluster,
    pub(crate) plugin: Plugin,
    pub(crate) active: BTreeSet<Role>,
    /// Nodes on which a publisher runs in distributed mode, with their segments.
    pub(crate) endpoints: BTreeMap<String, Segment>,
    /// Ids of active faults that end only when an action removes them.
    pub(crate) faults: BTreeSet<String>,
    /// Why all later expectations are skipped; `None` if they are compared with the specification.
    pub(crate) lost: Option<SkipReason>,
    /// Why expectations on placements are skipped; `None` if they are compared. Decisions that were made earlier are still compared.
    pub(crate) stuck: Option<SkipReason>,
    /// For each pod, the nodes that the specification allows, or the reason why the nodes are not determined.
    pub(crate) decided: BTreeMap<NamespacedName, Result<BTreeSet<String>, SkipReason>>,
}

/// Compares all expectations of a case on capacities and placement with the specification. Each result has the position of the
/// expectation.
pub(crate) async fn walk(plan: &Plan) -> Vec<(String, Compared)> {
    let mut walk = CaseSimulation::new(plan).await;
    let mut compared = Vec::new();
    for step in &plan.steps {
        walk.step(step).await;
        for (at, expect) in step.expect.iter().enumerate() {
            let name = format!("{} step {} expectation {}", plan.id(), step.id, at + 1);
            for one in walk.compare(expect) {
                compared.push((name.clone(), one));
            }
        }
    }
    compared
}

impl<'p> CaseSimulation<'p> {
    async fn new(plan: &'p Plan) -> Self {
        let mut walk = CaseSimulation {
            plan,
            cluster: Cluster::default(),
            plugin: Plugin::start(plan).await,
            active: plan.roles.iter().copied().collect(),
            endpoints: plan.driver_nodes.iter().cloned().collect(),
            faults: BTreeSet::new(),
            lost: None,
            stuck: None,
            decided: BTreeMap::new(),
        };
        if !plan.extenders.is_empty() {
            walk.lost = Some(SkipReason::Extender);
        }
        if !plan.grants.is_empty() {
            walk.lost = Some(SkipReason::Permissions);
        }
        let gate = plan.gates.get("CSIStorageCapacity").copied();
        walk.cluster.world.api = Api {
            release: Release::new(plan.release.minor()),
            gate,
        };
        walk.cluster.world.scheduler = scheduler(&plan.scheduler);
        for object in &plan.objects {
            walk.cluster.create(object);
        }
        walk.update_programs();
        walk.bind_immediate_claims().await;
        walk.reconcile().await;
        walk
    }

    async fn step(&mut self, step: &Step) {
        let mut late: BTreeSet<NamespacedName> = BTreeSet::new();
        for (action, _) in &step.actions {
            self.apply_action(action).await;
            self.update_programs();
            let is_of_pods = matches!(action, Action::Create(object) if is_of_pods(object));
            if !is_of_pods {
                // The pods that are pending at this moment may be scheduled before or after the action.
                late.extend(self.pending());
            }
        }
        self.bind_immediate_claims().await;
        let before = self.decisions();
        self.call_plugin().await;
        let unsettled = self.cluster.world.objects.clone();
        self.reconcile().await;
        let mut after = self.decisions();
        let is_moved = unsettled != self.cluster.world.objects;
        for (pod, nodes) in &mut after {
            let seen_before = before.get(pod);
            if (is_moved || late.contains(pod))
                && seen_before.is_some_and(|it| it != nodes)
                && self.is_new(pod)
            {
                *nodes = Err(SkipReason::Race);
            }
        }
        self.place(step, after).await;
    }

    /// Whether no scheduling decision on the pod was made before this step.
    fn is_new(&self, pod: &NamespacedName) -> bool {
        !self.decided.contains_key(pod)
    }

    fn pending(&self) -> Vec<NamespacedName> {
        let pods = self.cluster.world.pods.iter();
        let open = pods.filter(|(key, pod)| pod.node.is_none() && key.namespace != NAMESPACE);
        open.map(|(key, _)| key.clone()).collect()
    }

    /// For each pending pod, the nodes that the specification allows.
    fn decisions(&self) -> BTreeMap<NamespacedName, Result<BTreeSet<String>, SkipReason>> {
        let view = IndexedWorld::new(&self.cluster.world);
        let decided = |pod: NamespacedName| {
            let decision: Decision = view.decide(&pod);
            let best = decision.best().into_iter().map(str::to_owned).collect();
            (pod, Ok(best))
        };
        self.pending().into_iter().map(decided).collect()
    }

    /// Compares an expectation on capacities (one result) or on placement (one result per pod). Returns no result for other expectations.
    fn compare(&self, expect: &Expect) -> Vec<Compared> {
        let is_about = matches!(
            expect.predicate,
            Predicate::Capacities(_) | Predicate::Placement(_)
        );
        if !is_about {
            return Vec::new();
        }
        if let Some(why) = self.lost {
            return vec![Compared::Skipped(why)];
        }
        if expect.always && expect.hold.is_some() {
            return vec![Compared::Skipped(SkipReason::TransientState)];
        }
        let fails = (!self.faults.is_empty()).then_some(SkipReason::Fault);
        match &expect.predicate {
            Predicate::Capacities(capacities) => vec![match self.stuck.or(fails) {
                Some(why) => Compared::Skipped(why),
                None => compare::compare_capacities(self.plan, &self.cluster.world, &capacities.0),
            }],
            Predicate::Placement(pods) => {
                let of_pod = |(pod, place): (&String, &ExpectedNode)| self.compare_pod(pod, place);
                pods.0.iter().map(of_pod).collect()
            }
            _ => Vec::new(),
        }
    }

    fn compare_pod(&self, pod: &str, place: &ExpectedNode) -> Compared {
        if !self.plan.scheduler.bug_compatible.is_empty() {
            return Compared::Skipped(SkipReason::Deviation);
        }
        match self.decided.get(&NamespacedName::new("default", pod)) {
            None => Compared::Skipped(SkipReason::Stopped),
            Some(Err(why)) => Compared::Skipped(*why),
            Some(Ok(nodes)) => match compare::placement(nodes, place) {
                None => Compared::Agrees(BTreeSet::new()),
                Some(text) => Compared::Differs(format!("pod {pod}: {text}")),
            },
        }
    }
}

fn is_of_pods(object: &Value) -> bool {
    object["kind"] == "Pod" || object["kind"] == "PersistentVolumeClaim"
}
