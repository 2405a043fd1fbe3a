//! The model of the API types: fields, their types, and how they merge.
//!
//! Built from the type table, which protobuf uses too. Used for decoding, patches, field management and OpenAPI. Which types are served is
//! defined in `kinds`.

mod conform;
mod empties;
mod field_path;
mod form_error;
mod scalar;
pub mod structural;
mod table;
mod types;

pub use conform::conform_metadata;
pub(crate) use conform::{Conformed, conform, zero};
pub(crate) use empties::{Empty, nullify_empties, restore_empties};
pub use form_error::FormError;
pub(crate) use types::{Field, Ownership, Presence, Strategy, Type, ValueType};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::KINDS;
    use crate::types::TYPES;

    #[test]
    fn every_served_kind_has_a_type() {
        for kind in KINDS {
            let found = Type::find(&kind.api_version(), kind.kind);
            assert!(
                found.is_some(),
                "{} {} is not in the type table",
                kind.api_version(),
                kind.kind
            );
        }
    }

    #[test]
    fn notes_on_inlined_members_refer_to_existing_members() {
        for block in TYPES.iter() {
            let (group, version, kind) = match block.name.split('.').collect::<Vec<_>>().as_slice() {
                [group, version, kind] => (*group, *version, *kind),
                _ => panic!("{} is no name of a type", block.name),
            };
            for (member, _) in &block.inlined {
                let of =
                    Type::find(&format!("{group}/{version}"), kind).or_else(|| Type::find(version, kind));
                let found = of.and_then(|of| of.field(member));
                assert!(found.is_some(), "{} has no {member}", block.name);
            }
        }
    }

    #[test]
    fn containers_of_pods_merge_by_name() {
        let pod = Type::find("v1", "Pod").expect("pods are in the table");
        let Some(ValueType::Struct(spec)) = pod.field("spec").map(|field| &field.form) else {
            panic!("pods have a spec");
        };
        let spec = spec.get();
        let containers = spec.field("containers").expect("pod specs have containers");
        assert_eq!(
            containers.strategy,
            Strategy {
                merge: true,
                key: Some("name")
            }
        );
        assert_eq!(containers.ownership, Ownership::Keyed(vec!["name"]));
        assert_eq!(containers.presence, Presence::Always);
    }
}
