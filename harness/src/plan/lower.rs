//! From a [`Scenario`] to a [`Plan`]: names become objects, and a name that nothing defines is an error with its place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fake_apiserver::Release;
use serde_json::{Value, json};

use super::{
    Action, DriverPlan, Effect, Plan, PoolPlan, Script, Step, Target, WORKLOADS, bound, expect, fault,
    objects, raw_bytes,
};
use crate::scenario::{
    ActionSpec, CapacityAction, CapacitySpec, ClaimSpec, ClassAction, ClusterSpec, DeleteAction,
    DriverAction, FaultSpec, MergeSpec, Mode, NodeAction, NodeSpec, PodSpec, PoolSpec, ReleaseSpec, Role,
    Scenario, ScenarioError, ScriptSpec, Short, Spanned, StepSpec,
};
use crate::segment::{Segment, Segments};

/// Resolves a scenario.
pub fn lower(scenario: &Scenario) -> Result<Plan, ScenarioError> {
    let cluster = &scenario.file.cluster;
    let driver = &cluster.driver.name;
    let keys = cluster
        .driver
        .topology_keys
        .clone()
        .unwrap_or_else(|| vec![format!("{driver}/node")]);
    let mut lowering = Lowering {
        cluster,
        segments: Segments::new(keys),
        classes: BTreeMap::new(),
        nodes: BTreeMap::new(),
        by_hand: 0,
        faults: BTreeSet::new(),
        release: cluster.release,
    };
    let whole = |message: String| ScenarioError::whole(Path::new(&scenario.source), message);
    let roles = roles(cluster, &scenario.id);
    let objects = lowering.initial_objects().map_err(whole)?;
    let pools = lowering.pools().map_err(whole)?;
    let driver_nodes = lowering.driver_nodes();
    let orphan_after = bound::duration(cluster.orphan_after.as_deref().unwrap_or("200ms")).map_err(whole)?;
    let mut steps = Vec::new();
    let mut step_ids = BTreeSet::new();
    let polls = roles.contains(&Role::Publisher);
    for spec in &scenario.file.steps {
        if !step_ids.insert(spec.value.id.clone()) {
            let message = format!("step `{}` appears twice; step ids must be unique", spec.value.id);
            return Err(scenario.error(spec.defined, message));
        }
        steps.push(lowering.step(spec, scenario, polls)?);
    }
    if steps.is_empty() {
        return Err(whole(
            "the case has no steps, so nothing could fail; add one".to_owned(),
        ));
    }
    Ok(Plan {
        scenario: scenario.clone(),
        release: cluster.release,
        gates: cluster.gates.clone(),
        roles,
        mode: cluster.mode,
        publisher: cluster.publisher,
        scheduler: cluster.scheduler.clone(),
        orphan_after,
        driver: DriverPlan {
            name: driver.clone(),
            get_capacity: cluster.driver.get_capacity,
            costs: cluster
                .driver
                .costs
                .iter()
                .map(|c| (c.parameter.clone(), c.value.clone(), c.factor))
                .collect(),
            pools,
        },
        objects,
        driver_nodes,
        class_parameters: lowering.classes,
        segments: lowering.segments,
        steps,
    })
}

/// The roles that run: as the case says, or as its id does.
fn roles(cluster: &ClusterSpec, id: &str) -> Vec<Role> {
    if let Some(roles) = &cluster.roles {
        return roles.clone();
    }
    match id.split('/').next() {
        Some("publisher") => vec![Role::Publisher],
        Some("scheduler") => vec![Role::Scheduler],
        Some("cleaner") => vec![Role::Publisher, Role::Cleaner],
        _ => vec![Role::Publisher, Role::Scheduler],
    }
}

struct Lowering<'s> {
    cluster: &'s ClusterSpec,
    segments: Segments,
    /// Parameters of every class seen so far.
    classes: BTreeMap<String, BTreeMap<String, String>>,
    /// Labels of every node seen so far.
    nodes: BTreeMap<String, BTreeMap<String, String>>,
    /// Number of objects created by hand so far, for their names.
    by_hand: usize,
    /// Names of all faults so far.
    faults: BTreeSet<String>,
    /// The release of the API server by then.
    release: Release,
}

impl Lowering<'_> {
    fn driver(&self) -> &str {
        &self.cluster.driver.name
    }

    fn initial_objects(&mut self) -> Result<Vec<Value>, String> {
        let mut list = vec![
            objects::namespace(super::NAMESPACE),
            objects::namespace(WORKLOADS),
        ];
        for node in &self.cluster.nodes {
            list.extend(self.node(node));
        }
        if self.cluster.driver.object {
            list.push(objects::csi_driver(
                self.driver(),
                self.cluster.driver.storage_capacity,
            ));
        }
        for class in &self.cluster.classes {
            list.push(self.class(class));
        }
        for spec in &self.cluster.capacities {
            list.push(self.capacity(spec)?);
        }
        list.extend(self.cluster.volumes.iter().map(objects::volume));
        list.extend(self.cluster.objects.iter().cloned());
        Ok(list)
    }

    /// The Node and the CSINode.
    fn node(&mut self, spec: &NodeSpec) -> [Value; 2] {
        let labels = objects::node_labels(spec, &self.segments);
        let keys = spec.driver.then(|| self.segments.keys());
        let list = [
            objects::node(&spec.name, &labels),
            objects::csi_node(self.driver(), &spec.name, keys),
        ];
        self.nodes.insert(spec.name.clone(), labels);
        list
    }

    fn class(&mut self, spec: &crate::scenario::ClassSpec) -> Value {
        self.classes.insert(spec.name.clone(), spec.parameters.clone());
        objects::storage_class(spec, self.driver())
    }

    fn capacity(&mut self, spec: &CapacitySpec) -> Result<Value, String> {
        if spec.segment.is_some() && spec.topology.is_some() {
            return Err("a capacity has either `segment` or `topology`; remove one".to_owned());
        }
        let segment = spec
            .segment
            .as_deref()
            .map(|text| self.segments.parse(text))
            .transpose()?;
        self.by_hand += 1;
        Ok(objects::capacity(
            spec,
            self.driver(),
            segment.as_ref(),
            self.by_hand,
        ))
    }

    fn pools(&self) -> Result<Vec<(Segment, PoolPlan)>, String> {
        let pool = |(text, spec): (&String, &Short<PoolSpec>)| Ok((self.segments.parse(text)?, pool(spec)?));
        self.cluster.backend.iter().map(pool).collect()
    }

    fn driver_nodes(&self) -> Vec<(String, Segment)> {
        let runs = |node: &&Short<NodeSpec>| node.driver;
        let with_segment = |node: &Short<NodeSpec>| {
            Some((node.name.clone(), self.segments.of_node(&self.nodes[&node.name])?))
        };
        self.cluster
            .nodes
            .iter()
            .filter(runs)
            .filter_map(with_segment)
            .collect()
    }

    fn step(
        &mut self,
        spec: &Spanned<StepSpec>,
        scenario: &Scenario,
        polls: bool,
    ) -> Result<Step, ScenarioError> {
        let mut actions = Vec::new();
        for action in &spec.value.actions {
            let lowered = self
                .action(&action.value)
                .map_err(|message| scenario.error(action.defined, message))?;
            actions.extend(lowered);
        }
        let mut expectations = Vec::new();
        for item in &spec.value.expect {
            let lowered = expect::expect(&item.value, item.defined.line(), &self.segments, polls)
                .and_then(|lowered| self.check(lowered))
                .map_err(|message| scenario.error(item.defined, message))?;
            expectations.push(lowered);
        }
        if expectations.is_empty() {
            let message = format!(
                "step `{}` expects nothing, so it could not fail; add `expect`",
                spec.value.id
            );
            return Err(scenario.error(spec.defined, message));
        }
        let (id, line) = (spec.value.id.clone(), spec.defined.line());
        Ok(Step {
            id,
            line,
            actions,
            expect: expectations,
        })
    }

    /// Names in expectations must be defined by then: a typing error must not pass as "absent".
    fn check(&self, expect: super::Expect) -> Result<super::Expect, String> {
        match &expect.predicate {
            super::Predicate::Capacities(rows) => {
                if let Some((class, _)) = rows.keys().find(|(class, _)| !self.classes.contains_key(class)) {
                    return Err(format!(
                        "class `{class}` is not defined; classes: {}",
                        names(&self.classes)
                    ));
                }
            }
            super::Predicate::Placement(pods) => {
                for place in pods.values() {
                    let super::Place::On(nodes) = place else { continue };
                    if let Some(node) = nodes.iter().find(|node| !self.nodes.contains_key(*node)) {
                        return Err(format!(
                            "node `{node}` is not defined; nodes: {}",
                            names(&self.nodes)
                        ));
                    }
                }
            }
            _ => {}
        }
        Ok(expect)
    }

    fn action(&mut self, spec: &ActionSpec) -> Result<Vec<(Action, String)>, String> {
        match spec {
            ActionSpec::Backend(pools) => self.backend(pools),
            ActionSpec::Node(action) => self.node_action(action),
            ActionSpec::Class(action) => Ok(self.class_action(action)),
            ActionSpec::Driver(action) => Ok(self.driver_action(*action)),
            ActionSpec::Pod(spec) => pod(spec),
            ActionSpec::Claim(spec) => {
                let name = spec.name.clone().ok_or("a claim of its own needs a `name`")?;
                Ok(vec![create(
                    objects::claim(&name, complete(spec)?),
                    "claim",
                    &name,
                )])
            }
            ActionSpec::Capacity(action) => self.capacity_action(action),
            ActionSpec::Delete(action) => Ok(vec![delete(action)]),
            ActionSpec::Csi(spec) => self.script(spec),
            ActionSpec::Stop(role) => Ok(vec![(Action::Stop(*role), format!("stop the {}", role.as_str()))]),
            ActionSpec::Start(role) => Ok(vec![(
                Action::Start(*role),
                format!("start the {}", role.as_str()),
            )]),
            ActionSpec::Fault(spec) => self.fault(spec),
            ActionSpec::Unfault(id) => self.unfault(id),
            ActionSpec::Release(spec) => Ok(vec![self.release(spec)]),
            ActionSpec::Merge(spec) => Ok(vec![merge(spec)]),
            ActionSpec::Attempt(inner) => {
                let attempted =
                    |(action, note)| (Action::Attempt(Box::new(action)), format!("attempt: {note}"));
                Ok(self.action(inner)?.into_iter().map(attempted).collect())
            }
        }
    }

    fn fault(&mut self, spec: &FaultSpec) -> Result<Vec<(Action, String)>, String> {
        let rule = fault::rule(spec)?;
        let nameless = self.faults.len() + 1;
        let id = spec.id.clone().unwrap_or_else(|| format!("fault {nameless}"));
        if !self.faults.insert(id.clone()) {
            return Err(format!("fault `{id}` was used before; give it another `id`"));
        }
        let kills = spec.kill;
        let then = if kills {
            ", and whoever meets it is killed"
        } else {
            ""
        };
        let note = format!("fault: {} is {}{then}", spec.api, rule.effect);
        Ok(vec![(Action::Fault { id, rule, kills }, note)])
    }

    fn release(&mut self, spec: &ReleaseSpec) -> (Action, String) {
        self.release = spec.to.unwrap_or(self.release);
        let mut note = format!("the API server is now {}", self.release);
        for (gate, on) in &spec.gates {
            note.push_str(&format!(", {gate}={on}"));
        }
        (Action::Release(self.release, spec.gates.clone()), note)
    }

    fn unfault(&mut self, id: &str) -> Result<Vec<(Action, String)>, String> {
        if !self.faults.contains(id) {
            return Err(format!("there was no fault `{id}`; name one by its `id`"));
        }
        Ok(vec![(
            Action::Unfault(id.to_owned()),
            format!("fault {id} is over"),
        )])
    }

    fn backend(
        &self,
        pools: &BTreeMap<String, Option<Short<PoolSpec>>>,
    ) -> Result<Vec<(Action, String)>, String> {
        let change = |(text, spec): (&String, &Option<Short<PoolSpec>>)| {
            let segment = self.segments.parse(text)?;
            let (plan, note) = match spec {
                Some(spec) => (
                    Some(pool(spec)?),
                    format!("backend {text} is now {}", spec.capacity),
                ),
                None => (None, format!("backend {text} is gone")),
            };
            Ok((Action::Pool(segment, plan), note))
        };
        pools.iter().map(change).collect()
    }

    fn node_action(&mut self, action: &NodeAction) -> Result<Vec<(Action, String)>, String> {
        Ok(match action {
            NodeAction::Join(spec) => {
                let [node, csi_node] = self.node(spec);
                let mut list = vec![create(node, "node", &spec.name)];
                if let Some(segment) = self.driver_segment(spec) {
                    list.push((
                        Action::DriverUp(spec.name.clone(), segment),
                        format!("driver up on {}", spec.name),
                    ));
                }
                list.push(create(csi_node, "CSINode", &spec.name));
                list
            }
            NodeAction::Leave(name) => {
                self.known_node(name)?;
                vec![
                    (Action::DriverDown(name.clone()), format!("driver down on {name}")),
                    (
                        Action::Delete(cluster_wide("csinodes", name)),
                        format!("delete CSINode {name}"),
                    ),
                    (
                        Action::Delete(cluster_wide("nodes", name)),
                        format!("delete node {name}"),
                    ),
                ]
            }
            NodeAction::Relabel { name, labels } => {
                self.known_node(name)?;
                let merge = json!({"metadata": {"labels": labels}});
                vec![(
                    Action::Merge(cluster_wide("nodes", name), merge),
                    format!("relabel node {name}"),
                )]
            }
            NodeAction::Register(name) => {
                self.known_node(name)?;
                let keys = Some(self.segments.keys().to_vec());
                vec![(
                    Action::Registration(name.clone(), keys),
                    format!("register the driver in CSINode {name}"),
                )]
            }
            NodeAction::Unregister(name) => {
                self.known_node(name)?;
                vec![(
                    Action::Registration(name.clone(), None),
                    format!("unregister the driver from CSINode {name}"),
                )]
            }
        })
    }

    fn known_node(&self, name: &str) -> Result<(), String> {
        match self.nodes.contains_key(name) {
            true => Ok(()),
            false => Err(format!(
                "node `{name}` is not defined; nodes: {}",
                names(&self.nodes)
            )),
        }
    }

    fn driver_segment(&self, spec: &NodeSpec) -> Option<Segment> {
        if !spec.driver {
            return None;
        }
        self.segments.of_node(&self.nodes[&spec.name])
    }

    fn class_action(&mut self, action: &ClassAction) -> Vec<(Action, String)> {
        match action {
            ClassAction::Create(spec) => vec![create(self.class(spec), "class", &spec.name)],
            ClassAction::Delete(name) => {
                vec![(
                    Action::Delete(cluster_wide("storageclasses", name)),
                    format!("delete class {name}"),
                )]
            }
        }
    }

    fn driver_action(&self, action: DriverAction) -> Vec<(Action, String)> {
        let name = self.driver();
        let target = cluster_wide("csidrivers", name);
        vec![match action {
            DriverAction::StorageCapacity(on) => {
                let merge = json!({"spec": {"storageCapacity": on}});
                (
                    Action::Merge(target, merge),
                    format!("CSIDriver {name}: storageCapacity {on}"),
                )
            }
            DriverAction::Delete => (Action::Delete(target), format!("delete CSIDriver {name}")),
            DriverAction::Create(on) => create(objects::csi_driver(name, on), "CSIDriver", name),
        }]
    }

    fn capacity_action(&mut self, action: &CapacityAction) -> Result<Vec<(Action, String)>, String> {
        let target = |lowering: &Self, class: &str, segment: &str| {
            let segment = lowering.segments.spell(&lowering.segments.parse(segment)?);
            Ok::<_, String>(Target::Capacity {
                class: class.to_owned(),
                segment,
            })
        };
        Ok(vec![match action {
            CapacityAction::Create(spec) => {
                let note = format!("by hand: capacity for class {}", spec.class);
                (Action::Create(self.capacity(spec)?), note)
            }
            CapacityAction::Edit {
                class,
                segment,
                merge,
            } => {
                let note = format!("by hand: edit capacity of class {class}, segment {segment}: {merge}");
                (Action::Merge(target(self, class, segment)?, merge.clone()), note)
            }
            CapacityAction::Delete { class, segment } => {
                let note = format!("by hand: delete capacity of class {class}, segment {segment}");
                (Action::Delete(target(self, class, segment)?), note)
            }
        }])
    }

    fn script(&self, spec: &ScriptSpec) -> Result<Vec<(Action, String)>, String> {
        let parameters = match &spec.class {
            Some(class) => self.classes.get(class).cloned().ok_or_else(|| {
                format!(
                    "class `{class}` is not defined; classes: {}",
                    names(&self.classes)
                )
            })?,
            None => BTreeMap::new(),
        };
        let segment = spec
            .segment
            .as_deref()
            .map(|text| self.segments.parse(text))
            .transpose()?;
        let effect = effect(spec)?;
        let note = format!("driver script: {} {effect:?}", spec.method);
        let (method, skip, times) = (spec.method.clone(), spec.skip, spec.times);
        Ok(vec![(
            Action::Script(Script {
                method,
                segment,
                parameters,
                skip,
                times,
                effect,
            }),
            note,
        )])
    }
}

fn pool(spec: &PoolSpec) -> Result<PoolPlan, String> {
    let largest = spec.largest.as_ref().map(raw_bytes).transpose()?;
    Ok(PoolPlan {
        capacity: raw_bytes(&spec.capacity)?,
        largest,
    })
}

fn names<T>(map: &BTreeMap<String, T>) -> String {
    map.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn create(object: Value, kind: &str, name: &str) -> (Action, String) {
    (Action::Create(object), format!("create {kind} {name}"))
}

fn merge(spec: &MergeSpec) -> (Action, String) {
    let target = Target::Named {
        resource: spec.resource.clone(),
        namespace: spec.namespace.clone(),
        name: spec.name.clone(),
    };
    let note = format!("change {} {}: {}", spec.resource, spec.name, spec.merge);
    (Action::Merge(target, spec.merge.clone()), note)
}

fn cluster_wide(resource: &str, name: &str) -> Target {
    Target::Named {
        resource: resource.to_owned(),
        namespace: None,
        name: name.to_owned(),
    }
}

fn delete(action: &DeleteAction) -> (Action, String) {
    let (resource, name) = match action {
        DeleteAction::Pod(name) => ("pods", name),
        DeleteAction::Claim(name) => ("persistentvolumeclaims", name),
    };
    let target = Target::Named {
        resource: resource.to_owned(),
        namespace: Some(WORKLOADS.to_owned()),
        name: name.clone(),
    };
    (Action::Delete(target), format!("delete {resource} {name}"))
}

/// The pod and the claims that it brings along; claims first, as users do.
fn pod(spec: &PodSpec) -> Result<Vec<(Action, String)>, String> {
    let mut list = Vec::new();
    let mut mounted = Vec::new();
    for (index, claim) in spec.claims.iter().enumerate() {
        let name = claim
            .name
            .clone()
            .unwrap_or_else(|| format!("{}-{index}", spec.name));
        if claim.class.is_some() || claim.size.is_some() {
            list.push(create(objects::claim(&name, complete(claim)?), "claim", &name));
        } else if claim.name.is_none() {
            return Err("a claim of a pod has either a `name` that exists, or `class` and `size`".to_owned());
        }
        mounted.push(name);
    }
    for claim in &spec.ephemeral {
        complete(claim)?;
    }
    list.push(create(objects::pod(spec, &mounted), "pod", &spec.name));
    Ok(list)
}

/// A claim that can be created.
fn complete(spec: &ClaimSpec) -> Result<&ClaimSpec, String> {
    match (&spec.class, &spec.size) {
        (Some(_), Some(_)) => Ok(spec),
        _ => Err("a claim needs `class` and `size`".to_owned()),
    }
}

/// gRPC codes by their number.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

fn effect(spec: &ScriptSpec) -> Result<Effect, String> {
    let code = |name: &String| {
        let number = CODES
            .iter()
            .position(|code| code == name)
            .filter(|number| *number > 0);
        let number = number
            .ok_or_else(|| format!("`{name}` is no gRPC error code; codes: {}", CODES[1..].join(", ")))?;
        Ok::<_, String>(Effect::Code(i32::try_from(number).unwrap_or_default()))
    };
    let candidates = [
        spec.code.as_ref().map(code),
        spec.delay
            .as_ref()
            .map(|text| expect::delay(text).map(Effect::Delay)),
        spec.hang.then_some(Ok(Effect::Hang)),
        spec.available.map(|available| {
            Ok(Effect::Answer {
                available,
                maximum: spec.maximum,
            })
        }),
    ];
    let mut given = candidates.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(effect), None) => effect,
        _ => Err("a script has exactly one of `code`, `delay`, `hang`, `available`".to_owned()),
    }
}

/// Whether a case can be run at all in a mode; kept beside the other checks of a plan.
impl Plan {
    /// Whether each node has a publisher of its own.
    pub fn is_distributed(&self) -> bool {
        self.mode == Mode::Distributed
    }
}
