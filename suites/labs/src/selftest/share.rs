//! What one of several machines ran of a self-test, as data, and what follows from those that there are.

use serde::{Deserialize, Serialize};

use super::Reach;
use super::record::{SelftestReport, Trial};
use super::scope::{Scope, Subject};
use suites::report::ShardsRecord;
use suites::{Defect, Defects};

/// The runs of some machines, and what all of them have to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// The names of all defects that were asked for, in the order of the catalogue.
    defects: Vec<String>,
    /// All cases that were asked for.
    cases: Vec<Subject>,
    is_whole: bool,
    full: bool,
    sut: Option<String>,
    /// What has run.
    trials: Vec<Trial>,
}

impl Share {
    /// Of a self-test of which this has run.
    pub fn new(scope: Scope, trials: Vec<Trial>) -> Self {
        Share {
            defects: scope.defects.into_iter().map(|defect| defect.name).collect(),
            cases: scope.cases,
            is_whole: scope.is_whole,
            full: scope.reach == Reach::Full,
            sut: scope.sut,
            trials,
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.trials.extend(other.trials);
    }

    /// What it came to; `shards`: those that are in here, none: all there are. Where some are missing, nothing is said of their defects.
    pub fn report(mut self, shards: Option<&ShardsRecord>, command: Vec<String>) -> SelftestReport {
        self.trials
            .sort_by(|a, b| (&a.defect, &a.case).cmp(&(&b.defect, &b.case)));
        let catalogue = Defects::load();
        let known = self.defects.iter().filter_map(|name| catalogue.get(name));
        let defects: Vec<Defect> = known.cloned().collect();
        let has = |number: usize| shards.is_none_or(|shards| shards.has(number));
        let mine = defects.into_iter().enumerate();
        let mine = mine.filter_map(|(number, defect)| has(number).then_some(defect));
        let scope = Scope {
            defects: mine.collect(),
            cases: self.cases,
            is_whole: self.is_whole && shards.is_none(),
            reach: if self.full { Reach::Full } else { Reach::Named },
            sut: self.sut,
        };
        let missing = shards.map(ShardsRecord::reasons).unwrap_or_default();
        SelftestReport {
            partial: shards.map(|_| missing.join(", ")),
            ..SelftestReport::new(&scope, &self.trials, command)
        }
    }
}
