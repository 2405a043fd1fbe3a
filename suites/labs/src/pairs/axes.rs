//! The axes of pair coverage (properties in which cases differ), their values, and pairs of values that no case can have.

/// An axis of pair coverage with its values. A case may have several values on the same axis.
pub(super) struct Axis {
    pub(super) name: &'static str,
    pub(super) values: &'static [&'static str],
}

macro_rules! axes {
    ($($name:literal: $($value:literal),+;)+) => {
        pub(super) const AXES: &[Axis] = &[$(Axis { name: $name, values: &[$($value),+] }),+];
    };
}

axes! {
    "mode": "no publisher", "central", "distributed", "switched off", "replicas", "stopped meanwhile", "cleaner";
    "class": "none", "one", "two", "many", "WaitForFirstConsumer", "Immediate", "parameters", "created later",
        "deleted", "recreated", "allowedTopologies", "of another driver";
    "topology": "no keys", "a key per node", "a shared key", "two keys", "keys differ by node",
        "cluster-wide object", "selector expression", "no-node object", "labels change", "node joins",
        "node leaves", "driver comes or goes", "node without driver";
    "prior": "none", "exact", "stale", "obsolete class", "obsolete segment", "duplicate", "malformed",
        "of another client", "wrong owner", "own earlier life", "edited meanwhile", "deleted meanwhile";
    "flag": "true", "false", "unset", "no CSIDriver", "flipped on", "flipped off", "recreated", "deleted";
    "gate": "server default", "server on", "server off", "server toggled", "scheduler off", "scheduler toggled",
        "VolumeCapacityPriority", "scoring on", "scoring off", "scoring toggled";
    "release": "1.18", "1.19-1.20", "1.21-1.22", "1.23", "1.24-1.26", "1.27-1.36", "1.37", "upgrade", "downgrade",
        "scheduler of another release";
}

/// Values of one axis that no case can combine with certain values of another axis.
struct Excluded {
    axis: &'static str,
    values: &'static [&'static str],
    with: &'static [&'static str],
    excluded: ExcludedValues,
}

/// Which values of the second axis cannot occur together with the values of the first axis.
enum ExcludedValues {
    All,
    These(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

impl ExcludedValues {
    fn contain(&self, value: &str) -> bool {
        match self {
            ExcludedValues::All => true,
            ExcludedValues::These(values) => values.contains(&value),
            ExcludedValues::AllBut(values) => !values.contains(&value),
        }
    }
}

macro_rules! excluded {
    ($($axis:literal $values:expr => $with:expr, $kind:ident $(($others:expr))?;)+) => {
        const EXCLUDED: &[Excluded] = &[$(
            Excluded { axis: $axis, values: &$values, with: &$with, excluded: ExcludedValues::$kind$((&$others))? }
        ),+];
    };
}

excluded! {
    // Without a publisher, existing capacity objects belong to another client.
    "mode" ["no publisher"] => ["prior"], AllBut(["none", "of another client", "edited meanwhile", "deleted meanwhile"]);
    // Only the publisher uses topology keys.
    "mode" ["no publisher"] => ["topology"], These(["keys differ by node", "no keys"]);
    // Cases with the cleaner use capacity objects of single nodes.
    "mode" ["cleaner"] => ["topology"], These(["no keys", "a shared key"]);
    // A capacity object of an earlier publisher requires a StorageClass.
    "class" ["none"] => ["prior"], AllBut(["none", "of another client", "obsolete class"]);
    // Without a StorageClass, no GetCapacity call is made, and the scheduler does not evaluate capacity.
    "class" ["none"] => ["topology", "gate", "flag", "release"], All;
    // Without topology keys there is only one segment, which cannot become obsolete.
    "topology" ["no keys"] => ["prior"], These(["obsolete segment"]);
    // A case has these topology values only if it contains a capacity object.
    "topology" ["selector expression", "no-node object"] => ["prior"], These(["none"]);
    // Release 1.18 does not serve CSIStorageCapacity.
    "release" ["1.18"] => ["prior"], AllBut(["none", "of another client", "own earlier life"]);
    // The feature gate cannot be changed from 1.24 on and is removed in 1.27. Release 1.18 does not have the gate.
    "gate" ["server on"] => ["release"], These(["1.24-1.26", "1.27-1.36", "1.37"]);
    "gate" ["server off"] => ["release"], These(["1.18", "1.27-1.36", "1.37"]);
    "gate" ["server toggled"] => ["release"], These(["1.18", "1.24-1.26", "1.27-1.36", "1.37"]);
    // In release 1.18, CSIDriver has no `storageCapacity` field.
    "flag" ["flipped on", "flipped off", "true", "false"] => ["release"], These(["1.18"]);
}

pub(super) fn can_occur_together(axis: &str, value: &str, with: &str, other: &str) -> bool {
    let excludes = |(axis, value): (&str, &str), (with, other): (&str, &str)| {
        EXCLUDED.iter().any(|it| {
            it.axis == axis
                && it.values.contains(&value)
                && it.with.contains(&with)
                && it.excluded.contain(other)
        })
    };
    !excludes((axis, value), (with, other)) && !excludes((with, other), (axis, value))
}
