//! `designs`: the API designs that the KEP considered, as typed models, compared on the same clusters.
//!
//! ```text
//! input_cluster  a cluster and its storage, without objects    draw, examples   input clusters
//! model          the objects of each design                    shape, flat      conversion to objects
//! lookup         a scheduler that evaluates the objects        filter           the real filter, for the flat design
//! rules          the rules of the designs, one field each
//! ```
//!
//! The other modules are experiments on the designs; each returns findings.

mod agreement;
mod conflicts;
mod conversion;
mod draw;
mod entries;
mod examples;
mod extender;
mod filter;
mod flat;
mod inline;
mod input_cluster;
mod lookup;
mod model;
mod publisher;
mod publishing;
pub mod rules;
mod scores;
mod selector;
mod server;
mod shape;
mod size;
mod stored;

pub use rules::DesignRules;

use crate::study::result::{Setup, Study};

/// Runs the study with the API designs as the KEP describes them.
pub fn run(setup: Setup) -> Study {
    study(&DesignRules::default(), setup)
}

/// Runs the study with changed rules for the API designs.
pub fn study(rules: &DesignRules, setup: Setup) -> Study {
    let mut study = Study::new(
        "designs",
        "The API designs that the KEP considered: expressiveness, cost, and scheduling decisions",
        setup,
    );
    let (table, findings) = agreement::study(rules, setup);
    study.tables.push(table);
    study.findings.extend(findings);
    study.findings.extend(entries::findings(rules));
    study.findings.extend(stored::findings(rules));
    let (table, findings) = conflicts::study(rules);
    study.tables.push(table);
    study.findings.extend(findings);
    study.findings.extend(publishing::findings(rules));
    study.findings.extend(inline::findings(rules));
    let costs = size::study(setup);
    study.tables.extend(costs.tables);
    study.plots.extend(costs.plots);
    study.findings.extend(costs.findings);
    study.findings.extend(scores::findings(rules, setup));
    let (table, findings) = extender::study(setup);
    study.tables.push(table);
    study.findings.extend(findings);
    study.findings.sort_by_key(|finding| finding.sort_key());
    study
}
