//! All rules, each with its requirements, and the outcomes that the KEPs and the CSI spec do not specify.
//!
//! Data only. The checks are in the modules `objects`, `placement`, `volumes`, `metrics`, `settings` and `always`.

/// A rule of the specification.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Id of the rule: subject and violation, separated by a slash.
    pub id: &'static str,
    /// Ids of the requirements on which the rule is based, as in `suites/requirements.yaml`.
    pub requirements: &'static [&'static str],
    /// What the rule requires, in one sentence.
    pub sentence: &'static str,
}

/// A question that the KEPs and the CSI spec leave open, so that several outcomes are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unspecified {
    /// Whether zero capacity is published as an object (KEP-1472: "Determining parameters" contradicts the comment of the type).
    ZeroOrAbsent,
    /// Whether an object is retained or deleted while GetCapacity fails.
    RetainOrDelete,
    /// Whether objects for classes with Immediate binding are published. The KEP requires objects for all classes of the driver, but no
    /// component uses the objects for Immediate classes.
    ImmediateClasses,
    /// Whether a driver without topology has one object for all nodes, or none.
    WithoutTopology,
    /// When a publisher without polling notices changes of the storage: at the next event that causes a call, or never.
    WithoutPolling,
}

macro_rules! rules {
    ($($name:ident: $id:literal, [$($requirement:literal),+], $sentence:literal;)+) => {
        $(
            #[doc = $sentence]
            pub const $name: &Rule = &Rule { id: $id, requirements: &[$($requirement),+], sentence: $sentence };
        )+

        /// All rules.
        pub const RULES: &[&Rule] = &[$($name),+];
    };
}

rules! {
    // Rules for CSIStorageCapacity objects at quiescence.
    MISSING: "objects/missing",
        ["PUB-14", "PUB-02", "PUB-03", "PUB-08", "PUB-10", "PUB-20", "PUB-25", "SCALE-01", "SCALE-02", "API-02"],
        "where GetCapacity returns capacity, the publisher has an object for each class and topology segment";
    WRONG_CAPACITY: "objects/wrong-capacity",
        ["CSI-05", "CSI-06", "PUB-17", "PUB-22", "PUB-27", "PUB-58", "CSI-02", "CSI-14"],
        "an object has the capacity and maximumVolumeSize that GetCapacity returns for its class and segment";
    NONZERO_CAPACITY: "objects/nonzero-capacity",
        ["PUB-15", "API-18", "CSI-09", "PUB-16"],
        "where GetCapacity returns 0, no object has a capacity above 0";
    UNKNOWN_CAPACITY: "objects/unknown-capacity",
        ["PUB-55", "CSI-26", "PUB-15", "CSI-01"],
        "while GetCapacity returns no valid capacity, the publisher retains the last published value or deletes the object, and publishes nothing new";
    OBSOLETE: "objects/obsolete",
        ["PUB-19", "PUB-13", "PUB-08", "PUB-10"],
        "objects of classes and segments that do not exist, or that do not belong to the driver, are deleted";
    DUPLICATE: "objects/duplicate",
        ["PUB-59", "PUB-17", "PUB-18", "PUB-09", "FAIL-18"],
        "a publisher has at most one object for each class and segment";
    FOREIGN_OBJECT_CHANGED: "objects/foreign-object-changed",
        ["PUB-34", "PUB-35", "PUB-37", "PUB-47", "PUB-60", "PUB-36", "PUB-52"],
        "objects that do not belong to a running publisher remain unchanged";
    WRONG_LABELS: "objects/wrong-labels",
        ["PUB-29", "PUB-30", "PUB-31", "PUB-32", "PUB-62"],
        "the objects of a publisher are in its namespace and have its labels";
    WRONG_OWNER: "objects/wrong-owner",
        ["PUB-38", "PUB-39", "PUB-61"],
        "an object has the configured owner, and no other owner that the publisher set";
    PUBLISHED_WHILE_DISABLED: "objects/published-while-disabled",
        ["PUB-01", "GATE-09", "LIM-31"],
        "a publisher with publishing disabled neither creates, changes nor deletes objects";
    ORPHANED: "objects/orphaned",
        ["PUB-48", "PUB-49", "PUB-51", "PUB-52"],
        "the cleaner deletes the objects of nodes on which the driver is no longer registered";
    OUTLIVES_OWNER: "objects/outlives-owner",
        ["PUB-42", "PUB-45", "FAIL-13", "BM-13"],
        "an object is deleted after all of its owners were deleted";

    // Rules for volumes at quiescence.
    NOT_PROVISIONED: "volumes/not-provisioned",
        ["PROV-02", "PROV-09", "PROV-11", "PROV-14"],
        "a volume is provisioned for a PVC that has a selected node or Immediate binding, if the driver has enough capacity";
    SELECTED_NODE_RETAINED: "volumes/selected-node-retained",
        ["PROV-03", "SCHED-48"],
        "the selected-node annotation of a PVC is removed if the driver has too little capacity for its volume";
    VOLUME_NOT_DELETED: "volumes/not-deleted",
        ["PUB-26", "CSI-15"],
        "a volume is deleted once no PVC uses it";

    CAPACITY_NOT_REFRESHED: "volumes/capacity-not-refreshed",
        ["PUB-26", "PROV-05"],
        "after a volume was created or deleted, or CreateVolume returned RESOURCE_EXHAUSTED, the publisher calls GetCapacity for the class again";

    // Rules for the nodes of pods.
    NO_CAPACITY: "placement/no-capacity",
        ["SCHED-01", "SCHED-05", "SCHED-06", "SCHED-07", "SCHED-08", "SCHED-10", "SCHED-11", "SCHED-12", "SCHED-21", "API-10", "API-12"],
        "a pod is only placed on a node for which each PVC to be provisioned has a capacity object with enough capacity";
    NO_VOLUME: "placement/no-volume",
        ["SCHED-17", "SCHED-18", "SCHED-23", "SCHED-48", "CSI-24"],
        "a pod is only placed on a node that can access its existing volumes, and on which the classes of its other PVCs can provision volumes";
    NO_CLAIM: "placement/no-claim",
        ["SCHED-19", "LIM-12", "PROV-11"],
        "a pod is not placed while one of its PVCs does not exist, is being deleted, or has Immediate binding and is not bound";
    NO_NODE: "placement/no-node",
        ["SCHED-23", "GATE-06"],
        "a node with enough capacity must also meet all other scheduling constraints, such as taints and node selectors";
    NOT_RESERVED: "placement/not-reserved",
        ["BM-16", "BM-18", "BM-20"],
        "where an extender reserves devices, a pod is only placed on a node with a reservation for it";
    NOT_EXTENDED: "placement/not-extended",
        ["BM-22"],
        "a pod is not placed on a node that an extender rejects, and not at all while an extender that is not ignorable fails";
    WRONGLY_REFUSED: "placement/wrongly-refused",
        ["SCHED-03", "SCHED-04", "SCHED-14", "SCHED-15", "SCHED-16", "SCHED-20", "SCHED-22", "SCHED-24", "SCHED-28", "SCHED-31", "SCHED-34", "SCHED-35", "SCHED-36", "API-11", "LIM-24"],
        "a pod is only unschedulable if no node fits";
    UNEXPLAINED: "placement/unexplained",
        ["SCHED-33"],
        "an unschedulable pod has a condition with the reason and the number of nodes";
    NOT_BEST: "placement/not-best",
        ["SCORE-01", "SCORE-02", "SCORE-04", "SCORE-06", "SCORE-07", "SCORE-08", "SCORE-09", "SCORE-10", "SCORE-11", "SCORE-15", "SCORE-16", "SCORE-19"],
        "of the nodes that fit, a pod is placed on one with the highest score";
    MOVED: "placement/moved",
        ["GATE-22", "SCHED-32"],
        "a pod that is bound to a node stays there";

    // Rules that apply at every moment.
    FOREIGN_WRITE: "always/foreign-write",
        ["PUB-34", "PUB-35", "PUB-03", "PUB-47", "PUB-52"],
        "a program writes only to objects that belong to it";
    CAPACITY_TOO_HIGH: "always/capacity-too-high",
        ["PUB-55", "CSI-05", "SCHED-47", "FAIL-08"],
        "a published capacity is never higher than the highest one that the driver returned for its class and segment";
    NEGATIVE_CAPACITY: "always/negative-capacity",
        ["CSI-26"],
        "a negative capacity is never published";
    NO_OP_UPDATE: "always/no-op-update",
        ["PUB-21", "API-16"],
        "a publisher writes an object only if the write changes the object";
    UNNECESSARY_DELETE: "always/unnecessary-delete",
        ["PUB-44", "FAIL-16", "SCALE-07", "SCALE-08", "PUB-55", "FAIL-08", "CSI-26"],
        "a publisher does not delete a correct object that has no duplicate, nor an object whose capacity the driver does not report, unless it is configured to";
    FLAPPING: "always/flapping",
        ["PUB-21", "SCALE-07"],
        "a publisher does not delete an object and then create the same one again";
    UNWANTED_CREATE: "always/unwanted-create",
        ["PUB-13", "PUB-08", "PUB-10", "PUB-03"],
        "a publisher creates objects only for classes of its driver and segments of its nodes";
    CREATED_WITH_WRONG_LABELS: "always/wrong-labels",
        ["PUB-29", "PUB-30", "PUB-31", "PUB-62"],
        "a publisher creates objects only in its namespace and with its labels";
    WRITE_WHILE_DISABLED: "always/write-while-disabled",
        ["PUB-01", "GATE-09"],
        "a publisher with publishing disabled writes no object";
    UNEXPECTED_GET_CAPACITY: "always/unexpected-get-capacity",
        ["PUB-13", "PUB-03", "CSI-02", "CSI-03", "SCHED-40", "CSI-13"],
        "only publishers call GetCapacity, and only for classes of their driver and for their own segments";
    WATCH_WITHOUT_SELECTOR: "always/watch-without-selector",
        ["PUB-33"],
        "a publisher watches only its own objects, by a label selector";
    WRONGLY_FILTERED: "always/wrongly-filtered",
        ["BM-22"],
        "an extender is called only for pods that use its resource, and with nodes that pass all other filters";
    PROVISIONED_BEFORE_NODE_SELECTED: "always/provisioned-before-node-selected",
        ["PROV-01", "PROV-14"],
        "a volume for a PVC with WaitForFirstConsumer is created after a node was selected, and by the provisioner of that node";
    WRONG_SIZE: "always/wrong-size",
        ["PROV-15"],
        "CreateVolume requests the size of the PVC";
    WRONG_SOURCE: "always/wrong-source",
        ["PROV-15"],
        "a CreateVolume request has a content source exactly if the PVC has a data source";
    MISPLACED: "always/misplaced",
        ["CSI-22", "SCHED-23"],
        "a volume is created in a segment that its class allows, and with strict topology only in the segment of the selected node";
    RETRIED_WITH_OTHER_TOPOLOGY: "always/retried-with-other-topology",
        ["PROV-06"],
        "while the result of a CreateVolume call is unknown, it is retried with the same topology";
    NOT_GRANTED: "always/not-granted",
        ["RBAC-02", "RBAC-04", "RBAC-05", "RBAC-08", "RBAC-11"],
        "a program sends the API server only requests that the documented roles allow: for capacity objects in its namespace, and for their owners";
    WATCH_RETRY_RATE: "always/watch-retry-rate",
        ["SCALE-17"],
        "a watch that ends immediately is restarted with increasing back-off";
    GET_CAPACITY_RATE: "always/get-capacity-rate",
        ["PUB-56", "SCALE-12"],
        "a publisher does not exceed its limit of GetCapacity calls per second";
    UNNECESSARY_GET_CAPACITY: "always/unnecessary-get-capacity",
        ["PUB-28", "LIM-07"],
        "a publisher that does not poll calls GetCapacity only after an event";
    INVALID_SETTING_ACCEPTED: "settings/invalid-accepted",
        ["PUB-41", "SCORE-26", "GATE-30"],
        "a program exits if a required setting is missing or a setting has no effect";
    UNNECESSARY_LIST: "always/unnecessary-list",
        ["SCALE-11", "MET-18", "SCALE-14"],
        "capacity objects are listed once and then watched, and listed again only after a watch has ended";

    NOT_LEADING: "always/not-leading",
        ["PUB-46"],
        "of several publisher replicas, only the one that holds the Lease writes objects";
    ROLLED_BACK: "always/rolled-back",
        ["PROV-08", "LIM-04", "FAIL-19"],
        "a volume is only deleted if no PVC uses it: it is not rolled back when another volume of the pod cannot be created";
    FAILURE_NOT_REPORTED: "volumes/failure-not-reported",
        ["PROV-10", "MET-20"],
        "an Event about the PVC reports why its volume could not be created";

    // Rules for metrics.
    WRONG_GOAL_METRIC: "metrics/goal",
        ["MET-01"],
        "csistoragecapacities_desired_goal is the number of objects that the publisher should have";
    WRONG_CURRENT_METRIC: "metrics/current",
        ["MET-02"],
        "csistoragecapacities_desired_current is the number of existing objects that the publisher should have";
    WRONG_OBSOLETE_METRIC: "metrics/obsolete",
        ["MET-03"],
        "csistoragecapacities_obsolete is the number of objects to be deleted, and 0 once all are deleted";
    WRONG_METRIC_LABELS: "metrics/labels",
        ["MET-05", "MET-06"],
        "the metrics of objects have the driver name as label, and with one publisher per node also the node name";
    WRONG_QUEUE_METRIC: "metrics/queue",
        ["MET-04"],
        "the metrics contain the length of the publisher's work queue";
    WRONG_CALLS_METRIC: "metrics/calls",
        ["MET-07", "MET-08", "MET-09"],
        "csi_sidecar_operations_seconds counts calls by driver, method and code, with their duration";
    WRONG_ATTEMPTS_METRIC: "metrics/attempts",
        ["MET-13"],
        "scheduler_schedule_attempts_total counts scheduling attempts by result";
    WRONG_PLUGINS_METRIC: "metrics/plugins",
        ["MET-14"],
        "scheduler_plugin_execution_duration_seconds has a series for each plugin that runs";
    WRONG_REQUESTS_METRIC: "metrics/requests",
        ["MET-11", "MET-18"],
        "apiserver_request_total counts requests";
    WRONG_DURATIONS_METRIC: "metrics/durations",
        ["MET-10"],
        "apiserver_request_duration_seconds measures the duration of requests";

    // Rules for the driver.
    WRONG_RESPONSE: "driver/wrong-response",
        ["CSI-26", "CSI-15"],
        "GetCapacity returns the capacity of the driver's storage, and the same again while nothing changes";
    OVERFULL: "driver/overfull",
        ["CSI-23", "BM-03", "BM-04"],
        "a driver creates a volume only from free storage that matches the volume's class parameters and access type";
    WRONG_ERROR_CODE: "driver/wrong-error-code",
        ["CSI-23"],
        "a driver without enough storage for a volume returns RESOURCE_EXHAUSTED";

    // Rules for the API server.
    NOT_AS_WRITTEN: "server/not-as-written",
        ["API-03", "API-05", "API-13", "API-15", "API-37", "API-27", "API-28"],
        "the API server stores an object exactly as it was written";
    INVALID_ACCEPTED: "server/invalid-accepted",
        ["API-04", "API-06", "API-08", "API-09", "API-17", "API-19"],
        "the API server rejects invalid objects: names and classes that are not DNS subdomains, negative capacities, and changes of class or topology";
    VALID_REFUSED: "server/wrongly-refused",
        ["API-04", "API-05", "API-13", "API-15", "API-37"],
        "the API server accepts valid objects: any name, generated names, and changes of the capacity";
    UNREQUESTED_CHANGE: "server/unrequested-change",
        ["API-07", "API-37"],
        "the API server changes and deletes no capacity object without a request";
}
