//! The scoring study: with policies swapped, or with side effects, the corresponding findings fail.

use labs::study::scoring::{Policies, study};

use super::{SMALL, failed_statements};

/// Ids of the statements whose findings must fail, and the change of the scoring policies that makes them fail.
type FailingChange = (&'static [&'static str], fn(&mut Policies));

const CHANGES: [FailingChange; 4] = [
    (&["SCORE-22", "SCORE-23", "SCORE-29"], |it| {
        std::mem::swap(&mut it.room, &mut it.tight);
    }),
    (&["SCORE-29", "LIM-17"], |it| {
        it.room = it.none.clone();
    }),
    (&["SCORE-20", "SCORE-28"], |it| {
        it.tight.skips_capacity_check = true;
    }),
    (&["SCORE-23"], |it| it.tight = it.none.clone()),
];

#[test]
fn changed_policies_fail_their_findings() {
    for (statements, change) in CHANGES {
        let mut policies = Policies::default();
        change(&mut policies);
        let failed = failed_statements(&study(&policies, SMALL));
        for statement in statements {
            assert!(failed.contains(statement), "{statement}: {failed:?}");
        }
    }
}
