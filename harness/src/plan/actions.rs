//! What a step does, as actions on named objects, with the words that the timeline shows.

use std::collections::BTreeMap;

use capacity_types::{Segment, ephemeral_claim_name};
use fake_apiserver::ResourceRef;
use serde_json::{Value, json};

use super::scope::Scope;
use super::vocabulary::names;
use super::{Action, Labelled, Target, WORKLOADS, backend, fault, objects, script, settings};
use crate::scenario::{
    ActionSpec, ApplySpec, CapacityAction, ClaimSpec, ClassAction, CsiDriverAction, DeleteAction, FaultSpec,
    LabelOrder, MergeSpec, NodeAction, NodeSpec, PodSpec, PoolSpec, PublisherSpec, RegisterSpec, ReleaseSpec,
    ReplaceSpec, Role, SchedulerSpec, Short,
};
use crate::settings::{Settings, of_role};

impl Scope<'_> {
    pub(super) fn action(&mut self, spec: &ActionSpec) -> Result<Vec<(Action, String)>, String> {
        match spec {
            ActionSpec::Backend(pools) => self.backend(pools),
            ActionSpec::Node(action) => self.node_action(action),
            ActionSpec::Class(action) => {
                if let ClassAction::Delete(name) = action {
                    self.known.deleted_class(name)?;
                }
                Ok(self.class_action(action))
            }
            ActionSpec::CsiDriver(action) => Ok(self.csi_driver_action(*action)),
            ActionSpec::Pod(spec) => {
                let mut claims = spec.claims.iter().chain(&spec.ephemeral);
                claims.try_for_each(|claim| self.known.claim(claim))?;
                pod(spec)
            }
            ActionSpec::Claim(spec) => {
                self.known.claim(spec)?;
                let name = spec.name.clone().ok_or("a claim of its own needs a `name`")?;
                if spec.size.is_none() {
                    return Err("a claim of its own needs a `size`".to_owned());
                }
                Ok(vec![create(objects::claim(&name, spec), "claim", &name)])
            }
            ActionSpec::Capacity(action) => self.capacity_action(action),
            ActionSpec::Delete(action) => {
                match action {
                    DeleteAction::Pod(name) => self.known.deleted_pod(name)?,
                    DeleteAction::Claim(name) => self.known.deleted_claim(name)?,
                    _ => {}
                }
                delete(action)
            }
            ActionSpec::Csi(spec) => self.script(spec),
            ActionSpec::Uncsi(id) => self.unscript(id),
            ActionSpec::Ask(spec) => self.csi_call(spec),
            ActionSpec::Discover(resource) => Ok(vec![(
                Action::Discover(resource.parse()?),
                format!("ask in which versions {resource} is served"),
            )]),
            ActionSpec::Mount(pod) => Ok(vec![(
                Action::Mount(pod.clone()),
                format!("the kubelet publishes the volumes of pod {pod}"),
            )]),
            ActionSpec::Reserve(spec) => self.reserve(spec),
            ActionSpec::Unreserve(name) => self.unreserve(name),
            ActionSpec::Stop(role) => Ok(vec![(Action::Stop(*role), format!("stop the {}", role.as_str()))]),
            ActionSpec::Start(role) => Ok(vec![(
                Action::Start(*role),
                format!("start the {}", role.as_str()),
            )]),
            ActionSpec::Publisher(spec) => {
                settings::owner_level(*spec, self.cluster.mode)?;
                let note = format!("start the publisher anew{}", of_publisher(*spec));
                Ok(vec![(Action::Republish(*spec), note)])
            }
            ActionSpec::Scheduler(spec) => Ok(vec![(
                Action::Reschedule(spec.clone()),
                format!("start the scheduler anew{}", of_scheduler(spec)),
            )]),
            ActionSpec::Fault(spec) => self.fault(spec),
            ActionSpec::Unfault(id) => self.unfault(id),
            ActionSpec::Release(spec) => Ok(vec![self.release(spec)]),
            ActionSpec::Merge(spec) => merge(spec),
            ActionSpec::Replace(spec) => {
                self.class_object(&spec.object);
                self.trial.kind(&spec.object)?;
                Ok(vec![replace(spec)])
            }
            ActionSpec::Apply(spec) => {
                self.class_object(&spec.object);
                self.trial.kind(&spec.object)?;
                Ok(vec![apply(spec)])
            }
            ActionSpec::Object(object) => {
                self.would_take(object)?;
                Ok(vec![create_object(object)])
            }
            ActionSpec::Attempt(inner) => {
                let attempted =
                    |(action, note)| (Action::Attempt(Box::new(action)), format!("attempt: {note}"));
                // What may be refused is not asked for before.
                let actions = match &**inner {
                    ActionSpec::Replace(spec) => vec![replace(spec)],
                    ActionSpec::Apply(spec) => vec![apply(spec)],
                    ActionSpec::Object(object) => {
                        self.class_object(object);
                        vec![create_object(object)]
                    }
                    other => self.action(other)?,
                };
                Ok(actions.into_iter().map(attempted).collect())
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
        let of = [
            spec.name.as_ref().map(|name| format!(" {name}")),
            spec.by.map(|role| format!(" by the {}", role.as_str())),
        ];
        let of: String = of.into_iter().flatten().collect();
        let which = script::which(spec.skip, spec.times);
        let chance = spec
            .chance
            .map(|chance| format!(", with probability {}", chance.probability));
        let chance = chance.unwrap_or_default();
        let note = format!("fault: {}{of}: {}{which}{chance}{then}", spec.api, rule.effect);
        Ok(vec![(Action::Fault { id, rule, kills }, note)])
    }

    fn release(&mut self, spec: &ReleaseSpec) -> (Action, String) {
        self.serve(spec.to.unwrap_or(self.release), &spec.gates);
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
            self.places.segment(&segment, &self.segments)?;
            let (plan, note) = match spec {
                Some(spec) => (
                    Some(backend::storage(spec)?),
                    format!("backend {text} is now {}", backend::note(spec)),
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
            NodeAction::Register(spec) => self.register(spec)?,
            NodeAction::Unregister(name) => {
                self.known_node(name)?;
                vec![(
                    Action::Registration(name.clone(), None),
                    format!("unregister the driver from CSINode {name}"),
                )]
            }
        })
    }

    fn register(&self, spec: &RegisterSpec) -> Result<Vec<(Action, String)>, String> {
        let name = &spec.name;
        self.known_node(name)?;
        let keys = Some(self.segments.keys().to_vec());
        let mut list = vec![(
            Action::Registration(name.clone(), keys),
            format!("register the driver in CSINode {name}"),
        )];
        if let Some(order) = spec.labels {
            let labels: BTreeMap<String, String> = self.segments.usual(name).into_iter().collect();
            let merge = json!({"metadata": {"labels": labels}});
            let place = if order == LabelOrder::First { 0 } else { 1 };
            let note = format!("label node {name} with its segment");
            list.insert(place, (Action::Merge(cluster_wide("nodes", name), merge), note));
        }
        Ok(list)
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
        if !spec.registered {
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

    fn csi_driver_action(&self, action: CsiDriverAction) -> Vec<(Action, String)> {
        let name = self.driver();
        let target = cluster_wide("csidrivers", name);
        vec![match action {
            CsiDriverAction::StorageCapacity(on) => {
                let merge = json!({"spec": {"storageCapacity": on}});
                (
                    Action::Merge(target, merge),
                    format!("CSIDriver {name}: storageCapacity {on}"),
                )
            }
            CsiDriverAction::Delete => (Action::Delete(target), format!("delete CSIDriver {name}")),
            CsiDriverAction::Create(on) => create(objects::csi_driver(name, on), "CSIDriver", name),
        }]
    }

    fn capacity_action(&mut self, action: &CapacityAction) -> Result<Vec<(Action, String)>, String> {
        let target = |scope: &Self, class: &str, segment: &str| {
            let segment = scope.segments.format(&scope.segments.parse(segment)?);
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
}

/// The publisher's settings that are not usual, in words.
fn of_publisher(spec: PublisherSpec) -> String {
    let settings = Settings {
        publisher: spec,
        ..Settings::default()
    };
    unusual(Role::Publisher, &settings)
}

/// The scheduler's settings that are not usual, in words.
fn of_scheduler(spec: &SchedulerSpec) -> String {
    let settings = Settings {
        scheduler: spec.clone(),
        ..Settings::default()
    };
    unusual(Role::Scheduler, &settings)
}

fn unusual(role: Role, settings: &Settings) -> String {
    let values = of_role(role).map(|setting| (setting.name, setting.value(settings)));
    let words: Vec<_> = values
        .filter(|(_, value)| !value.is_usual)
        .map(|(name, value)| format!("{name} {}", value.text))
        .collect();
    match words.as_slice() {
        [] => ", as it is by itself".to_owned(),
        words => format!(", with {}", words.join(", ")),
    }
}

fn create(object: Value, kind: &str, name: &str) -> (Action, String) {
    (Action::Create(object), format!("create {kind} {name}"))
}

fn merge(spec: &MergeSpec) -> Result<Vec<(Action, String)>, String> {
    let target = named(&spec.resource, spec.namespace.as_deref(), &spec.name)?;
    let note = format!("change {} {}: {}", spec.resource, spec.name, spec.merge);
    Ok(vec![(Action::Merge(target, spec.merge.clone()), note)])
}

fn replace(spec: &ReplaceSpec) -> (Action, String) {
    let at = match spec.resource_version.as_deref() {
        None => String::new(),
        Some("") => ", without a resourceVersion".to_owned(),
        Some(version) => format!(", as it was at resourceVersion {version}"),
    };
    let note = format!("replace {}{at}", kind_and_name(&spec.object));
    (Action::Replace(spec.clone()), note)
}

fn apply(spec: &ApplySpec) -> (Action, String) {
    let force = if spec.force { ", with force" } else { "" };
    let note = format!("apply {} as {}{force}", kind_and_name(&spec.object), spec.manager);
    (Action::Apply(spec.clone()), note)
}

fn kind_and_name(object: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}", word(&object["kind"]), word(&object["metadata"]["name"]))
}

fn create_object(object: &Value) -> (Action, String) {
    let note = format!("create {}", kind_and_name(object));
    (Action::Create(object.clone()), note)
}

/// An object that the case names itself.
fn named(resource: &str, namespace: Option<&str>, name: &str) -> Result<Target, String> {
    match (is_namespaced(resource)?, namespace) {
        (true, None) => Err(format!(
            "objects of `{resource}` are in a namespace; add `namespace`"
        )),
        (false, Some(_)) => Err(format!(
            "objects of `{resource}` are not in a namespace; remove `namespace`"
        )),
        _ => Ok(Target::Named {
            resource: resource.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }),
    }
}

/// Whether objects of a resource are in namespaces.
fn is_namespaced(resource: &str) -> Result<bool, String> {
    let known = ResourceRef::by_plural(resource).map(|(_, namespaced)| namespaced);
    known.ok_or_else(|| {
        format!("resource `{resource}` is not known; give its plural name, such as `replicasets`")
    })
}

fn cluster_wide(resource: &str, name: &str) -> Target {
    Target::Named {
        resource: resource.to_owned(),
        namespace: None,
        name: name.to_owned(),
    }
}

fn delete(action: &DeleteAction) -> Result<Vec<(Action, String)>, String> {
    let (resource, namespace, name) = match action {
        DeleteAction::All {
            resource,
            namespace,
            labels,
        } => return delete_all(resource, namespace.as_deref(), labels),
        DeleteAction::Pod(name) => ("pods", Some(WORKLOADS), name),
        DeleteAction::Claim(name) => ("persistentvolumeclaims", Some(WORKLOADS), name),
        DeleteAction::Object {
            resource,
            namespace,
            name,
        } => (resource.as_str(), namespace.as_deref(), name),
    };
    let target = named(resource, namespace, name)?;
    Ok(vec![(
        Action::Delete(target),
        format!("delete {resource} {name}"),
    )])
}

fn delete_all(
    resource: &str,
    namespace: Option<&str>,
    labels: &BTreeMap<String, String>,
) -> Result<Vec<(Action, String)>, String> {
    is_namespaced(resource)?;
    if labels.is_empty() {
        return Err("`all` needs `labels`: name those of the objects to delete".to_owned());
    }
    let note = format!(
        "delete {resource} with {}",
        capacity_types::segment::format(labels)
    );
    let labelled = Labelled {
        resource: resource.to_owned(),
        namespace: namespace.map(str::to_owned),
        labels: labels.clone(),
    };
    Ok(vec![(Action::Delete(Target::Labelled(labelled)), note)])
}

/// The pod and the claims that it brings along; claims first, as users do.
fn pod(spec: &PodSpec) -> Result<Vec<(Action, String)>, String> {
    let mut list = Vec::new();
    let mut mounted = Vec::new();
    for (index, claim) in spec.claims.iter().enumerate() {
        only_mounted(claim)?;
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
    for (index, claim) in spec.ephemeral.iter().enumerate() {
        complete(claim)?;
        if let Some(name) = &claim.name {
            let made = ephemeral_claim_name(&spec.name, &objects::ephemeral_volume(index));
            return Err(format!(
                "`name: {name}` of an ephemeral volume has no effect: its claim is called after pod and volume, `{made}`; remove it"
            ));
        }
    }
    list.push(create(objects::pod(spec, &mounted), "pod", &spec.name));
    Ok(list)
}

/// Rejects settings of a claim that a pod only mounts (one without class and size): it exists, so they have no effect.
fn only_mounted(claim: &ClaimSpec) -> Result<(), String> {
    let ClaimSpec {
        name: Some(name),
        class: None,
        size: None,
        mode,
        copy_of,
        snapshot,
        attributes,
    } = claim
    else {
        return Ok(());
    };
    let keys = [
        ("mode", mode.is_some()),
        ("copyOf", copy_of.is_some()),
        ("snapshot", snapshot.is_some()),
        ("attributes", attributes.is_some()),
    ];
    match keys.iter().find(|(_, given)| *given) {
        Some((key, _)) => Err(format!(
            "`{key}` has no effect: the pod mounts the claim `{name}`, which exists; remove it, or create the claim with `class` and `size`"
        )),
        None => Ok(()),
    }
}

/// A claim that a pod brings along.
fn complete(spec: &ClaimSpec) -> Result<&ClaimSpec, String> {
    match (&spec.class, &spec.size) {
        (Some(_), Some(_)) => Ok(spec),
        _ => Err("a claim needs `class` and `size`".to_owned()),
    }
}
