//! Every study at its small size: all findings hold, the seed determines the result, and a disabled rule fails its finding.

mod autoscaler;
mod designs;
mod result;
mod scoring;

use std::collections::BTreeSet;

use labs::study::{Setup, Size, Study};

/// Inputs of the studies.
const SMALL: Setup = Setup {
    size: Size::Small,
    seed: 1,
};

/// The statements of failed findings.
fn failed_statements(study: &Study) -> BTreeSet<&'static str> {
    let failed = study.findings.iter().filter(|finding| !finding.holds());
    failed.map(|finding| finding.statement()).collect()
}
