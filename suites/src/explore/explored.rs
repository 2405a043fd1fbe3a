//! Results of exploration as data. Summary and report are created from the data, on this machine or on another.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::explorer::Exploration;
use super::finding::{Finding, Reproduced};
use crate::report::{CaseRecord, SettingsRecord, SystemRecord};

/// The programs that were explored, and the settings of their runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Programs {
    /// The programs, as described in reports.
    pub system: SystemRecord,
    /// Settings of the runs.
    pub settings: SettingsRecord,
    /// Command-line options that select the programs, quoted for a shell.
    pub options: String,
    /// Whether time was simulated.
    pub is_simulated: bool,
}

/// Results of an exploration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explored {
    /// The explored programs.
    pub programs: Programs,
    /// Seed of the first cluster of the whole run, over all machines.
    pub seed: u64,
    /// Number of clusters that ran. Skipped clusters are not counted.
    #[serde(rename = "worlds")]
    pub clusters: u64,
    /// Total number of events in the generated clusters.
    pub events: u64,
    /// The values of each axis, with the number of clusters that had the value.
    pub axes: BTreeMap<String, BTreeMap<String, u64>>,
    /// Number of clusters without a violation, by focus (set of running programs).
    pub met: BTreeMap<String, u64>,
    /// Findings, in order of their seeds.
    pub findings: Vec<FoundRecord>,
    /// Manifest entries that excused a failure, as file:line:column, with the number of clusters that each entry excused.
    pub known: BTreeMap<String, u64>,
    /// Seeds of inconclusive clusters.
    pub undecided: Vec<u64>,
    /// Reasons for skipped clusters, with the number of clusters skipped for each.
    pub skipped: BTreeMap<String, u64>,
    /// Seeds and errors of clusters that could not run.
    pub broken: Vec<(u64, String)>,
}

/// A violation that exploration found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundRecord {
    /// The violation without names and values of the cluster, by which equal findings are recognized.
    pub signature: String,
    /// Focus (set of running programs) of the first cluster that showed the finding.
    pub focus: String,
    /// Seed of the first cluster that showed the finding.
    pub seed: u64,
    /// Number of clusters that showed the finding.
    #[serde(rename = "worlds")]
    pub clusters: u64,
    /// Whether the case of the finding is minimal.
    pub is_smallest: bool,
    /// Whether running the written case reproduced the finding.
    pub repeated: Reproduced,
    /// Path of the written case file.
    pub file: PathBuf,
    /// Result of running the written case.
    pub case: CaseRecord,
}

impl Explored {
    /// Converts an exploration that started at `seed`. Leaves out findings for which no case was written.
    pub fn new(programs: Programs, seed: u64, exploration: Exploration) -> Self {
        let axes = exploration.axes.iter();
        let met = exploration.met.into_iter();
        Explored {
            programs,
            seed,
            clusters: exploration.clusters,
            events: exploration.events,
            axes: axes
                .map(|(axis, values)| (axis.to_owned(), values.clone()))
                .collect(),
            met: met
                .map(|(focus, clusters)| (focus.to_owned(), clusters))
                .collect(),
            findings: exploration.findings.iter().filter_map(found_record).collect(),
            known: exploration.known,
            undecided: exploration.undecided,
            skipped: exploration.skipped,
            broken: exploration.broken,
        }
    }

    /// Applies `change` to all file and folder paths.
    pub fn each_path(&mut self, change: &dyn Fn(&PathBuf) -> PathBuf) {
        for found in &mut self.findings {
            found.file = change(&found.file);
            found.case.folder = found.case.folder.as_ref().map(change);
        }
    }

    /// Adds the results of other seeds. Of equal findings, the finding with the lowest seed remains, as if a single machine had run all
    /// clusters.
    pub fn add(&mut self, other: Self) {
        self.clusters += other.clusters;
        self.events += other.events;
        for (axis, values) in other.axes {
            count(self.axes.entry(axis).or_default(), values);
        }
        count(&mut self.met, other.met);
        count(&mut self.known, other.known);
        count(&mut self.skipped, other.skipped);
        self.undecided.extend(other.undecided);
        self.undecided.sort_unstable();
        self.broken.extend(other.broken);
        self.broken.sort();
        for found in other.findings {
            self.add_finding(found);
        }
        let first = self.seed;
        self.findings.sort_by_key(|found| found.seed.wrapping_sub(first));
    }

    fn add_finding(&mut self, found: FoundRecord) {
        let first = self.seed;
        let Some(known) = self
            .findings
            .iter_mut()
            .find(|known| known.signature == found.signature)
        else {
            return self.findings.push(found);
        };
        let clusters = known.clusters + found.clusters;
        if found.seed.wrapping_sub(first) < known.seed.wrapping_sub(first) {
            *known = found;
        }
        known.clusters = clusters;
    }
}

fn count(all: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>) {
    for (what, number) in more {
        *all.entry(what).or_default() += number;
    }
}

fn found_record(finding: &Finding) -> Option<FoundRecord> {
    let written = finding.written.as_ref()?;
    Some(FoundRecord {
        signature: finding.signature.to_string(),
        focus: finding.focus.name.to_owned(),
        seed: finding.seed,
        clusters: finding.clusters,
        is_smallest: finding.shrunk.is_smallest,
        repeated: written.repeated.clone(),
        file: written.file.clone(),
        case: written.record.clone(),
    })
}
