//! The results of one shard of a self-test as data, and the report on the merged results of all shards.

use serde::{Deserialize, Serialize};

use super::Pairing;
use super::record::{SelftestReport, Trial};
use super::scope::{CaseSummary, Scope};
use suites::report::ShardsRecord;
use suites::{Defect, Defects};

/// Results of the runs of one or several hosts, and the scope of the whole self-test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardTrials {
    /// Names of all selected defects, in catalogue order.
    defects: Vec<String>,
    /// All selected cases.
    cases: Vec<CaseSummary>,
    is_whole: bool,
    full: bool,
    sut: Option<String>,
    /// Results of the completed runs.
    trials: Vec<Trial>,
}

impl ShardTrials {
    /// Creates the results of one host.
    pub fn new(scope: Scope, trials: Vec<Trial>) -> Self {
        ShardTrials {
            defects: scope.defects.into_iter().map(|defect| defect.name).collect(),
            cases: scope.cases,
            is_whole: scope.is_whole,
            full: scope.pairing == Pairing::Full,
            sut: scope.sut,
            trials,
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.trials.extend(other.trials);
    }

    /// Creates the report. `shards`: the merged shards, `None` if all are merged. Leaves out the defects of missing shards.
    pub fn report(mut self, shards: Option<&ShardsRecord>, command: Vec<String>) -> SelftestReport {
        self.trials
            .sort_by(|a, b| (&a.defect, &a.case).cmp(&(&b.defect, &b.case)));
        let catalogue = Defects::load();
        let known = self.defects.iter().filter_map(|name| catalogue.get(name));
        let defects: Vec<Defect> = known.cloned().collect();
        let has = |number: usize| shards.is_none_or(|shards| shards.has_item(number));
        let mine = defects.into_iter().enumerate();
        let mine = mine.filter_map(|(number, defect)| has(number).then_some(defect));
        let scope = Scope {
            defects: mine.collect(),
            cases: self.cases,
            is_whole: self.is_whole && shards.is_none(),
            pairing: if self.full { Pairing::Full } else { Pairing::Named },
            sut: self.sut,
        };
        let missing = shards.map(ShardsRecord::partial_reasons).unwrap_or_default();
        SelftestReport {
            partial: shards.map(|_| missing.join(", ")),
            ..SelftestReport::new(&scope, &self.trials, command)
        }
    }
}
