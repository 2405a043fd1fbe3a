//! The settings of one extender.

use std::collections::BTreeSet;
use std::time::Duration;

/// One extender (`KubeSchedulerConfiguration.extenders`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extender {
    /// Its address, to which a verb is added: `http://host:port/path`.
    pub url_prefix: String,
    /// The verb that refuses nodes; none: it refuses none.
    pub filter_verb: Option<String>,
    /// The verb that scores nodes, 0 to 10; none: it scores none.
    pub prioritize_verb: Option<String>,
    /// The verb that binds the pod in the scheduler's place; none: the scheduler binds it.
    pub bind_verb: Option<String>,
    /// Multiplies its scores.
    pub weight: i64,
    /// How long it may take. A filter that takes longer fails the attempt, scores that do are left out.
    pub timeout: Duration,
    /// It knows the nodes, so that names are enough.
    pub node_cache_capable: bool,
    /// Only pods whose containers name one of these resources concern it; empty: every pod does.
    pub managed_resources: BTreeSet<String>,
    /// Resources of which the extender alone decides whether a node has enough (`ignoredByScheduler`).
    pub ignored_resources: BTreeSet<String>,
    /// The attempt goes on without it when it fails.
    pub ignorable: bool,
}
