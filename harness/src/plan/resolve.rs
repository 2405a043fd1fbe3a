//! Resolves a [`Scenario`] to a [`Plan`]: names become objects, and an undefined name is an error with its file position.
//!
//! `steps` resolves the actions and expectations of a step.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use capacity_spec::RULES;
use capacity_types::Segment;
use capacity_types::segment::contains;
use fake_csi::{Snapshot, SpecVersion, Storage};
use serde_json::Value;

use super::callers::Callers;
use super::cluster_names::ClusterNames;
use super::defined_names::DefinedNames;
use super::dry_run::DryRun;
use super::scope::Scope;
use super::{
    Case, DriverPlan, Plan, Step, WORKLOADS, backend, default_maximum, feature, grants, metrics, modelled,
    objects, settings,
};
use crate::renamed::{self, Context};
use crate::scenario::{ClusterSpec, NodeSpec, Role, Scenario, ScenarioError, Short, SnapshotSpec, Spanned};
use crate::segment::Segments;

/// gRPC code that CSI uses for insufficient capacity.
const RESOURCE_EXHAUSTED: i32 = 8;

/// Default for how long a driver must be absent from a node before the cleaner deletes the CSIStorageCapacity objects of that node.
const ORPHAN_AFTER: Duration = Duration::from_millis(200);

/// Resolves a scenario that runs as a case and has a verdict.
pub fn resolve(scenario: &Scenario) -> Result<Plan, ScenarioError> {
    let plan = resolve_cluster(scenario)?;
    if plan.steps.is_empty() {
        let message = "the case has no steps, so nothing could fail; add a step";
        return Err(ScenarioError::whole(Path::new(&scenario.source), message));
    }
    Ok(plan)
}

/// Resolves a scenario that runs as a long-lived cluster. Steps are optional.
pub fn resolve_cluster(scenario: &Scenario) -> Result<Plan, ScenarioError> {
    let mut cluster = scenario.file.cluster.clone();
    let external = scenario.file.external_driver.as_ref();
    let mut roles = roles(&cluster, &scenario.id);
    let mut sets_maximum = false;
    if let Some(external) = external {
        if !roles.contains(&Role::Driver) {
            let checked = external.check_replacement(&cluster, &scenario.text);
            checked.map_err(|message| ScenarioError::whole(Path::new(&scenario.source), message))?;
            roles.push(Role::Driver);
            sets_maximum = external.reports_maximum;
        }
        external.replace_built_in_driver(&mut cluster);
    }
    let values = external
        .map(|external| external.topology.clone())
        .unwrap_or_default();
    let cluster = &cluster;
    let driver = &cluster.driver.name;
    let keys = cluster
        .driver
        .topology_keys
        .clone()
        .unwrap_or_else(|| vec![format!("{driver}/node")]);
    let segments = Segments::with_values(keys, values);
    let mut scope = Scope {
        cluster,
        roles: roles.clone(),
        callers: Callers::of(&roles, cluster.mode),
        cluster_names: ClusterNames::of(cluster, &segments),
        segments,
        classes: BTreeMap::new(),
        needed_parameters: external
            .map(|external| external.parameters.clone())
            .unwrap_or_default(),
        nodes: BTreeMap::new(),
        capacity_objects_created: 0,
        faults: BTreeSet::new(),
        driver_faults: BTreeSet::new(),
        reservations: BTreeSet::new(),
        responses: BTreeSet::new(),
        defined: DefinedNames::of(cluster),
        is_unregistered: false,
        release: cluster.release,
        gates: cluster.gates.clone(),
        dry_run: DryRun::default(),
        has_capacities: !cluster.capacity_objects.is_empty(),
    };
    scope.register_later_names(scenario);
    scope.set_release_and_gates(cluster.release, &cluster.gates);
    scope.defined.add_parameters(scope.needed_parameters.clone());
    let of = |path: &'static [&'static str]| move |message: String| scenario.error_in_cluster(path, message);
    let mut objects = scope.initial_objects().map_err(of(&[]))?;
    for object in &cluster.objects {
        let accepted = scope.check_accepted(&object.value);
        accepted.map_err(|message| scenario.error(object.defined, message))?;
        objects.push(object.value.clone());
    }
    objects.extend(grants::objects(&cluster.grants));
    objects.iter().for_each(|object| scope.defined.add_object(object));
    let pools = scope.pools(scenario)?;
    let snapshots = scope.snapshots().map_err(of(&["driver", "snapshots"]))?;
    let driver_nodes = scope.driver_nodes();
    check_extenders(cluster).map_err(of(&["extenders"]))?;
    settings::check_owner_level(cluster.publisher, cluster.mode).map_err(of(&["publisher", "ownerLevel"]))?;
    grants::check(&cluster.grants).map_err(of(&["grants"]))?;
    let mut steps = Vec::new();
    let mut step_ids = BTreeSet::new();
    let polls = roles.contains(&Role::Publisher) && cluster.publisher.polls;
    if let Some(cost) = cluster.driver.costs.iter().find(|cost| cost.factor == 0) {
        return Err(of(&["driver", "costs"])(format!(
            "`costs`: the factor of {}={} is 0, so that its volumes would take no storage; write 1 or more, or overcommit \
             a pool with `backend: {{SEGMENT: {{capacity: 10Gi, overcommit: 2}}}}`",
            cost.parameter, cost.value
        )));
    }
    for spec in &scenario.file.steps {
        if !step_ids.insert(spec.value.id.clone()) {
            let message = format!("step `{}` appears twice; step ids must be unique", spec.value.id);
            return Err(scenario.error(spec.defined, message));
        }
        let step = scope.resolve_step(spec, scenario, polls)?;
        // A step without actions tests nothing new if both it and the previous step expect `specification`.
        let before = steps.last().is_some_and(Step::expects_specification);
        let is_repeated = before && step.actions.is_empty() && step.expects_specification();
        steps.extend((!is_repeated).then_some(step));
    }
    let named_features = scenario.file.features.iter();
    let named_features = named_features
        .map(|name| match feature(&name.value) {
            Ok(feature) => Ok(feature.name.to_owned()),
            Err(message) => Err(scenario.error(name.defined, message)),
        })
        .collect::<Result<_, _>>()?;
    let excused_rules = scenario.file.excused_rules.iter();
    let excused_rules = excused_rules
        .map(|id| rule_id(&id.value).map_err(|message| scenario.error(id.defined, message)))
        .collect::<Result<_, _>>()?;
    let case = Case {
        id: scenario.id.clone(),
        title: scenario.file.title.clone(),
        requirements: texts(&scenario.file.requirements),
        level: scenario.file.level,
        beyond: None,
        named_features,
        catches: scenario.file.catches.clone(),
        source: scenario.source.clone(),
        text: scenario.text.clone(),
        release: cluster.release,
        gates: cluster.gates.clone(),
        roles,
        mode: cluster.mode,
        publisher: cluster.publisher,
        scheduler: cluster.scheduler.clone(),
        extenders: cluster.extenders.clone(),
        grants: cluster.grants.clone(),
        excused_rules,
        specified_metrics: metrics::specified_metrics(cluster),
        orphan_after: cluster.orphan_after.unwrap_or(ORPHAN_AFTER),
        driver: DriverPlan {
            name: driver.clone(),
            get_capacity: cluster.driver.get_capacity,
            clone_volume: cluster.driver.clone_volume,
            snapshots,
            mutable_parameters: cluster.driver.mutable_parameters.clone(),
            strict: cluster.driver.strict,
            reports_reserved: cluster.driver.reports_reserved,
            exhausted: RESOURCE_EXHAUSTED,
            varies_by: 0,
            returns_volume_size: true,
            costs: cluster
                .driver
                .costs
                .iter()
                .map(|c| (c.parameter.clone(), c.value.clone(), c.factor))
                .collect(),
            version: cluster.driver.csi_version.unwrap_or(SpecVersion::NEWEST),
            pools,
        },
        objects,
        driver_nodes,
        class_parameters: scope.classes,
        segments: scope.segments,
    };
    let mut plan = Plan { case, steps };
    if let Some(beyond) = &scenario.file.beyond {
        plan.mark_beyond(beyond.clone());
    }
    if sets_maximum && !plan.has_maximum_volume_size() {
        default_maximum::set_maximum_to_capacity(&mut plan);
    }
    let checked = modelled::check(&plan);
    checked.map_err(|(step, message)| {
        let id = &plan.steps[step].id;
        let mut steps = scenario.file.steps.iter();
        let position = steps.find(|step| step.value.id == *id).map(|step| step.defined);
        scenario.error(position.unwrap_or(scenario.file.id.defined), message)
    })?;
    Ok(plan)
}

/// Checks the id of a specification rule, which may have the current or the old spelling.
fn rule_id(id: &str) -> Result<&'static str, String> {
    let id = renamed::current_spelling(&[Context::Rule], id);
    let rule = RULES.iter().find(|rule| rule.id == id);
    rule.map(|rule| rule.id).ok_or_else(|| {
        format!("the specification has no rule `{id}`; copy the id that a failure prints, such as `objects/missing`")
    })
}

/// The texts of a YAML list, without their file positions.
fn texts(list: &[Spanned<String>]) -> Vec<String> {
    list.iter().map(|item| item.value.clone()).collect()
}

/// The roles whose programs run: the roles that the case lists, or the roles that the case id implies.
fn roles(cluster: &ClusterSpec, id: &str) -> Vec<Role> {
    if let Some(roles) = &cluster.roles {
        return roles.clone();
    }
    match id.split('/').next() {
        Some("publisher") => vec![Role::Publisher],
        Some("scheduler") => vec![Role::Scheduler],
        Some("driver") => vec![Role::Driver],
        Some("cleaner") => vec![Role::Publisher, Role::Cleaner],
        _ => vec![Role::Publisher, Role::Scheduler],
    }
}

/// Checks that extenders have unique names and a positive weight, and that at most one extender binds pods.
fn check_extenders(cluster: &ClusterSpec) -> Result<(), String> {
    let (mut names, mut managed) = (BTreeSet::new(), BTreeSet::new());
    for extender in &cluster.extenders {
        if let Some(resource) = extender.resource.as_ref()
            && !managed.insert(resource)
        {
            return Err(format!(
                "extender `{}`: another extender manages `{resource}` already, and kube-scheduler accepts a resource for one extender only",
                extender.name
            ));
        }
        if !names.insert(&extender.name) {
            return Err(format!(
                "duplicate extender `{}`; give it another name",
                extender.name
            ));
        }
        if extender.weight < 1 {
            return Err(format!(
                "extender `{}`: `weight` must be at least 1",
                extender.name
            ));
        }
    }
    match cluster.extenders.iter().filter(|extender| extender.binds).count() {
        0 | 1 => Ok(()),
        count => Err(format!("{count} extenders bind pods; only one may")),
    }
}

impl Scope<'_> {
    fn initial_objects(&mut self) -> Result<Vec<Value>, String> {
        let mut list = vec![
            objects::namespace(super::NAMESPACE),
            objects::namespace(WORKLOADS),
        ];
        for node in &self.cluster.nodes {
            list.extend(self.build_node(node));
        }
        if self.cluster.driver.object {
            list.push(objects::csi_driver(
                self.driver(),
                self.cluster.driver.storage_capacity,
            ));
        }
        for class in &self.cluster.classes {
            list.push(self.build_class(class));
        }
        for spec in &self.cluster.capacity_objects {
            list.push(self.build_capacity(spec)?);
        }
        list.extend(self.cluster.volumes.iter().map(objects::volume));
        Ok(list)
    }

    fn pools(&self, scenario: &Scenario) -> Result<Vec<(Segment, Storage)>, ScenarioError> {
        let mut pools = Vec::new();
        for (text, spec) in &self.cluster.backend {
            let pool = self.segments.parse(text);
            let pool = pool.and_then(|segment| Ok((segment, backend::storage(&spec.value)?)));
            pools.push(pool.map_err(|message| scenario.error(spec.defined, message))?);
        }
        match self.pool_without_nodes(&pools) {
            Some((at, message)) => {
                let position = self.cluster.backend.values().nth(at).map(|spec| spec.defined);
                Err(scenario.error(position.unwrap_or(scenario.file.id.defined), message))
            }
            None => Ok(pools),
        }
    }

    /// Finds a pool that no node can access while some node has no pool, probably because of a typo in the segment. Returns the index of
    /// the pool and the error. A pool without nodes alone is no error, because the rows of a table file share their pools.
    fn pool_without_nodes(&self, pools: &[(Segment, Storage)]) -> Option<(usize, String)> {
        let node_segments: BTreeSet<Segment> = self
            .nodes
            .values()
            .filter_map(|labels| self.segments.segment_of_node(labels))
            .collect();
        // Fast path: the segment of most pools is exactly the segment of one node.
        let is_reached = |pool: &Segment| {
            node_segments.contains(pool) || self.nodes.values().any(|labels| contains(labels, pool))
        };
        let (at, (pool, _)) = pools
            .iter()
            .enumerate()
            .find(|(_, (pool, _))| !is_reached(pool))?;
        let lacks = |labels: &Segment| {
            let is_labelled = self.segments.segment_of_node(labels).is_some();
            is_labelled && !pools.iter().any(|(pool, _)| contains(labels, pool))
        };
        let (node, _) = self.nodes.iter().find(|(_, labels)| lacks(labels))?;
        Some((
            at,
            format!(
                "no node is in segment `{}`, and node `{node}` has no storage; correct the segment",
                self.segments.format(pool)
            ),
        ))
    }

    fn snapshots(&self) -> Result<BTreeMap<String, Snapshot>, String> {
        let snapshot = |(handle, spec): (&String, &SnapshotSpec)| {
            let segment = self.segments.parse(&spec.segment)?;
            self.cluster_names.check_segment(&segment, &self.segments)?;
            let bytes = spec.size.count();
            Ok((handle.clone(), Snapshot { segment, bytes }))
        };
        self.cluster.driver.snapshots.iter().map(snapshot).collect()
    }

    fn driver_nodes(&self) -> Vec<(String, Segment)> {
        let runs = |node: &&Short<NodeSpec>| node.registered;
        let with_segment = |node: &Short<NodeSpec>| {
            Some((
                node.name.clone(),
                self.segments.segment_of_node(&self.nodes[&node.name])?,
            ))
        };
        self.cluster
            .nodes
            .iter()
            .filter(runs)
            .filter_map(with_segment)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::Action;
    use crate::scenario::parse;

    fn resolved(id: &str, cluster: &Value, steps: &Value) -> Result<Plan, String> {
        let text = json!({"id": id, "title": "t", "cluster": cluster, "steps": steps}).to_string();
        let plan = parse("case.yaml", &text).and_then(|cases| resolve(&cases[0]));
        plan.map_err(|error| error.to_string())
    }

    fn cluster() -> Value {
        json!({"nodes": ["n1"], "classes": ["fast"], "backend": {"n1": "5Gi"}})
    }

    fn step_with_expectation(expect: &Value) -> Value {
        let pod = json!({"pod": {"name": "app", "claims": [{"class": "fast", "size": "1Gi"}]}});
        json!([{"id": "a", "do": [pod], "expect": [expect]}])
    }

    #[test]
    fn roles_default_to_those_of_the_id() {
        let steps = step_with_expectation(&json!({"placement": {"app": "n1"}, "why": "w"}));
        let roles = |id: &str, roles: &Value| {
            let mut cluster = cluster();
            cluster["roles"] = roles.clone();
            resolved(id, &cluster, &steps).expect("valid case").case.roles
        };
        for (id, expected) in [
            ("publisher/a/b", vec![Role::Publisher]),
            ("scheduler/a/b", vec![Role::Scheduler]),
            ("driver/a/b", vec![Role::Driver]),
            ("cleaner/a/b", vec![Role::Publisher, Role::Cleaner]),
            ("story/a/b", vec![Role::Publisher, Role::Scheduler]),
            ("mine", vec![Role::Publisher, Role::Scheduler]),
        ] {
            assert_eq!(roles(id, &Value::Null), expected, "{id}");
        }
        assert_eq!(roles("publisher/a/b", &json!(["scheduler"])), [Role::Scheduler]);
    }

    #[test]
    fn undefined_names_in_expectations_are_errors_with_position_and_defined_names() {
        for (expect, words) in [
            (
                json!({"capacities": {"slow": {"n1": "5Gi"}}, "why": "w"}),
                "class `slow` is not defined; classes: fast",
            ),
            (
                json!({"placement": {"app": "n2"}, "why": "w"}),
                "node `n2` is not defined; nodes: n1",
            ),
            (
                json!({"placement": {"app": "nowhere"}, "why": "w"}),
                "write `none` for a pod that the scheduler refuses",
            ),
            (json!({"placement": {"other": "n1"}, "why": "w"}), "`other`"),
            (
                json!({"placement": {"app": "none"}, "always": true, "why": "w"}),
                "when no scheduler has decided about the new pod `app`",
            ),
            (json!({"claims": {"other": "bound"}, "why": "w"}), "`other`"),
            (
                json!({"responses": {"figures": {"code": "OK"}}, "why": "w"}),
                "no earlier `callDriver` has the name `figures`",
            ),
            (
                json!({"served": {"pods": ["v1"]}, "why": "w"}),
                "add `discover: pods` to its actions",
            ),
            (
                json!({"never": {"call": "CreateVolumes"}, "why": "w"}),
                "`CreateVolumes` is no CSI method",
            ),
            (
                json!({"never": {"call": "CreateVolume", "code": "FULL"}, "why": "w"}),
                "`FULL` is no gRPC code",
            ),
            (
                json!({"never": {"call": "CreateVolume", "segment": "n7"}, "why": "w"}),
                "there is no segment `n7`",
            ),
            (
                json!({"never": {"call": "CreateVolume", "placed": "n7"}, "why": "w"}),
                "there is no segment `n7`",
            ),
            (
                json!({"never": {"write": "create podz"}, "why": "w"}),
                "`podz` is no resource",
            ),
            (
                json!({"never": {"call": "GetCapacity", "node": "n1"}, "why": "w"}),
                "write `segment: n1`, or set `mode: distributed`",
            ),
            (
                json!({"count": {"of": {"call": "*", "node": "n1"}, "min": 1}, "why": "w"}),
                "`node` matches no CSI call",
            ),
            (
                json!({"never": {"request": "create pods", "node": "n7"}, "why": "w"}),
                "node `n7` is not defined",
            ),
            (
                json!({"objects": [{"resource": "podz", "count": 0}], "why": "w"}),
                "`podz` is no resource",
            ),
            (
                json!({"capacities": {"fast": {"n7": "nothing"}}, "why": "w"}),
                "there is no segment `n7`",
            ),
            (
                json!({"never": {"call": "CreateVolume", "parameters": {"tier": "gold"}}, "why": "w"}),
                "no class has the parameter tier=gold",
            ),
            (
                json!({"never": {"fault": "statsu 503"}, "why": "w"}),
                "no earlier fault matches “statsu 503”",
            ),
            (
                json!({"never": {"write": "update pods", "name": "ap"}, "why": "w"}),
                "pod `ap` is not defined",
            ),
            (
                json!({"never": {"write": "update nodes", "name": "n7"}, "why": "w"}),
                "node `n7` is not defined",
            ),
            (
                json!({"never": {"write": "update pods", "by": "cleaner"}, "why": "w"}),
                "no cleaner runs in the case",
            ),
            (
                json!({"never": {"write": "update pods", "having": {"spec": {"nodename": "n1"}}}, "why": "w"}),
                "pods have no field `spec.nodename`",
            ),
            (
                json!({"objects": [{"resource": "pods", "fields": {"spec": "n1"}}], "why": "w"}),
                "`fields` can never match",
            ),
            (
                json!({"objects": [{"resource": "pods", "having": "n1"}], "why": "w"}),
                "`having` is a map of fields",
            ),
            (
                json!({"count": {"of": {"write": "update pods"}, "min": 3, "max": 2}, "why": "w"}),
                "`min` 3 is above `max` 2",
            ),
            (
                json!({"never": {"log": "x", "parameters": {"tier": "gold"}}, "why": "w"}),
                "`parameters` is allowed only with `call`",
            ),
            (json!({"served": {}, "why": "w"}), "`served` names no resource"),
            (
                json!({"served": {"Pods": ["v1"]}, "why": "w"}),
                "`Pods` is no resource with its group",
            ),
        ] {
            let error =
                resolved("a/b/c", &cluster(), &step_with_expectation(&expect)).expect_err("invalid case");
            assert!(error.contains(words), "{expect}: {error}");
            assert!(error.starts_with("case.yaml:1:"), "{error}");
        }
    }

    #[test]
    fn undefined_names_in_actions_are_errors() {
        for (action, words) in [
            (
                json!({"class": {"delete": "slow"}}),
                "class `slow` is not defined",
            ),
            (json!({"delete": {"pod": "other"}}), "pod `other` is not defined"),
            (json!({"backend": {"n7": "1Gi"}}), "there is no segment `n7`"),
            (
                json!({"delete": {"claim": "other"}}),
                "claim `other` is not defined",
            ),
            (
                json!({"fault": {"api": "create podz", "status": 500}}),
                "`podz` is no resource",
            ),
            (
                json!({"driverFault": {"method": "Provision", "code": "INTERNAL"}}),
                "`Provision` is no CSI method",
            ),
            (
                json!({"driverFault": {"method": "GetCapacity", "code": "OK"}}),
                "`OK` is no error",
            ),
        ] {
            let steps = json!([{"id": "a", "do": [action], "expect": [{"capacities": {}, "why": "w"}]}]);
            let error = resolved("a/b/c", &cluster(), &steps).expect_err("invalid case");
            assert!(error.contains(words), "{action}: {error}");
        }
    }

    #[test]
    fn keys_without_effect_are_errors_with_their_file_position() {
        let claim = |fields: &Value| json!({"pod": {"name": "p", "claims": [fields]}});
        let pod = |spec: &Value| json!({"object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}});
        let preferred =
            json!({"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}});
        let anyway = json!([{"whenUnsatisfiable": "ScheduleAnyway"}]);
        for (action, words) in [
            (
                json!({"pod": {"name": "p", "ephemeral": [{"name": "own", "class": "fast", "size": "1Gi"}]}}),
                "`name: own` of an ephemeral volume has no effect: its claim is named after the pod and the volume, `p-scratch-0`",
            ),
            (
                claim(&json!({"name": "data", "mode": "Block"})),
                "`mode` has no effect: the pod mounts the existing claim `data`",
            ),
            (
                json!({"driverFault": {"method": "ControllerModifyVolume", "code": "INTERNAL"}}),
                "no role calls ControllerModifyVolume",
            ),
            (
                json!({"driverFault": {"method": "NodePublishVolume", "code": "INTERNAL"}}),
                "add `mount: POD` to the actions",
            ),
            (
                json!({"driverFault": {"method": "GetCapacity", "segment": "n9", "code": "INTERNAL"}}),
                "there is no segment `n9`",
            ),
            (
                pod(&json!({"resourceClaims": [{"name": "gpu"}]})),
                "`spec.resourceClaims` of pod `p` has no effect: the scheduler of a case has no plugin DynamicResources",
            ),
            (
                pod(&json!({"affinity": preferred})),
                "`spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution` of pod `p` has no effect",
            ),
            (
                pod(&json!({"topologySpreadConstraints": anyway})),
                "with ScheduleAnyway the field only affects scores",
            ),
            (
                json!({"node": {"register": {"name": "n9"}}}),
                "node `n9` is not defined",
            ),
        ] {
            let steps = json!([{"id": "a", "do": [action], "expect": [{"capacities": {}, "why": "w"}]}]);
            let error = resolved("a/b/c", &cluster(), &steps).expect_err("key without effect");
            assert!(error.contains(words), "{action}: {error}");
            assert!(error.starts_with("case.yaml:1:"), "{error}");
        }
        let mut cluster = cluster();
        cluster["objects"] = json!([pod(&json!({"resourceClaims": [{"name": "gpu"}]}))["object"]]);
        let error = resolved(
            "a/b/c",
            &cluster,
            &step_with_expectation(&json!({"capacities": {}, "why": "w"})),
        );
        let error = error.expect_err("key without effect");
        assert!(
            error.starts_with("case.yaml:1:") && error.contains("resourceClaims"),
            "{error}"
        );
    }

    #[test]
    fn overcommit_multiplies_capacity_and_volume_costs_are_positive() {
        let resolved = |pool: Value, factor: u64| {
            let mut cluster = cluster();
            cluster["backend"]["n1"] = pool;
            cluster["driver"] =
                json!({"costs": [{"parameter": "raid", "value": "mirrored", "factor": factor}]});
            let steps = step_with_expectation(&json!({"capacities": {}, "why": "w"}));
            resolved("publisher/a/b", &cluster, &steps).map(|plan| plan.driver.pools[0].1.clone())
        };
        let thin = resolved(json!({"capacity": "10Gi", "overcommit": 1.5}), 2);
        let (capacity, largest) = (15 << 30, None);
        assert_eq!(thin, Ok(Storage::Linear { capacity, largest }));
        for (pool, factor, words) in [
            (
                json!({"capacity": "1Gi", "overcommit": 0.5}),
                2,
                "`overcommit` is a number from 1 to 1000, not 0.5",
            ),
            (
                json!({"devices": {"sda": "1Gi"}, "overcommit": 2}),
                2,
                "`overcommit` is allowed only with `capacity`",
            ),
            (json!("1Gi"), 0, "or overcommit a pool"),
        ] {
            let error = resolved(pool, factor).expect_err("invalid case");
            assert!(
                error.contains(words) && error.starts_with("case.yaml:1:"),
                "{error}"
            );
        }
    }

    #[test]
    fn an_owner_level_above_the_topmost_owner_is_an_error() {
        let steps = step_with_expectation(&json!({"capacities": {}, "why": "w"}));
        for (mode, level, is_valid) in [
            ("central", 2, true),
            ("central", 3, false),
            ("distributed", 1, true),
            ("distributed", 2, false),
        ] {
            let mut cluster = cluster();
            cluster["mode"] = mode.into();
            cluster["publisher"] = json!({"ownerLevel": level});
            let result = resolved("publisher/a/b", &cluster, &steps);
            assert_eq!(result.is_ok(), is_valid, "{mode} {level}");
            let message = result.err().unwrap_or_default();
            let has_position = message.starts_with("case.yaml:1:") && message.contains("highest level");
            assert!(is_valid || has_position, "{message}");
        }
    }

    #[test]
    fn expected_calls_of_a_role_that_does_not_run_are_errors() {
        let expect = |method: &str| step_with_expectation(&json!({"never": {"call": method}, "why": "w"}));
        let resolved = |id: &str, method: &str| resolved(id, &cluster(), &expect(method));
        let error = resolved("scheduler/a/b", "CreateVolume").expect_err("case without publisher");
        assert!(error.contains("as the case has no publisher"), "{error}");
        let error = resolved("story/a/b", "ListVolumes").expect_err("method that no role calls");
        assert!(error.contains("no role calls ListVolumes"), "{error}");
        resolved("story/a/b", "CreateVolume").expect("method that the publisher calls");
    }

    #[test]
    fn classes_created_as_plain_objects_are_defined() {
        let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "own"},
            "provisioner": "disk.example.com", "parameters": {"tier": "gold"}, "volumeBindingMode": "WaitForFirstConsumer"});
        let later = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "later"},
            "provisioner": "disk.example.com"});
        let mut cluster = cluster();
        cluster["objects"] = json!([class]);
        let rows = json!({"own": {"n1": "5Gi"}, "later": {"n1": "5Gi"}, "fast": {"n1": "5Gi"}});
        let script = json!({"driverFault": {"method": "GetCapacity", "class": "own", "code": "INTERNAL"}});
        let steps = json!([{"id": "a", "do": [{"object": later}, script], "expect": [{"capacities": rows, "why": "w"}]}]);
        let plan = resolved("publisher/a/b", &cluster, &steps).expect("defined classes");
        assert_eq!(
            plan.driver_parameters("own"),
            [("tier".to_owned(), "gold".to_owned())].into()
        );
    }

    #[test]
    fn a_pool_without_nodes_is_an_error_if_a_node_lacks_a_pool() {
        let resolved = |backend: Value| {
            let cluster = json!({"nodes": ["n1", "n2"], "classes": ["fast"], "backend": backend});
            resolved(
                "a/b/c",
                &cluster,
                &step_with_expectation(&json!({"capacities": {}, "why": "w"})),
            )
        };
        let error = resolved(json!({"n1": "5Gi", "n3": "5Gi"})).expect_err("n3 instead of n2");
        assert!(
            error.contains("no node is in segment `n3`, and node `n2` has no storage"),
            "{error}"
        );
        for backend in [
            json!({"n1": "5Gi"}),
            json!({"n1": "5Gi", "n2": "5Gi", "n3": "5Gi"}),
            json!({"*": "5Gi"}),
        ] {
            resolved(backend).expect("valid pools");
        }
    }

    #[test]
    fn a_case_that_cannot_fail_is_an_error() {
        let expect = json!({"placement": {"app": "n1"}, "why": "w"});
        let step = |id: &str| json!({"id": id, "expect": [expect]});
        for (steps, words) in [
            (json!([]), "has no steps, so nothing could fail"),
            (json!([{"id": "a"}]), "step `a` expects nothing"),
            (json!([step("a"), step("a")]), "step `a` appears twice"),
        ] {
            let steps = match steps.as_array().map(Vec::len) {
                // The first of the two steps creates the pod that the second step expects.
                Some(2) => json!([step_with_expectation(&expect)[0], step("a")]),
                _ => steps,
            };
            let error = resolved("a/b/c", &cluster(), &steps).expect_err("invalid case");
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn pods_of_a_step_are_created_after_all_pvcs() {
        let pod = |name: &str| json!({"pod": {"name": name, "claims": [{"class": "fast", "size": "1Gi"}]}});
        let steps = json!([{"id": "a", "do": [pod("p"), pod("q")],
            "expect": [{"placement": {"p": "n1"}, "why": "w"}]}]);
        let plan = resolved("a/b/c", &cluster(), &steps).expect("valid case");
        let kinds: Vec<&str> = plan.steps[0]
            .actions
            .iter()
            .filter_map(|(action, _)| match action {
                Action::Create(object) => object["kind"].as_str(),
                _ => None,
            })
            .collect();
        assert_eq!(
            kinds,
            ["PersistentVolumeClaim", "PersistentVolumeClaim", "Pod", "Pod"]
        );
    }

    #[test]
    fn extenders_with_equal_names_or_several_binders_are_errors() {
        let steps = step_with_expectation(&json!({"placement": {"app": "n1"}, "why": "w"}));
        for (extenders, words) in [
            (json!([{"name": "e"}, {"name": "e"}]), "duplicate extender `e`"),
            (json!([{"name": "e", "weight": 0}]), "`weight` must be at least 1"),
            (
                json!([{"name": "e", "resource": "a/b"}, {"name": "f", "resource": "a/b"}]),
                "another extender manages `a/b` already",
            ),
            (
                json!([{"name": "e", "binds": true}, {"name": "f", "binds": true}]),
                "2 extenders bind pods; only one may",
            ),
        ] {
            let mut cluster = cluster();
            cluster["extenders"] = extenders;
            let error = resolved("a/b/c", &cluster, &steps).expect_err("invalid case");
            assert!(
                error.contains(words) && error.starts_with("case.yaml:1:"),
                "{error}"
            );
        }
    }
}
