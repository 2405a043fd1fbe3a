//! Label and field selectors: parsing as in kube-apiserver, and matching.
//!
//! Owns the grammar. The selectable fields come from the resource definitions.

mod fields;
mod labels;
mod tokens;

pub(crate) use fields::FieldSelector;
pub use fields::{Selectable, selectable};
pub use labels::LabelSelector;

#[cfg(test)]
mod tests {
    //! Property tests; tests of the API cover concrete selectors.

    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn labels() -> impl Strategy<Value = BTreeMap<String, String>> {
        prop::collection::btree_map("[a-c]", "[x-z]{0,1}", 0..4)
    }

    fn matches(selector: &str, labels: &BTreeMap<String, String>) -> bool {
        LabelSelector::parse(selector)
            .unwrap()
            .matches(&json!({"metadata": {"labels": labels}}))
    }

    proptest! {
        #[test]
        fn each_object_matches_a_requirement_or_its_negation(labels in labels(), key in "[a-c]", value in "[x-z]{0,1}") {
            for (yes, no) in [
                (format!("{key}={value}"), format!("{key}!={value}")),
                (format!("{key} in ({value},y)"), format!("{key} notin ({value},y)")),
                (key.clone(), format!("!{key}")),
            ] {
                prop_assert_ne!(matches(&yes, &labels), matches(&no, &labels), "{} {}", yes, no);
            }
        }

        #[test]
        fn an_equality_requirement_matches_exactly_that_label_value(labels in labels(), key in "[a-c]", value in "[x-z]{0,1}") {
            prop_assert_eq!(matches(&format!("{key}=={value}"), &labels), labels.get(&key) == Some(&value));
        }

        #[test]
        fn all_requirements_must_match(labels in labels(), one in "!?[a-c](=[x-z])?", two in "[a-c]( in \\([x-z],[x-z]\\))?") {
            prop_assume!(!(one.starts_with('!') && one.contains('=')));
            let both = matches(&format!("{one},{two}"), &labels);
            prop_assert_eq!(both, matches(&one, &labels) && matches(&two, &labels));
        }

        #[test]
        fn escaped_field_values_are_unescaped(name in "[a-z,=\\\\]{1,8}") {
            let escaped = name.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
            let selector = FieldSelector::read(&format!("metadata.name={escaped}")).unwrap();
            static NAME: Selectable = selectable("metadata.name", &["/metadata/name"]);
            let selector = selector.resolve(|_| Ok(NAME)).unwrap();
            let object = json!({"metadata": {"name": name}});
            prop_assert!(selector.matches(&object));
        }

        #[test]
        fn the_parsers_never_panic(text in "\\PC{0,30}") {
            let _ = (LabelSelector::parse(&text).is_ok(), FieldSelector::read(&text).is_ok());
        }
    }
}
