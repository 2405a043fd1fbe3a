//! The settings of one extender.

use std::collections::BTreeSet;
use std::time::Duration;

/// One extender (`KubeSchedulerConfiguration.extenders`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extender {
    /// `urlPrefix`, such as `http://host:port/path`; the scheduler appends the verb.
    pub url_prefix: String,
    /// `filterVerb`. `None`: the extender does not filter nodes.
    pub filter_verb: Option<String>,
    /// `prioritizeVerb`. `None`: the extender does not score nodes. Scores are 0 to 10.
    pub prioritize_verb: Option<String>,
    /// `bindVerb`. `None`: the scheduler binds the pods.
    pub bind_verb: Option<String>,
    /// `weight`: factor for the extender's scores.
    pub weight: i64,
    /// `httpTimeout`. If a filter call times out, the attempt fails; if a scoring call times out, it is ignored.
    pub timeout: Duration,
    /// `nodeCacheCapable`: requests contain node names instead of node objects.
    pub node_cache_capable: bool,
    /// `managedResources`: the extender is called only for pods that request one of these resources. Empty: for every pod.
    pub managed_resources: BTreeSet<String>,
    /// Resources that only the extender checks (`ignoredByScheduler`).
    pub ignored_resources: BTreeSet<String>,
    /// `ignorable`: a failed call does not fail the attempt.
    pub ignorable: bool,
}
