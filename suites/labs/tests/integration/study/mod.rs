//! Every study at its small size: all its findings hold, the seed decides it, and a broken rule is found by the finding that speaks of it.

mod autoscaler;
mod designs;
mod result;
mod scoring;

use std::collections::BTreeSet;

use labs::study::{Setup, Size, Study};

/// What a study is told here.
const SMALL: Setup = Setup {
    size: Size::Small,
    seed: 1,
};

/// The statements whose findings do not hold.
fn broken(study: &Study) -> BTreeSet<&'static str> {
    let broken = study.findings.iter().filter(|finding| !finding.holds());
    broken.map(|finding| finding.statement()).collect()
}
