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
}

impl Defect {
    /// All defects, with the names by which they are chosen.
    pub const ALL: [(Defect, &'static str); 19] = [
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
            Defect::ForgetsSources as usize + 1,
            "a defect is missing in the table"
        );
    }
}
