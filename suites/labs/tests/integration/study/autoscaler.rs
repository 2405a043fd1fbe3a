//! The autoscaler study detects wrong features: if a feature is disabled, or a feature enabled that the KEP rejects, the finding on that
//! feature fails.

use labs::study::autoscaler::{AutoscalerFeatures, study};

use super::{SMALL, failed_statements};

/// Ids of the statements whose findings must fail, and the change of the autoscaler features that makes them fail.
type FailingChange = (&'static [&'static str], fn(&mut AutoscalerFeatures));

const CHANGES: [FailingChange; 6] = [
    (&["AUTO-03", "AUTO-04", "AUTO-12", "AUTO-13"], |it| {
        it.rewrites = false;
    }),
    (&["AUTO-02", "AUTO-05"], |it| it.uses_pool_labels = false),
    (&["AUTO-08", "AUTO-10"], |it| it.waits_for_readiness = false),
    (&["AUTO-01", "AUTO-06", "AUTO-07", "LIM-26", "LIM-27"], |it| {
        it.runs_filter = false;
    }),
    (&["AUTO-12", "AUTO-18", "LIM-25"], |it| it.counts_volumes = true),
    (&["AUTO-16"], |it| it.scales_down = false),
];

#[test]
fn changed_autoscaler_features_fail_their_findings() {
    for (statements, change) in CHANGES {
        let mut features = AutoscalerFeatures::default();
        change(&mut features);
        let failed = failed_statements(&study(features, SMALL));
        for statement in statements {
            assert!(failed.contains(statement), "{statement}: {failed:?}");
        }
    }
}
