//! Scoring: policies that are swapped, or that do more than score, are seen by the findings that speak of them.

use labs::study::scoring::{Policies, study};

use super::{SMALL, broken};

/// Policies that are others than they are called, and the statements that say so.
type Broken = (&'static [&'static str], fn(&mut Policies));

const BROKEN: [Broken; 4] = [
    (&["SCORE-22", "SCORE-23", "SCORE-29"], |it| {
        std::mem::swap(&mut it.room, &mut it.tight);
    }),
    (&["SCORE-29", "LIM-17"], |it| {
        it.room = it.none.clone();
    }),
    (&["SCORE-20", "SCORE-28"], |it| it.tight.without_capacity = true),
    (&["SCORE-23"], |it| it.tight = it.none.clone()),
];

#[test]
fn a_policy_that_is_another_than_it_is_called_is_seen() {
    for (statements, change) in BROKEN {
        let mut policies = Policies::default();
        change(&mut policies);
        let broken = broken(&study(&policies, SMALL));
        for statement in statements {
            assert!(broken.contains(statement), "{statement}: {broken:?}");
        }
    }
}
