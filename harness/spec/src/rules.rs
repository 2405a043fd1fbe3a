//! Every rule with its requirements, and the choices that the KEPs and the CSI spec leave open.
//!
//! Data only. Does not know how a rule is checked: that is next to the part of the world that it concerns.

/// One rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The id: subject, then error.
    pub id: &'static str,
    /// Ids of the requirements, as in `suites/requirements.yaml`.
    pub requirements: &'static [&'static str],
    /// The requirement in one sentence.
    pub sentence: &'static str,
}

/// A choice that the KEPs and the CSI spec leave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Whether zero capacity is published as an object (KEP-1472: "Determining parameters" contradicts the comment of the type).
    ZeroOrNothing,
    /// Whether an object is retained or deleted while GetCapacity fails.
    KeepOrWithdraw,
    /// Whether classes with Immediate binding are published. The KEP says all classes of the driver, but nothing uses these objects.
    ImmediateClasses,
    /// Whether a driver without topology has one object for all nodes, or none.
    WithoutTopology,
    /// When a publisher without polling detects changes of the backend: at the next other trigger, or never.
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
    // Objects, at quiescence.
    MISSING: "objects/missing",
        ["PUB-14", "PUB-02", "PUB-03", "PUB-08", "PUB-10", "PUB-20", "PUB-25", "SCALE-01", "SCALE-02", "API-02"],
        "where the driver has capacity, its publisher has an object for each class and segment";
    WRONG_FIGURES: "objects/wrong-figures",
        ["CSI-05", "CSI-06", "PUB-17", "PUB-22", "PUB-27", "PUB-58", "CSI-02", "CSI-14"],
        "an object has the figures that the driver reports for its class and segment";
    OFFER_WITHOUT_CAPACITY: "objects/offer-without-capacity",
        ["PUB-15", "API-18", "CSI-09", "PUB-16"],
        "where the driver has no capacity, no object offers any";
    UNTOLD_FIGURES: "objects/untold-figures",
        ["PUB-55", "CSI-26", "PUB-15", "CSI-01"],
        "while the driver does not tell a figure, the last one stays or the offer is withdrawn, and nothing new is offered";
    OBSOLETE: "objects/obsolete",
        ["PUB-19", "PUB-13", "PUB-08", "PUB-10"],
        "objects of classes and segments that are not there, or not the driver's, are deleted";
    DOUBLED: "objects/doubled",
        ["PUB-59", "PUB-17", "PUB-18", "PUB-09", "FAIL-18"],
        "a publisher has at most one object for a class and a segment";
    TOUCHED: "objects/touched",
        ["PUB-34", "PUB-35", "PUB-37", "PUB-47", "PUB-60", "PUB-36", "PUB-52"],
        "what is not a publisher's own stays as it is";
    STRANGE_LABELS: "objects/strange-labels",
        ["PUB-29", "PUB-30", "PUB-31", "PUB-32", "PUB-62"],
        "a publisher's objects are in its namespace and carry its labels";
    WRONG_OWNER: "objects/wrong-owner",
        ["PUB-38", "PUB-39", "PUB-61"],
        "an object has the chosen owner, and no other of the publisher's making";
    SWITCHED_OFF: "objects/switched-off",
        ["PUB-01", "GATE-09", "LIM-31"],
        "a publisher that is told not to publish leaves its objects as they are";
    ORPHANED: "objects/orphaned",
        ["PUB-48", "PUB-49", "PUB-51", "PUB-52"],
        "a cleaner removes the objects of nodes where the driver is not registered any more";
    OUTLIVES_OWNER: "objects/outlives-owner",
        ["PUB-42", "PUB-45", "FAIL-13", "BM-13"],
        "an object goes when the last of its owners is gone";

    // Volumes, at quiescence.
    NOT_PROVISIONED: "volumes/not-provisioned",
        ["PROV-02", "PROV-09", "PROV-11", "PROV-14"],
        "a claim whose node is chosen, or that needs none, gets a volume where the driver has room for one";
    NODE_KEPT: "volumes/node-kept",
        ["PROV-03", "SCHED-48"],
        "a claim gives its node back where the driver has no room for its volume";
    VOLUME_LEFT: "volumes/left",
        ["PUB-26", "CSI-15"],
        "a volume that nobody claims any more is deleted";

    UNREFRESHED: "volumes/unrefreshed",
        ["PUB-26", "PROV-05"],
        "where a volume was made or deleted, or found no room, the publisher asks for the figures of its class again";

    // Placement of pods.
    NO_CAPACITY: "placement/no-capacity",
        ["SCHED-01", "SCHED-05", "SCHED-06", "SCHED-07", "SCHED-08", "SCHED-10", "SCHED-11", "SCHED-12", "SCHED-21", "API-10", "API-12"],
        "a pod goes to no node without a capacity object that is large enough for each claim that is to be provisioned there";
    NO_VOLUME: "placement/no-volume",
        ["SCHED-17", "SCHED-18", "SCHED-23", "SCHED-48", "CSI-24"],
        "a pod goes to no node that does not reach its volumes, or where its classes allow none to be made";
    NO_CLAIM: "placement/no-claim",
        ["SCHED-19", "LIM-12", "PROV-11"],
        "a pod goes nowhere while one of its claims is missing, going, or still to be bound without it";
    NO_NODE: "placement/no-node",
        ["SCHED-23", "GATE-06"],
        "capacity lifts none of the conditions that pods and nodes have besides";
    NOT_RESERVED: "placement/not-reserved",
        ["BM-16", "BM-18", "BM-20"],
        "where devices are reserved, a pod goes only to a node where they are held for it";
    NOT_EXTENDED: "placement/not-extended",
        ["BM-22"],
        "a pod goes to no node that an extender refuses, and nowhere while one fails that is not ignorable";
    NEEDLESSLY_REFUSED: "placement/needlessly-refused",
        ["SCHED-03", "SCHED-04", "SCHED-14", "SCHED-15", "SCHED-16", "SCHED-20", "SCHED-22", "SCHED-24", "SCHED-28", "SCHED-31", "SCHED-34", "SCHED-35", "SCHED-36", "API-11", "LIM-24"],
        "a pod is refused only where no node fits";
    UNEXPLAINED: "placement/unexplained",
        ["SCHED-33"],
        "a pod that no node takes has a condition that says why, with the number of nodes";
    NOT_BEST: "placement/not-best",
        ["SCORE-01", "SCORE-02", "SCORE-04", "SCORE-06", "SCORE-07", "SCORE-08", "SCORE-09", "SCORE-10", "SCORE-11", "SCORE-15", "SCORE-16", "SCORE-19"],
        "of the nodes that fit, a pod goes to one with the best score";
    MOVED: "placement/moved",
        ["GATE-22", "SCHED-32"],
        "a pod that has a node stays there";

    // Always.
    FOREIGN_WRITE: "always/foreign-write",
        ["PUB-34", "PUB-35", "PUB-03", "PUB-47", "PUB-52"],
        "nobody writes to an object that is not its own";
    EXCESSIVE_FIGURE: "always/excessive-figure",
        ["PUB-55", "CSI-05", "SCHED-47", "FAIL-08"],
        "a published figure is never more than the driver ever answered for its class and segment";
    NEGATIVE_FIGURE: "always/negative-figure",
        ["CSI-26"],
        "a negative figure is never published";
    IDLE_WRITE: "always/idle-write",
        ["PUB-21", "API-16"],
        "an object is written only if that changes it";
    NEEDLESS_DELETE: "always/needless-delete",
        ["PUB-44", "FAIL-16", "SCALE-07", "SCALE-08", "PUB-55", "FAIL-08", "CSI-26"],
        "a publisher deletes no object that is right and that it has once, nor one of which the driver tells no figure, unless it is set to";
    FLAPPING: "always/flapping",
        ["PUB-21", "SCALE-07"],
        "a publisher does not delete an object to make the same again";
    UNWANTED_CREATE: "always/unwanted-create",
        ["PUB-13", "PUB-08", "PUB-10", "PUB-03"],
        "a publisher creates objects only for classes of its driver and segments of its nodes";
    MISLABELLED: "always/mislabelled",
        ["PUB-29", "PUB-30", "PUB-31", "PUB-62"],
        "a publisher creates objects only in its namespace and with its labels";
    WRITES_WHILE_OFF: "always/writes-while-off",
        ["PUB-01", "GATE-09"],
        "a publisher that is told not to publish writes no object";
    STRANGE_QUESTION: "always/strange-question",
        ["PUB-13", "PUB-03", "CSI-02", "CSI-03", "SCHED-40", "CSI-13"],
        "only publishers ask for capacity, and only for classes of their driver and their own segments";
    UNFILTERED: "always/unfiltered",
        ["PUB-33"],
        "a publisher watches its own objects, and is sent no others";
    NEEDLESSLY_FILTERED: "always/needlessly-filtered",
        ["BM-22"],
        "an extender is asked about pods that concern it, and about nodes that fit otherwise";
    TOO_EARLY: "always/too-early",
        ["PROV-01", "PROV-14"],
        "a volume for a claim that waits for its pod is made once a node is chosen, and by the provisioner of that node";
    WRONG_SIZE: "always/wrong-size",
        ["PROV-15"],
        "a volume is asked for in the size that its claim requests";
    WRONG_SOURCE: "always/wrong-source",
        ["PROV-15"],
        "a copy is asked for where the claim wants one, and an empty volume elsewhere";
    MISPLACED: "always/misplaced",
        ["CSI-22", "SCHED-23"],
        "a volume is made where its class allows it, and asked for and made at its node alone if the provisioner is set to that";
    ASKED_ELSEWHERE: "always/asked-elsewhere",
        ["PROV-06"],
        "while it is open whether a volume was made, it is asked for in the same place";
    NOT_GRANTED: "always/not-granted",
        ["RBAC-02", "RBAC-04", "RBAC-05", "RBAC-08", "RBAC-11"],
        "a program asks the API server for nothing beyond the documented roles: capacity objects in its own namespace, and what leads to their owner";
    HURRIED_WATCH: "always/hurried-watch",
        ["SCALE-17"],
        "a watch that ends at once is begun again after waits that grow";
    HURRIED_QUESTION: "always/hurried-question",
        ["PUB-56", "SCALE-12"],
        "a publisher asks the driver no more often than its limit says";
    NEEDLESS_QUESTION: "always/needless-question",
        ["PUB-28", "LIM-07"],
        "a publisher that does not poll asks for a figure only after something has happened";
    GOES_ON: "settings/goes-on",
        ["PUB-41", "SCORE-26", "GATE-30"],
        "a program that is not told what it needs, or is told what it has no use for, ends";
    NEEDLESS_LIST: "always/needless-list",
        ["SCALE-11", "MET-18", "SCALE-14"],
        "capacity objects are listed once and then watched, and listed again only after a watch has ended";

    NOT_LEADING: "always/not-leading",
        ["PUB-46"],
        "of several replicas only the one writes that holds the Lease";
    ROLLED_BACK: "always/rolled-back",
        ["PROV-08", "LIM-04", "FAIL-19"],
        "a volume is deleted only when nobody claims it: there is no rollback where another one cannot be made";
    UNTOLD_FAILURE: "volumes/untold",
        ["PROV-10", "MET-20"],
        "why a claim has no volume is told by an event about it";

    // Metrics.
    GOAL_UNTOLD: "metrics/goal",
        ["MET-01"],
        "csistoragecapacities_desired_goal is the number of objects that the publisher should have";
    CURRENT_UNTOLD: "metrics/current",
        ["MET-02"],
        "csistoragecapacities_desired_current is the number of those that are there";
    OBSOLETE_UNTOLD: "metrics/obsolete",
        ["MET-03"],
        "csistoragecapacities_obsolete is the number of objects that are to go, and none once all are gone";
    PLACE_UNTOLD: "metrics/place",
        ["MET-05", "MET-06"],
        "the metrics of objects carry the name of the driver, and that of the node where each has a publisher of its own";
    QUEUE_UNTOLD: "metrics/queue",
        ["MET-04"],
        "the metrics tell the length of the publisher's queue";
    CALLS_UNTOLD: "metrics/calls",
        ["MET-07", "MET-08", "MET-09"],
        "csi_sidecar_operations_seconds counts calls by driver, method and code, with the time that they take";
    ATTEMPTS_UNTOLD: "metrics/attempts",
        ["MET-13"],
        "scheduler_schedule_attempts_total tells how attempts end";
    PLUGINS_UNTOLD: "metrics/plugins",
        ["MET-14"],
        "scheduler_plugin_execution_duration_seconds tells which plugins take part";
    REQUESTS_UNTOLD: "metrics/requests",
        ["MET-11", "MET-18"],
        "apiserver_request_total counts requests";
    DURATIONS_UNTOLD: "metrics/durations",
        ["MET-10"],
        "apiserver_request_duration_seconds tells how long requests take";

    // The driver.
    WRONG_ANSWER: "driver/wrong-answer",
        ["CSI-26", "CSI-15"],
        "GetCapacity answers what the driver's storage has, and the same again while nothing changes";
    OVERFULL: "driver/overfull",
        ["CSI-23", "BM-03", "BM-04"],
        "a driver makes a volume only of storage that is free, and good for its class and its use";
    MISCALLED: "driver/miscalled",
        ["CSI-23"],
        "a driver without room for a volume answers RESOURCE_EXHAUSTED";

    // The API server.
    NOT_AS_WRITTEN: "server/not-as-written",
        ["API-03", "API-05", "API-13", "API-15", "API-37", "API-27", "API-28"],
        "the API server stores what is written, and nothing else";
    ILLEGAL_TAKEN: "server/illegal-taken",
        ["API-04", "API-06", "API-08", "API-09", "API-17", "API-19"],
        "the API server refuses what is not legal: names and classes that are no DNS subdomains, negative capacities, and changes of class or topology";
    NEEDLESSLY_ILLEGAL: "server/needlessly-refused",
        ["API-04", "API-05", "API-13", "API-15", "API-37"],
        "the API server takes what is legal: any name, generated names, and changes of the figures";
    UNASKED: "server/unasked",
        ["API-07", "API-37"],
        "the API server changes and deletes no capacity object by itself";
}
