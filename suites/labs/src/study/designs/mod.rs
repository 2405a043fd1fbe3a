//! `designs`: the designs that the documents weighed, each as a typed model, held against the same worlds and against each other.
//!
//! ```text
//! world       a cluster and its storage, in no design         draw, examples   worlds to begin with
//! model       the objects of each design                       shape, flat      a world, written down
//! lookup      a scheduler that reads the objects               filter           the real filter, for the flat design
//! documents   the rules that all of this follows, one by one
//! ```
//!
//! Everything else is an experiment with these, and gives findings.

mod agreement;
mod conflicts;
pub mod documents;
mod draw;
mod entries;
mod examples;
mod extender;
mod filter;
mod flat;
mod inline;
mod lookup;
mod model;
mod publisher;
mod publishing;
mod scores;
mod selector;
mod server;
mod shape;
mod size;
mod stored;
mod words;
mod world;

pub use documents::Documents;

use crate::study::result::{Setup, Study};

/// The designs as the documents have them.
pub fn run(setup: Setup) -> Study {
    study(&Documents::default(), setup)
}

/// The designs under these rules.
pub fn study(documents: &Documents, setup: Setup) -> Study {
    let mut study = Study::new(
        "designs",
        "The designs that were weighed: what each can say, what it costs, and whether it decides the same",
        setup,
    );
    let (table, findings) = agreement::study(documents, setup);
    study.tables.push(table);
    study.findings.extend(findings);
    study.findings.extend(entries::findings(documents));
    study.findings.extend(stored::findings(documents));
    let (table, findings) = conflicts::study(documents);
    study.tables.push(table);
    study.findings.extend(findings);
    study.findings.extend(publishing::findings(documents));
    study.findings.extend(inline::findings(documents));
    let costs = size::study(setup);
    study.tables.extend(costs.tables);
    study.plots.extend(costs.plots);
    study.findings.extend(costs.findings);
    study.findings.extend(scores::findings(documents, setup));
    let (table, findings) = extender::study(setup);
    study.tables.push(table);
    study.findings.extend(findings);
    study.findings.sort_by_key(|finding| finding.order());
    study
}
