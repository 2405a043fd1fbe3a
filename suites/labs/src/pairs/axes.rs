//! The axes along which cases differ, their values, and impossible combinations.

/// An axis with its values. A case may have several values of the same axis.
pub(super) struct Axis {
    pub(super) name: &'static str,
    pub(super) values: &'static [&'static str],
}

pub(super) const AXES: &[Axis] = &[
    Axis {
        name: "mode",
        values: &[
            "no publisher",
            "central",
            "distributed",
            "switched off",
            "replicas",
            "stopped meanwhile",
            "cleaner",
        ],
    },
    Axis {
        name: "class",
        values: &[
            "none",
            "one",
            "two",
            "many",
            "WaitForFirstConsumer",
            "Immediate",
            "parameters",
            "created later",
            "deleted",
            "recreated",
            "allowedTopologies",
            "of another driver",
        ],
    },
    Axis {
        name: "topology",
        values: &[
            "no keys",
            "a key per node",
            "a shared key",
            "two keys",
            "keys differ by node",
            "cluster-wide object",
            "selector expression",
            "no-node object",
            "labels change",
            "node joins",
            "node leaves",
            "driver comes or goes",
            "node without driver",
        ],
    },
    Axis {
        name: "prior",
        values: &[
            "none",
            "exact",
            "stale",
            "obsolete class",
            "obsolete segment",
            "duplicate",
            "malformed",
            "of another client",
            "wrong owner",
            "own earlier life",
            "edited meanwhile",
            "deleted meanwhile",
        ],
    },
    Axis {
        name: "flag",
        values: &[
            "true",
            "false",
            "unset",
            "no CSIDriver",
            "flipped on",
            "flipped off",
            "recreated",
            "deleted",
        ],
    },
    Axis {
        name: "gate",
        values: &[
            "server default",
            "server on",
            "server off",
            "server toggled",
            "scheduler off",
            "scheduler toggled",
            "VolumeCapacityPriority",
            "scoring on",
            "scoring off",
            "scoring toggled",
        ],
    },
    Axis {
        name: "release",
        values: &[
            "1.18",
            "1.19-1.20",
            "1.21-1.22",
            "1.23",
            "1.24-1.26",
            "1.27-1.36",
            "1.37",
            "upgrade",
            "downgrade",
            "scheduler of another release",
        ],
    },
];

/// Values of an axis that exclude values of another.
struct Excluded {
    axis: &'static str,
    values: &'static [&'static str],
    with: &'static [&'static str],
    excluded: ExcludedValues,
}

/// Which values of the other axis are excluded.
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

const EXCLUDED: &[Excluded] = &[
    // Without a publisher, existing objects belong to another client.
    Excluded {
        axis: "mode",
        values: &["no publisher"],
        with: &["prior"],
        excluded: ExcludedValues::AllBut(&[
            "none",
            "of another client",
            "edited meanwhile",
            "deleted meanwhile",
        ]),
    },
    // Only the publisher uses topology keys.
    Excluded {
        axis: "mode",
        values: &["no publisher"],
        with: &["topology"],
        excluded: ExcludedValues::These(&["keys differ by node", "no keys"]),
    },
    // Cleaner cases use objects of single nodes.
    Excluded {
        axis: "mode",
        values: &["cleaner"],
        with: &["topology"],
        excluded: ExcludedValues::These(&["no keys", "a shared key"]),
    },
    // All other values of `prior` require a class.
    Excluded {
        axis: "class",
        values: &["none"],
        with: &["prior"],
        excluded: ExcludedValues::AllBut(&["none", "of another client", "obsolete class"]),
    },
    // Without a class there is no GetCapacity call and no decision of the scheduler.
    Excluded {
        axis: "class",
        values: &["none"],
        with: &["topology", "gate", "flag", "release"],
        excluded: ExcludedValues::All,
    },
    // Without topology keys there is only one segment, which cannot become obsolete.
    Excluded {
        axis: "topology",
        values: &["no keys"],
        with: &["prior"],
        excluded: ExcludedValues::These(&["obsolete segment"]),
    },
    // Cases with these topologies contain an object.
    Excluded {
        axis: "topology",
        values: &["selector expression", "no-node object"],
        with: &["prior"],
        excluded: ExcludedValues::These(&["none"]),
    },
    // Release 1.18 does not serve CSIStorageCapacity.
    Excluded {
        axis: "release",
        values: &["1.18"],
        with: &["prior"],
        excluded: ExcludedValues::AllBut(&["none", "of another client", "own earlier life"]),
    },
    // The feature gate cannot be changed from 1.24 on and is removed in 1.27. Release 1.18 does not have the gate.
    Excluded {
        axis: "gate",
        values: &["server on"],
        with: &["release"],
        excluded: ExcludedValues::These(&["1.24-1.26", "1.27-1.36", "1.37"]),
    },
    Excluded {
        axis: "gate",
        values: &["server off"],
        with: &["release"],
        excluded: ExcludedValues::These(&["1.18", "1.27-1.36", "1.37"]),
    },
    Excluded {
        axis: "gate",
        values: &["server toggled"],
        with: &["release"],
        excluded: ExcludedValues::These(&["1.18", "1.24-1.26", "1.27-1.36", "1.37"]),
    },
    // In release 1.18, CSIDriver has no `storageCapacity` field.
    Excluded {
        axis: "flag",
        values: &["flipped on", "flipped off", "true", "false"],
        with: &["release"],
        excluded: ExcludedValues::These(&["1.18"]),
    },
];

/// Whether two values of different axes can occur together.
pub(super) fn is_possible(axis: &str, value: &str, with: &str, other: &str) -> bool {
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
