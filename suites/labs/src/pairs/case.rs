//! Determines the values of a case on the axes for roles, classes and topology.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use suites::harness::plan::{ActionSpec, CapacityAction, ClassAction, NodeAction};
use suites::harness::scenario::{Binding, CapacitySpec, ClassSpec, ClusterSpec, DriverSpec, Mode, Role};

/// The parts of a case file from which the values on the axes of pair coverage are determined.
pub(super) struct Case<'a> {
    pub(super) cluster: &'a ClusterSpec,
    pub(super) roles: Vec<Role>,
    /// Actions of all steps of the case, in order.
    pub(super) actions: Vec<&'a ActionSpec>,
}

pub(super) fn values_whose_condition_holds<const N: usize>(
    values: [(bool, &'static str); N],
) -> BTreeSet<&'static str> {
    let matching_values = values.into_iter().filter(|(holds, _)| *holds);
    matching_values.map(|(_, value)| value).collect()
}

impl<'a> Case<'a> {
    pub(super) fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    pub(super) fn publishes(&self) -> bool {
        self.has(Role::Publisher) && self.cluster.publisher.publish
    }

    fn has_action(&self, what: impl Fn(&ActionSpec) -> bool) -> bool {
        self.actions.iter().any(|action| what(action))
    }

    pub(super) fn stops_publisher(&self) -> bool {
        self.has_action(|it| matches!(it, ActionSpec::Stop(Role::Publisher)))
    }

    pub(super) fn starts_publisher(&self) -> bool {
        self.has_action(|it| matches!(it, ActionSpec::Start(Role::Publisher)))
    }

    pub(super) fn mode_values(&self) -> BTreeSet<&'static str> {
        let (has_publisher, publishes) = (self.has(Role::Publisher), self.publishes());
        let mode = self.cluster.mode;
        values_whose_condition_holds([
            (!has_publisher, "no publisher"),
            (has_publisher && !publishes, "switched off"),
            (publishes && mode == Mode::Central, "central"),
            (publishes && mode == Mode::Distributed, "distributed"),
            (self.cluster.publisher.replicas.is_some(), "replicas"),
            (self.has(Role::Cleaner), "cleaner"),
            (publishes && self.stops_publisher(), "stopped meanwhile"),
        ])
    }

    /// The StorageClasses that exist at the start of the case.
    fn classes(&self) -> Vec<ClassSpec> {
        let objects = self.cluster.objects.iter();
        let objects = objects.filter_map(|object| as_class(&object.value));
        let classes = self.cluster.classes.iter().map(|class| class.0.clone());
        classes.chain(objects).collect()
    }

    /// The names of the initial StorageClasses whose provisioner is the driver under test.
    pub(super) fn own_classes(&self) -> BTreeSet<String> {
        let own = self
            .classes()
            .into_iter()
            .filter(|class| self.is_of_driver(class));
        own.map(|class| class.name).collect()
    }

    fn is_of_driver(&self, class: &ClassSpec) -> bool {
        let provisioner = class.provisioner.as_ref();
        provisioner.is_none_or(|it| *it == self.cluster.driver.name)
    }

    pub(super) fn class_values(&self) -> BTreeSet<&'static str> {
        let count = self.own_classes().len();
        let (mut later, mut deleted) = (Vec::new(), BTreeSet::new());
        for action in &self.actions {
            match action {
                ActionSpec::Class(ClassAction::Create(class)) => later.push(class.0.clone()),
                ActionSpec::Class(ClassAction::Delete(name)) => drop(deleted.insert(name)),
                _ => {}
            }
        }
        let is_again = later.iter().any(|class| deleted.contains(&class.name));
        let has_later = !later.is_empty();
        let all = [self.classes(), later].concat();
        let of_own =
            |is: fn(&ClassSpec) -> bool| all.iter().any(|class| self.is_of_driver(class) && is(class));
        values_whose_condition_holds([
            (count == 0, "none"),
            (count == 1, "one"),
            (count == 2, "two"),
            (count > 2, "many"),
            (
                of_own(|it| it.binding == Binding::WaitForFirstConsumer),
                "WaitForFirstConsumer",
            ),
            (of_own(|it| it.binding == Binding::Immediate), "Immediate"),
            (of_own(|it| !it.parameters.is_empty()), "parameters"),
            (
                of_own(|it| !it.allowed_topologies.is_empty()),
                "allowedTopologies",
            ),
            (
                all.iter().any(|class| !self.is_of_driver(class)),
                "of another driver",
            ),
            (has_later, "created later"),
            (!deleted.is_empty(), "deleted"),
            (is_again, "recreated"),
        ])
    }

    pub(super) fn topology_values(&self) -> BTreeSet<&'static str> {
        let node = |is: fn(&NodeAction) -> bool| {
            self.has_action(|action| matches!(action, ActionSpec::Node(action) if is(action)))
        };
        let nodes = &self.cluster.nodes;
        let mut values = values_whose_condition_holds([
            (
                nodes.iter().any(|node| node.topology_keys.is_some()),
                "keys differ by node",
            ),
            (nodes.iter().any(|node| !node.registered), "node without driver"),
            (self.cluster.backend.contains_key("*"), "cluster-wide object"),
            (node(|it| matches!(it, NodeAction::Join(_))), "node joins"),
            (node(|it| matches!(it, NodeAction::Leave(_))), "node leaves"),
            (
                node(|it| matches!(it, NodeAction::Relabel { .. })),
                "labels change",
            ),
            (
                node(|it| matches!(it, NodeAction::Register(_) | NodeAction::Unregister(_))),
                "driver comes or goes",
            ),
        ]);
        values.extend(topology_key_values(self.cluster));
        values.extend(self.capacities().filter_map(topology_form));
        values
    }

    /// CSIStorageCapacity objects that other clients create, initially or in a step.
    pub(super) fn capacities(&self) -> impl Iterator<Item = &'a CapacitySpec> {
        let made = self
            .actions
            .clone()
            .into_iter()
            .filter_map(|action| match action {
                ActionSpec::Capacity(CapacityAction::Create(capacity)) => Some(capacity),
                _ => None,
            });
        self.cluster.capacity_objects.iter().chain(made)
    }
}

/// Converts an API object to a StorageClass; `None` if the object has another kind.
fn as_class(object: &Value) -> Option<ClassSpec> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    (object["kind"] == "StorageClass").then(|| ClassSpec {
        name: text(&object["metadata"]["name"]).unwrap_or_default(),
        provisioner: text(&object["provisioner"]),
        parameters: serde_json::from_value(object["parameters"].clone()).unwrap_or_default(),
        binding: match object["volumeBindingMode"] == "WaitForFirstConsumer" {
            true => Binding::WaitForFirstConsumer,
            false => Binding::Immediate,
        },
        allowed_topologies: BTreeMap::new(),
    })
}

/// The values of the axis `topology` that describe the driver's topology keys.
fn topology_key_values(cluster: &ClusterSpec) -> Vec<&'static str> {
    let DriverSpec {
        topology_keys, name, ..
    } = &cluster.driver;
    match topology_keys.as_deref() {
        Some([]) => vec!["no keys"],
        Some([key]) if key == "kubernetes.io/hostname" => vec!["a key per node"],
        Some([_]) => vec!["a shared key"],
        Some(_) => vec!["two keys"],
        None => {
            let label = format!("{name}/node");
            let is_shared = cluster
                .nodes
                .iter()
                .any(|node| matches!(node.labels.get(&label), Some(Some(_))));
            let shared = is_shared.then_some("a shared key");
            std::iter::once("a key per node").chain(shared).collect()
        }
    }
}

/// How an object's nodeTopology selects nodes, as an axis value: all, none, by an expression, or by one or two labels.
fn topology_form(capacity: &CapacitySpec) -> Option<&'static str> {
    if capacity.segment.as_deref() == Some("*") {
        return Some("cluster-wide object");
    }
    let Some(topology) = &capacity.topology else {
        return capacity.segment.is_none().then_some("no-node object");
    };
    if topology.as_object().is_some_and(serde_json::Map::is_empty) {
        return Some("cluster-wide object");
    }
    if topology["matchExpressions"].is_array() {
        return Some("selector expression");
    }
    match topology["matchLabels"].as_object()?.len() {
        0 => None,
        1 => Some("a shared key"),
        _ => Some("two keys"),
    }
}
