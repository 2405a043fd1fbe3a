//! Rows of role bindings. (Roles have no printer of their own in the real server.)

use super::{AGE, NAME, Printer, age, name, text, wide};
use crate::machinery::meta;
use serde_json::{Value, json};

pub(crate) static BINDING: Printer = Printer {
    columns: &[
        NAME,
        text("Role"),
        AGE,
        wide("Users"),
        wide("Groups"),
        wide("ServiceAccounts"),
    ],
    row: |o, now| {
        let role = &o["roleRef"];
        let word = |field: &str| role[field].as_str().unwrap_or_default();
        vec![
            name(o),
            json!(format!("{}/{}", word("kind"), word("name"))),
            age(o, now),
            subjects(o, "User"),
            subjects(o, "Group"),
            subjects(o, "ServiceAccount"),
        ]
    },
    null_when_empty: false,
};

/// The subjects of one kind, joined; service accounts with their namespaces.
fn subjects(binding: &Value, kind: &str) -> Value {
    let all = binding["subjects"].as_array().into_iter().flatten();
    let named = all.filter(|subject| subject["kind"] == kind).map(|subject| {
        let own = |field: &str| subject[field].as_str().unwrap_or_default();
        match kind {
            "ServiceAccount" => {
                let namespace = Some(own("namespace")).filter(|own| !own.is_empty());
                format!(
                    "{}/{}",
                    namespace.unwrap_or_else(|| meta::text(binding, "namespace")),
                    own("name")
                )
            }
            _ => own("name").to_owned(),
        }
    });
    json!(named.collect::<Vec<_>>().join(", "))
}
