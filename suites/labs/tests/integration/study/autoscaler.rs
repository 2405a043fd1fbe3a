//! The autoscaler study: with a feature disabled, or one added that the KEP rejects, the corresponding finding fails.

use labs::study::autoscaler::{Abilities, study};

use super::{SMALL, broken};

/// Statements whose findings must fail, and the change of the autoscaler.
type Broken = (&'static [&'static str], fn(&mut Abilities));

const BROKEN: [Broken; 6] = [
    (&["AUTO-03", "AUTO-04", "AUTO-12", "AUTO-13"], |it| {
        it.rewrites = false;
    }),
    (&["AUTO-02", "AUTO-05"], |it| it.takes_pool_labels = false),
    (&["AUTO-08", "AUTO-10"], |it| it.waits = false),
    (&["AUTO-01", "AUTO-06", "AUTO-07", "LIM-26", "LIM-27"], |it| {
        it.asks_filter = false;
    }),
    (&["AUTO-12", "AUTO-18", "LIM-25"], |it| it.counts_volumes = true),
    (&["AUTO-16"], |it| it.shrinks = false),
];

#[test]
fn changed_autoscaler_features_fail_their_findings() {
    for (statements, change) in BROKEN {
        let mut abilities = Abilities::default();
        change(&mut abilities);
        let broken = broken(&study(abilities, SMALL));
        for statement in statements {
            assert!(broken.contains(statement), "{statement}: {broken:?}");
        }
    }
}
