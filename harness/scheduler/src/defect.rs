//! Deliberate defects: the table that proves a suite able to fail.
//!
//! A defect is chosen by whoever starts the scheduler and changes one decision. Where it acts, the code asks
//! [`Rules::has`](crate::rules::Rules::has), or the cache and the options their own copy.

use std::fmt;
use std::str::FromStr;

/// One wrong behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Compares requests with `capacity` even where `maximumVolumeSize` is set.
    IgnoresMaximum,
    /// Checks capacity of every class, whether or not its driver tracks it, or exists.
    IgnoresFlag,
    /// Adds up the limits of several accessible objects.
    SumsObjects,
    /// Takes an absent `nodeTopology` for access from everywhere.
    NilTopologyEverywhere,
    /// Demands one byte more than requested.
    OffByOne,
    /// Does not retry when capacity appears or grows.
    NeverWakes,
    /// Checks no capacity at all.
    SkipsCapacity,
    /// Turns every shape around: the best score becomes the worst.
    PrefersFullest,
    /// Takes every tracked class for full.
    RefusesTracked,
    /// Places only pods that have claims.
    ForgetsPlainPods,
    /// Has every volume made anew, though one exists that would do.
    IgnoresVolumes,
    /// Adds up the capacity of a class once for each of its claims.
    SumsPools,
    /// Scores each class by its last claim alone.
    ForgetsClaims,
    /// Scores dynamic claims beside static bindings.
    MixesStatic,
    /// Scores by the maximum volume size.
    ScoresMaximum,
    /// Ends when it has to score an object that has a maximum volume size only.
    CrashesOnUnset,
    /// Does not retry when a driver stops tracking capacity.
    SleepsThroughFlag,
    /// Does not retry when nodes come or change.
    SleepsThroughNodes,
    /// Does not retry when classes come or change.
    SleepsThroughClasses,
    /// Computes with 64 bits, and takes no notice of overflows.
    WrapsNumbers,
    /// Has volumes made where their class does not allow it.
    IgnoresAllowedTopologies,
    /// Checks capacity though that is switched off.
    IgnoresGate,
    /// Does not say why a pod is not placed.
    GivesNoReason,
    /// Takes no notice of the node that is selected for a claim already.
    ForgetsSelection,
    /// Takes a bound claim for one that needs a volume.
    ChecksBound,
    /// Scores by the default shape, whatever was set.
    IgnoresShape,
    /// Does not retry after a write that was refused.
    GivesUp,
    /// Goes on with capacity objects that were deleted.
    KeepsGone,
    /// Takes no notice of capacity objects that change.
    KeepsFirstFigures,
    /// Is woken by capacity alone: not by nodes, claims, volumes, classes or drivers.
    WakesForCapacityOnly,
    /// Learns nothing from a list that comes again after a watch has expired.
    ForgetsLists,
    /// Does not wait for drivers, objects and classes before it decides: what it does not know yet is absent to it.
    AssumesAbsence,
    /// Is like the newest release, whichever it is told to be like.
    IgnoresRelease,
    /// Asks no extender.
    AsksNoExtender,
    /// Asks extenders about nodes that it has refused itself.
    AsksAboutRefused,
    /// Goes on without an extender that has to be asked.
    IgnoresExtenderErrors,
    /// Does not go on without an extender that is ignorable.
    NeedsEveryExtender,
    /// Takes no notice of extenders' scores.
    IgnoresExtenderScores,
    /// Asks every extender about every pod, whatever resources it manages.
    AsksUnconcerned,
}

/// Every defect with its name on the command line.
const NAMES: [(&str, Defect); 39] = [
    ("scheduler-ignores-maximum", Defect::IgnoresMaximum),
    ("scheduler-ignores-flag", Defect::IgnoresFlag),
    ("scheduler-sums-objects", Defect::SumsObjects),
    ("scheduler-nil-topology-everywhere", Defect::NilTopologyEverywhere),
    ("scheduler-off-by-one", Defect::OffByOne),
    ("scheduler-never-wakes", Defect::NeverWakes),
    ("scheduler-skips-capacity", Defect::SkipsCapacity),
    ("scheduler-prefers-fullest", Defect::PrefersFullest),
    ("scheduler-refuses-tracked", Defect::RefusesTracked),
    ("scheduler-forgets-plain-pods", Defect::ForgetsPlainPods),
    ("scheduler-ignores-volumes", Defect::IgnoresVolumes),
    ("scheduler-sums-pools", Defect::SumsPools),
    ("scheduler-forgets-claims", Defect::ForgetsClaims),
    ("scheduler-mixes-static", Defect::MixesStatic),
    ("scheduler-scores-maximum", Defect::ScoresMaximum),
    ("scheduler-crashes-on-unset", Defect::CrashesOnUnset),
    ("scheduler-sleeps-through-flag", Defect::SleepsThroughFlag),
    ("scheduler-sleeps-through-nodes", Defect::SleepsThroughNodes),
    ("scheduler-sleeps-through-classes", Defect::SleepsThroughClasses),
    ("scheduler-wraps-numbers", Defect::WrapsNumbers),
    (
        "scheduler-ignores-allowed-topologies",
        Defect::IgnoresAllowedTopologies,
    ),
    ("scheduler-ignores-gate", Defect::IgnoresGate),
    ("scheduler-gives-no-reason", Defect::GivesNoReason),
    ("scheduler-forgets-selection", Defect::ForgetsSelection),
    ("scheduler-checks-bound", Defect::ChecksBound),
    ("scheduler-ignores-shape", Defect::IgnoresShape),
    ("scheduler-gives-up", Defect::GivesUp),
    ("scheduler-keeps-gone", Defect::KeepsGone),
    ("scheduler-keeps-first-figures", Defect::KeepsFirstFigures),
    ("scheduler-wakes-for-capacity-only", Defect::WakesForCapacityOnly),
    ("scheduler-forgets-lists", Defect::ForgetsLists),
    ("scheduler-assumes-absence", Defect::AssumesAbsence),
    ("scheduler-ignores-release", Defect::IgnoresRelease),
    ("scheduler-asks-no-extender", Defect::AsksNoExtender),
    ("scheduler-asks-about-refused", Defect::AsksAboutRefused),
    ("scheduler-ignores-extender-errors", Defect::IgnoresExtenderErrors),
    ("scheduler-needs-every-extender", Defect::NeedsEveryExtender),
    ("scheduler-ignores-extender-scores", Defect::IgnoresExtenderScores),
    ("scheduler-asks-unconcerned", Defect::AsksUnconcerned),
];

/// The name given is not in the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("defect {name:?} is unknown: choose one of {known}")]
pub struct UnknownDefect {
    name: String,
    known: String,
}

impl Defect {
    /// All defects, in the order of the table.
    pub const ALL: [Self; NAMES.len()] = {
        let mut all = [Self::IgnoresMaximum; NAMES.len()];
        let mut i = 0;
        while i < NAMES.len() {
            all[i] = NAMES[i].1;
            i += 1;
        }
        all
    };

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, defect)| *defect == self)
            .map_or("", |(name, _)| name)
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Defect {
    type Err = UnknownDefect;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, defect)| *defect).ok_or_else(|| UnknownDefect {
            name: name.to_owned(),
            known: NAMES.map(|(known, _)| known).join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_leads_to_its_defect_and_back() {
        for defect in Defect::ALL {
            assert_eq!(defect.name().parse(), Ok(defect));
        }
        let names: BTreeSet<_> = Defect::ALL.map(Defect::name).into();
        assert_eq!(names.len(), NAMES.len());
        assert!("scheduler-sleeps".parse::<Defect>().is_err());
    }
}
