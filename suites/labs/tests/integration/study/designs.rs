//! The designs study: with a rule of the KEP disabled, the corresponding finding fails.

use labs::study::designs::rules::{DesignRules, Expiry, Fallback, Write};
use labs::study::designs::study;

use super::{SMALL, failed_statements};

/// Id of the statement whose finding must fail, and the change of the design rules that makes it fail.
type FailingChange = (&'static str, fn(&mut DesignRules));

const CHANGES: [FailingChange; 27] = [
    ("ALT-01", |rules| rules.unset_means_tracked = true),
    ("ALT-03", |rules| rules.writes = Write::Put),
    ("ALT-03", |rules| rules.lists_are_merged = false),
    ("ALT-04", |rules| rules.lists_are_merged = false),
    ("ALT-05", |rules| {
        rules.pool_without_nodes_is_for_all = false;
    }),
    ("ALT-05", |rules| rules.both_are_rejected = false),
    ("ALT-06", |rules| rules.nodes_are_a_set = false),
    ("ALT-08", |rules| rules.fallback = Fallback::First),
    ("ALT-08", |rules| rules.fallback_serves_inline = false),
    ("ALT-11", |rules| rules.expiry = Expiry::AfterExpiryTime),
    ("ALT-11", |rules| rules.expiry = Expiry::Never),
    ("ALT-13", |rules| rules.status_is_deleted_with_driver = false),
    ("ALT-15", |rules| rules.inline_request_is_empty = false),
    ("ALT-17", |rules| rules.prefix_is_required = false),
    ("ALT-18", |rules| rules.segments_are_distinct = false),
    ("ALT-21", |rules| {
        rules.volumes_and_time_trigger_calls = false;
    }),
    ("ALT-22", |rules| rules.inline_is_checked = false),
    ("ALT-24", |rules| rules.size_needs_pod_info = false),
    ("ALT-25", |rules| rules.size_needs_pod_info = false),
    ("ALT-26", |rules| rules.two_sizes_are_rejected = false),
    ("ALT-27", |rules| rules.spec_is_immutable = false),
    ("ALT-28", |rules| rules.newest_applies = false),
    ("ALT-29", |rules| rules.driver_must_match = false),
    ("ALT-30", |rules| rules.fallback = Fallback::Never),
    ("ALT-32", |rules| rules.terms_become_objects = false),
    ("ALT-37", |rules| rules.scores_are_not_summed = false),
    ("GATE-34", |rules| rules.gate_drops_fields = false),
];

#[test]
fn a_disabled_rule_fails_its_finding() {
    for (statement, disable) in CHANGES {
        let mut rules = DesignRules::default();
        disable(&mut rules);
        let failed = failed_statements(&study(&rules, SMALL));
        assert!(failed.contains(statement), "{statement}: {failed:?}");
    }
}
