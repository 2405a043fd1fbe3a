//! The settings of one extender.

use std::collections::BTreeSet;
use std::time::Duration;

/// One extender (`KubeSchedulerConfiguration.extenders`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extender {
    /// `urlPrefix`, such as `http://host:port/path`; the verb is appended.
    pub url_prefix: String,
    /// `filterVerb`. `None`: it filters no nodes.
    pub filter_verb: Option<String>,
    /// `prioritizeVerb`. `None`: it scores no nodes. Scores are 0 to 10.
    pub prioritize_verb: Option<String>,
    /// `bindVerb`. `None`: the scheduler binds pods itself.
    pub bind_verb: Option<String>,
    /// `weight`: factor for its scores.
    pub weight: i64,
    /// `httpTimeout`. A filter call that times out fails the attempt; a scoring call that does is ignored.
    pub timeout: Duration,
    /// `nodeCacheCapable`: requests contain node names instead of node objects.
    pub node_cache_capable: bool,
    /// `managedResources`: it is called only for pods with one of these resources. Empty: for every pod.
    pub managed_resources: BTreeSet<String>,
    /// Resources that only the extender checks (`ignoredByScheduler`).
    pub ignored_resources: BTreeSet<String>,
    /// `ignorable`: a failed call does not fail the attempt.
    pub ignorable: bool,
}
