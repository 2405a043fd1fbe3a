//! The autoscaler: each ability is taken away, or one added that the KEP refuses, and the finding that speaks of it no longer holds.

use labs::study::autoscaler::{Abilities, study};

use super::{SMALL, broken};

/// An autoscaler that goes about it otherwise, and the statements that say so.
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
fn what_an_autoscaler_does_otherwise_is_seen() {
    for (statements, change) in BROKEN {
        let mut abilities = Abilities::default();
        change(&mut abilities);
        let broken = broken(&study(abilities, SMALL));
        for statement in statements {
            assert!(broken.contains(statement), "{statement}: {broken:?}");
        }
    }
}
