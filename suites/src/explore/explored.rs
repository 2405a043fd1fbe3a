//! What exploration came to, as data: its summary and its report are made of this, here or on another machine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::explorer::Exploration;
use super::finding::{Finding, Repeated};
use crate::report::{CaseRecord, SettingsRecord, SystemRecord};

/// Which programs were explored, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Programs {
    /// What reports say of them.
    pub system: SystemRecord,
    /// Settings of their runs.
    pub settings: SettingsRecord,
    /// The options that name them, as a shell takes them.
    pub options: String,
    /// Whether time was simulated.
    pub is_simulated: bool,
}

/// What came of worlds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explored {
    /// Whose they are.
    pub programs: Programs,
    /// The seed of the first world, whoever ran it.
    pub seed: u64,
    /// Worlds that have run, apart from those that were skipped.
    pub worlds: u64,
    /// Events of all of them.
    pub events: u64,
    /// The values of each axis, with the number of worlds that had it.
    pub axes: BTreeMap<String, BTreeMap<String, u64>>,
    /// Worlds in which the specification was met, by what they were drawn for.
    pub met: BTreeMap<String, u64>,
    /// What went wrong, in the order of the seeds.
    pub findings: Vec<FoundRecord>,
    /// Entries of the manifest that excused a failure, as file:line:column, and how often.
    pub known: BTreeMap<String, u64>,
    /// Worlds that could not be decided, by their seed.
    pub undecided: Vec<u64>,
    /// Why worlds were skipped, and how many.
    pub skipped: BTreeMap<String, u64>,
    /// Worlds that could not be run, by their seed, and why.
    pub broken: Vec<(u64, String)>,
}

/// One thing that went wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundRecord {
    /// What tells it from others.
    pub signature: String,
    /// What the first world in which it went wrong was drawn for.
    pub focus: String,
    /// The seed of that world.
    pub seed: u64,
    /// In how many worlds it went wrong.
    pub worlds: u64,
    /// Whether nothing can be left out of its case.
    pub is_smallest: bool,
    /// Whether the case showed it again when it was written.
    pub repeated: Repeated,
    /// The case file.
    pub file: PathBuf,
    /// How its run ended.
    pub case: CaseRecord,
}

impl Explored {
    /// What came of the worlds from that seed on, with the findings that were written.
    pub fn new(programs: Programs, seed: u64, exploration: Exploration) -> Self {
        let axes = exploration.axes.iter();
        let met = exploration.met.into_iter();
        Explored {
            programs,
            seed,
            worlds: exploration.worlds,
            events: exploration.events,
            axes: axes
                .map(|(axis, values)| (axis.to_owned(), values.clone()))
                .collect(),
            met: met.map(|(focus, worlds)| (focus.to_owned(), worlds)).collect(),
            findings: exploration.findings.iter().filter_map(found).collect(),
            known: exploration.known,
            undecided: exploration.undecided,
            skipped: exploration.skipped,
            broken: exploration.broken,
        }
    }

    /// Changes every file and folder that it names.
    pub fn each_path(&mut self, change: &dyn Fn(&PathBuf) -> PathBuf) {
        for found in &mut self.findings {
            found.file = change(&found.file);
            found.case.folder = found.case.folder.as_ref().map(change);
        }
    }

    /// Takes in what came of other worlds. Of the same finding the one of the first world stays, as if one machine had run them all.
    pub fn add(&mut self, other: Self) {
        self.worlds += other.worlds;
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
        let worlds = known.worlds + found.worlds;
        if found.seed.wrapping_sub(first) < known.seed.wrapping_sub(first) {
            *known = found;
        }
        known.worlds = worlds;
    }
}

fn count(all: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>) {
    for (what, number) in more {
        *all.entry(what).or_default() += number;
    }
}

fn found(finding: &Finding) -> Option<FoundRecord> {
    let written = finding.written.as_ref()?;
    Some(FoundRecord {
        signature: finding.signature.to_string(),
        focus: finding.focus.name.to_owned(),
        seed: finding.seed,
        worlds: finding.worlds,
        is_smallest: finding.shrunk.is_smallest,
        repeated: written.repeated.clone(),
        file: written.file.clone(),
        case: written.record.clone(),
    })
}
