//! The designs study: with a rule of the KEP disabled, the corresponding finding fails.

use labs::study::designs::documents::{Documents, Expiry, Fallback, Write};
use labs::study::designs::study;

use super::{SMALL, broken};

/// The statement whose finding must fail, and the change of a rule.
type Broken = (&'static str, fn(&mut Documents));

const BROKEN: [Broken; 27] = [
    ("ALT-01", |documents| documents.unset_tracks = true),
    ("ALT-03", |documents| documents.writes = Write::Put),
    ("ALT-03", |documents| documents.lists_are_merged = false),
    ("ALT-04", |documents| documents.lists_are_merged = false),
    ("ALT-05", |documents| {
        documents.pool_without_nodes_is_for_all = false;
    }),
    ("ALT-05", |documents| documents.both_are_refused = false),
    ("ALT-06", |documents| documents.nodes_are_a_set = false),
    ("ALT-08", |documents| documents.fallback = Fallback::First),
    ("ALT-08", |documents| documents.fallback_serves_inline = false),
    ("ALT-11", |documents| documents.expiry = Expiry::AfterThen),
    ("ALT-11", |documents| documents.expiry = Expiry::Never),
    ("ALT-13", |documents| documents.status_goes_with_driver = false),
    ("ALT-15", |documents| documents.inline_request_is_empty = false),
    ("ALT-17", |documents| documents.prefix_is_needed = false),
    ("ALT-18", |documents| documents.segments_are_distinct = false),
    ("ALT-21", |documents| {
        documents.volumes_and_time_are_followed = false;
    }),
    ("ALT-22", |documents| documents.inline_is_checked = false),
    ("ALT-24", |documents| documents.size_needs_pod_info = false),
    ("ALT-25", |documents| documents.size_needs_pod_info = false),
    ("ALT-26", |documents| documents.two_sizes_are_refused = false),
    ("ALT-27", |documents| documents.spec_is_fixed = false),
    ("ALT-28", |documents| documents.newest_counts = false),
    ("ALT-29", |documents| documents.driver_must_match = false),
    ("ALT-30", |documents| documents.fallback = Fallback::Never),
    ("ALT-32", |documents| documents.terms_become_objects = false),
    ("ALT-37", |documents| documents.scores_are_not_summed = false),
    ("GATE-34", |documents| documents.gate_drops_fields = false),
];

#[test]
fn a_disabled_rule_fails_its_finding() {
    for (statement, take_away) in BROKEN {
        let mut documents = Documents::default();
        take_away(&mut documents);
        let broken = broken(&study(&documents, SMALL));
        assert!(broken.contains(statement), "{statement}: {broken:?}");
    }
}
