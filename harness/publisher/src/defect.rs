//! Deliberate defects, for judging those who judge publishers: a suite that lets one of them pass is too weak. Each is one small switch
//! where it acts; this file only names them.

use std::{fmt, str::FromStr};

/// One way of being wrong. None is on unless it is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Defect {
    /// Never publishes `maximumVolumeSize`.
    IgnoresMaximum,
    /// Watches without the label selector, and deletes objects that nobody manages.
    DeletesManual,
    /// Neither polls nor refreshes after volumes came or went.
    NeverRefreshes,
    /// Knows only the segments that were there at the start.
    IgnoresNewNodes,
    /// Leaves objects whose class or segment is gone, and duplicates.
    KeepsObsolete,
    /// Writes each object on each refresh, changed or not.
    RewritesUnchanged,
    /// Publishes `nodeTopology: {}`, which selects all nodes, for every segment.
    MergesTopologyNil,
    /// Does not give the selected node back when storage is exhausted.
    KeepsSelectedNode,
    /// Deletes the object of a driver without topology on every refresh, and makes it anew.
    FlapsWithoutTopology,
    /// Makes no volume before a node is selected, not even for classes with immediate binding.
    AwaitsNodeAlways,
    /// Tells no class of new segments once it has met one with immediate binding.
    StopsAtImmediate,
    /// Goes on writing with the version of an object that it saw first.
    KeepsFirstVersion,
    /// Makes no volumes for claims of raw devices.
    RefusesBlock,
    /// Makes volumes wherever it likes, whatever the class allows.
    IgnoresAllowedTopologies,
    /// Does not shorten the managed-by label.
    LongLabel,
    /// Repeats what failed without waiting.
    RetriesAtOnce,
    /// Waits an hour before it repeats what failed.
    NeverRetries,
    /// Asks the driver three times for each figure.
    AsksThrice,
    /// Creates each object twice.
    MakesDuplicates,
    /// Takes no notice of labels of nodes that change.
    KeepsFirstLabels,
    /// Ends at an object of its own that says no capacity.
    CrashesOnUnset,
    /// Asks drivers for capacity that do not offer to tell it.
    AsksUnasked,
    /// Takes a negative figure for none.
    TakesNegativeForZero,
    /// Removes the objects of a driver as soon as it unregisters.
    DropsAtOnce,
    /// Takes a driver that does not answer for one without capacity.
    TakesErrorForZero,
    /// Never publishes zero, though it was asked to.
    HidesZero,
    /// Gives its objects no owner.
    ForgetsOwner,
    /// Publishes for classes with immediate binding if it was not asked to, and the other way round.
    SwapsImmediate,
    /// Takes every object of its driver for its own, whoever manages it.
    TakesOthers,
    /// Takes no notice of objects from before it started.
    IgnoresPrior,
    /// Ends when the API server refuses to publish.
    EndsAtRefusal,
    /// Names a volume anew at each attempt to make it.
    RenamesVolumes,
    /// Deletes no volumes.
    LeaksVolumes,
    /// Asks for the whole topology, though only the selected node was meant.
    IgnoresStrictTopology,
    /// Publishes through the newest version of the API only.
    KnowsNewestOnly,
    /// Leaves figures that the driver does not tell any more, though they are to go.
    KeepsUntold,
    /// Knows the first topology key of a node only.
    ForgetsKeys,
    /// Publishes whole gibibytes, rounded up.
    RoundsUp,
    /// Does not write an object of which only the maximum volume size changed.
    IgnoresMaximumChanges,
    /// Ends at a claim that names it as provisioner and has no class.
    CrashesOnClassless,
    /// Leaves volumes that turned out too small, or that nobody claims any more.
    LeavesUnwanted,
    /// Works whether or not it holds the Lease.
    IgnoresLease,
    /// Asks the driver as fast as it can, whatever the limit.
    IgnoresAskingLimit,
    /// Watches all objects of its namespace, and picks its own ones itself.
    WatchesEverything,
    /// Tells the driver the parameters of the class that are for the provisioner, too.
    PassesReservedParameters,
    /// As the cleaner: removes nothing.
    CleansNothing,
    /// As the cleaner: goes on counting when a driver comes back.
    CleansReturned,
    /// As the cleaner: takes the objects of whoever is not on a node for orphans.
    CleansOthers,
    /// Publishes even if it was told not to.
    PublishesUnasked,
    /// Makes volumes without secrets and attributes, and empty ones instead of copies.
    ForgetsSources,
    /// Connects to the driver once, and never again.
    ConnectsOnce,
}

impl Defect {
    /// All defects, with the names by which they are chosen.
    pub const ALL: [(Defect, &'static str); 51] = [
        (Defect::IgnoresMaximum, "publisher-ignores-maximum"),
        (Defect::DeletesManual, "publisher-deletes-manual"),
        (Defect::NeverRefreshes, "publisher-never-refreshes"),
        (Defect::IgnoresNewNodes, "publisher-ignores-new-nodes"),
        (Defect::KeepsObsolete, "publisher-keeps-obsolete"),
        (Defect::RewritesUnchanged, "publisher-rewrites-unchanged"),
        (Defect::MergesTopologyNil, "publisher-merges-topology-nil"),
        (Defect::KeepsSelectedNode, "publisher-keeps-selected-node"),
        (Defect::FlapsWithoutTopology, "publisher-flaps-without-topology"),
        (Defect::AwaitsNodeAlways, "publisher-awaits-node-always"),
        (Defect::StopsAtImmediate, "publisher-stops-at-immediate"),
        (Defect::KeepsFirstVersion, "publisher-keeps-first-version"),
        (Defect::RefusesBlock, "publisher-refuses-block"),
        (
            Defect::IgnoresAllowedTopologies,
            "publisher-ignores-allowed-topologies",
        ),
        (Defect::LongLabel, "publisher-long-label"),
        (Defect::RetriesAtOnce, "publisher-retries-at-once"),
        (Defect::NeverRetries, "publisher-never-retries"),
        (Defect::AsksThrice, "publisher-asks-thrice"),
        (Defect::MakesDuplicates, "publisher-makes-duplicates"),
        (Defect::KeepsFirstLabels, "publisher-keeps-first-labels"),
        (Defect::CrashesOnUnset, "publisher-crashes-on-unset"),
        (Defect::AsksUnasked, "publisher-asks-unasked"),
        (Defect::TakesNegativeForZero, "publisher-takes-negative-for-zero"),
        (Defect::DropsAtOnce, "publisher-drops-at-once"),
        (Defect::TakesErrorForZero, "publisher-takes-error-for-zero"),
        (Defect::HidesZero, "publisher-hides-zero"),
        (Defect::ForgetsOwner, "publisher-forgets-owner"),
        (Defect::SwapsImmediate, "publisher-swaps-immediate"),
        (Defect::TakesOthers, "publisher-takes-others"),
        (Defect::IgnoresPrior, "publisher-ignores-prior"),
        (Defect::EndsAtRefusal, "publisher-ends-at-refusal"),
        (Defect::RenamesVolumes, "publisher-renames-volumes"),
        (Defect::LeaksVolumes, "publisher-leaks-volumes"),
        (Defect::IgnoresStrictTopology, "publisher-ignores-strict-topology"),
        (Defect::KnowsNewestOnly, "publisher-knows-newest-only"),
        (Defect::KeepsUntold, "publisher-keeps-untold"),
        (Defect::ForgetsKeys, "publisher-forgets-keys"),
        (Defect::RoundsUp, "publisher-rounds-up"),
        (Defect::IgnoresMaximumChanges, "publisher-ignores-maximum-changes"),
        (Defect::CrashesOnClassless, "publisher-crashes-on-classless"),
        (Defect::LeavesUnwanted, "publisher-leaves-unwanted-volumes"),
        (Defect::IgnoresLease, "publisher-ignores-lease"),
        (Defect::IgnoresAskingLimit, "publisher-ignores-asking-limit"),
        (Defect::WatchesEverything, "publisher-watches-everything"),
        (
            Defect::PassesReservedParameters,
            "publisher-passes-reserved-parameters",
        ),
        (Defect::CleansNothing, "cleaner-idle"),
        (Defect::CleansReturned, "cleaner-forgets-return"),
        (Defect::CleansOthers, "cleaner-takes-others"),
        (Defect::PublishesUnasked, "publisher-publishes-unasked"),
        (Defect::ForgetsSources, "publisher-forgets-sources"),
        (Defect::ConnectsOnce, "publisher-connects-once"),
    ];
}

impl fmt::Display for Defect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Defect::ALL
            .iter()
            .find(|(defect, _)| defect == self)
            .map_or("", |(_, name)| name);
        out.write_str(name)
    }
}

/// There is no defect of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no defect {0:?}; choose one that starts with \"publisher-\" or \"cleaner-\" from the table of defects"
)]
pub struct UnknownDefect(String);

impl FromStr for Defect {
    type Err = UnknownDefect;

    fn from_str(text: &str) -> Result<Defect, UnknownDefect> {
        let found = Defect::ALL.iter().find(|(_, name)| *name == text);
        found
            .map(|(defect, _)| *defect)
            .ok_or_else(|| UnknownDefect(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_defect_is_in_the_table_and_reads_back() {
        for (defect, name) in Defect::ALL {
            assert_eq!(name.parse(), Ok(defect));
            assert_eq!(defect.to_string(), name);
        }
        assert_eq!(
            Defect::ALL.len(),
            Defect::ConnectsOnce as usize + 1,
            "a defect is missing in the table"
        );
    }
}
