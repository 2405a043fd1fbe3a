//! Consistency of the specification's rules with the requirements.

use std::collections::BTreeSet;

use capacity_spec::RULES;
use suites::Catalogue;

#[test]
fn every_requirement_of_a_rule_is_in_the_catalogue() {
    let catalogue = Catalogue::load();
    for rule in RULES {
        assert!(!rule.requirements.is_empty(), "{}", rule.id);
        let distinct: BTreeSet<_> = rule.requirements.iter().collect();
        assert_eq!(
            distinct.len(),
            rule.requirements.len(),
            "{} names a requirement twice",
            rule.id
        );
        for id in rule.requirements {
            assert!(
                catalogue.get(id).is_some(),
                "{} names {id}, which is not in requirements.yaml",
                rule.id
            );
        }
    }
}
