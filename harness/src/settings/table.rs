//! The table of all settings: one entry per setting.

use super::{FeatureClaim, Setting, Settings, Value};
use crate::scenario::{KnownBug, Mode, Role, SchedulerSpec};

const fn feature(name: &'static str, text: &'static str, is_needed: fn(&Settings) -> bool) -> FeatureClaim {
    FeatureClaim::Feature {
        name,
        text,
        is_needed,
    }
}

const SWITCH: &str = "`false` (unset), `true`";
const GATE: &str = "`none` (unset), `true`, `false`";

macro_rules! settings {
    ($($role:ident $name:literal, $case_key:literal, $values:expr, $claim:expr, $value:expr;)+) => {
        /// All settings of all roles.
        pub const SETTINGS: &[Setting] = &[
            $(Setting { role: Role::$role, name: $name, case_key: $case_key, values: $values, claim: $claim, value: $value }),+
        ];
    };
}

settings! {
    Publisher "mode", "mode", "`central` (unset), `distributed`",
        FeatureClaim::Other("publisher.distributed"),
        |it| Value { text: it.mode.as_str().to_owned(), is_set: it.mode != Mode::Central, is_usual: it.mode == Mode::Central };
    Publisher "ownerLevel", "publisher.ownerLevel", "`none` (unset), or the number of owners above the pod: `0`, `1` …",
        feature("publisher.owner", "the publisher sets an ownerReference on its objects: to its pod or to an owner of the pod",
            |it| it.publisher.owner_level.is_some()),
        |it| optional_value(it.publisher.owner_level);
    Publisher "publish", "publisher.publish", "`true` (unset), `false`",
        feature("publisher.provision-only", "the publisher can provision volumes without publishing CSIStorageCapacity objects (`--enable-capacity=false`)",
            |it| !it.publisher.publish),
        |it| switch(it.publisher.publish, true);
    Publisher "identifyByOwner", "publisher.identifyByOwner", SWITCH,
        feature("publisher.identify-by-owner", "the publisher can identify its objects by their owner instead of by labels, as external-provisioner 2.0.0 did",
            |it| it.publisher.identify_by_owner),
        |it| switch(it.publisher.identify_by_owner, false);
    Publisher "extraCreateMetadata", "publisher.extraCreateMetadata", SWITCH,
        feature("publisher.extra-create-metadata", "the publisher can pass the names of PVC and PV to CreateVolume (`--extra-create-metadata`)",
            |it| it.publisher.extra_create_metadata),
        |it| switch(it.publisher.extra_create_metadata, false);
    Publisher "getCapacityQps", "publisher.getCapacityQps", "`none` (unset), or GetCapacity calls per second",
        feature("publisher.get-capacity-qps", "the publisher can limit its GetCapacity calls per second",
            |it| it.publisher.get_capacity_qps.is_some()),
        |it| optional_value(it.publisher.get_capacity_qps);
    Publisher "immediate", "publisher.immediate", SWITCH,
        feature("publisher.immediate", "the publisher can publish objects for storage classes with volumeBindingMode Immediate",
            |it| it.publisher.immediate),
        |it| switch(it.publisher.immediate, false);
    Publisher "zeroCapacityObjects", "publisher.zeroCapacityObjects", SWITCH,
        feature("publisher.zero-capacity-objects", "the publisher can publish an object for zero capacity instead of omitting the object",
            |it| it.publisher.zero_capacity_objects),
        |it| switch(it.publisher.zero_capacity_objects, false);
    Publisher "strictTopology", "publisher.strictTopology", SWITCH,
        feature("publisher.strict-topology", "the publisher can request only the selected node's topology segment in CreateVolume (`--strict-topology`)",
            |it| it.publisher.strict_topology),
        |it| switch(it.publisher.strict_topology, false);
    Publisher "deleteUnknownCapacity", "publisher.deleteUnknownCapacity", SWITCH,
        feature("publisher.delete-unknown-capacity", "the publisher can delete an object while the driver does not report its capacity",
            |it| it.publisher.delete_unknown_capacity),
        |it| switch(it.publisher.delete_unknown_capacity, false);
    Publisher "election", "publisher.replicas", SWITCH,
        feature("publisher.leader-election", "several replicas can run with leader election: only the leader writes",
            |it| it.publisher.has_election()),
        |it| switch(it.publisher.has_election(), false);
    Cleaner "driver", "driver.name", "the name of the driver",
        FeatureClaim::Nothing,
        |it| value_without_default(it.driver.clone());
    Cleaner "orphanAfter", "orphanAfter", "a duration in milliseconds, such as `200ms`",
        FeatureClaim::Nothing,
        |it| value_without_default(format!("{}ms", it.orphan_after.as_millis()));
    Scheduler "release", "scheduler.release", "`none` (unset), or a release such as `1.34`",
        feature("scheduler.release", "the scheduler can behave like the scheduler of another Kubernetes release",
            |it| it.scheduler.release.is_some()),
        |it| optional_value(it.scheduler.release);
    Scheduler "capacityGate", "scheduler.capacityGate", GATE,
        feature("scheduler.capacity-gate", "the scheduler can ignore capacity, as with the feature gate CSIStorageCapacity disabled",
            |it| it.scheduler.capacity_gate.is_some()),
        |it| gate_value(&it.scheduler, it.scheduler.capacity_gate, true);
    Scheduler "volumeCapacityPriority", "scheduler.volumeCapacityPriority", GATE,
        feature("scheduler.volume-capacity-priority", "the scheduler has the feature gate VolumeCapacityPriority of Kubernetes 1.21 to 1.32 (KEP-1845)",
            |it| it.scheduler.volume_capacity_priority.is_some()),
        |it| gate_value(&it.scheduler, it.scheduler.volume_capacity_priority, false);
    Scheduler "scoring", "scheduler.scoring", GATE,
        feature("scheduler.scoring", "the scheduler scores nodes by storage capacity (KEP-4049, feature gate StorageCapacityScoring)",
            |it| it.scheduler.scoring == Some(true)),
        |it| gate_value(&it.scheduler, it.scheduler.scoring, false);
    Scheduler "shape", "scheduler.shape", "`none` (unset), or the JSON of VolumeBindingArgs.shape",
        feature("scheduler.shape", "the scoring function can be configured (`VolumeBindingArgs.shape`)",
            |it| it.scheduler.shape.is_some()),
        |it| {
            let shape = it.scheduler.shape.as_ref();
            // Serializing numbers cannot fail.
            optional_value(shape.map(|shape| serde_json::to_string(shape).unwrap_or_default()))
        };
    Scheduler "bugCompatible", "scheduler.bugCompatible", "`none` (unset), or names of known bugs separated by commas",
        feature("scheduler.bug-compatible", "the scheduler can reproduce a known bug of kube-scheduler if a case requires that, and has none of these bugs otherwise",
            |it| !it.scheduler.bug_compatible.is_empty()),
        |it| {
            let deviations: Vec<&str> = it
                .scheduler
                .bug_compatible
                .iter()
                .map(|it| KnownBug::as_str(*it))
                .collect();
            optional_value((!deviations.is_empty()).then(|| deviations.join(",")))
        };
    Scheduler "kep4049Sum", "scheduler.kep4049Sum", SWITCH,
        feature("scheduler.kep-4049-sum", "the scheduler can add a class's capacity once per PVC when scoring, as the text of KEP-4049 says",
            |it| it.scheduler.kep4049_sum),
        |it| switch(it.scheduler.kep4049_sum, false);
    Scheduler "extenders", "extenders", "`none` (unset), or the JSON of KubeSchedulerConfiguration.extenders",
        FeatureClaim::Other("scheduler.extenders"),
        |it| optional_value(it.extenders.as_ref());
}

fn switch(on: bool, usual: bool) -> Value {
    Value {
        text: on.to_string(),
        is_set: on != usual,
        is_usual: on == usual,
    }
}

fn optional_value(value: Option<impl ToString>) -> Value {
    Value {
        is_set: value.is_some(),
        is_usual: value.is_none(),
        text: value.map_or_else(|| "none".to_owned(), |value| value.to_string()),
    }
}

/// The value of a setting without a default, which every manifest must map to arguments.
fn value_without_default(text: String) -> Value {
    Value {
        text,
        is_set: true,
        is_usual: false,
    }
}

/// The value of a setting for a feature gate. The default of a gate is known only for the default release.
fn gate_value(scheduler: &SchedulerSpec, on: Option<bool>, usual: bool) -> Value {
    Value {
        is_usual: on.is_none_or(|on| on == usual && scheduler.release.is_none()),
        ..optional_value(on)
    }
}
