//! Every study at its small size: all findings hold, the result depends only on the seed, and disabling a rule makes the finding for the
//! rule fail.

mod autoscaler;
mod designs;
mod result;
mod scoring;

use std::collections::BTreeSet;

use labs::study::{Setup, Size, Study};

/// Inputs of all studies: small size and a fixed seed.
const SMALL: Setup = Setup {
    size: Size::Small,
    seed: 1,
};

fn failed_statements(study: &Study) -> BTreeSet<&'static str> {
    let failed = study.findings.iter().filter(|finding| !finding.holds());
    failed.map(|finding| finding.statement()).collect()
}
