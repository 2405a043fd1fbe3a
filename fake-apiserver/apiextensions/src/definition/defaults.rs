//! Defaults of CRDs: names, conversion strategy, and the stored versions in the status.

use fake_apiserver::extension::json;
use serde_json::{Value, json};

/// Sets the defaults of a CRD, such as the list kind and the conversion strategy.
pub(crate) fn default(definition: &mut Value) {
    if definition["spec"].is_object() {
        names(&mut definition["spec"]["names"]);
        let spec = &mut definition["spec"];
        json::default_member(spec, "conversion", json!({"strategy": "None"}));
        if let Some(service) = spec.pointer_mut("/conversion/webhook/clientConfig/service") {
            json::default_member(service, "port", 443);
        }
    }
    if json::list(&definition["status"]["storedVersions"]).is_empty() {
        add_stored_version(definition);
    }
}

fn names(names: &mut Value) {
    let kind = json::string(names, "kind").to_owned();
    if json::string(names, "singular").is_empty() {
        json::assign(names, "singular", kind.to_lowercase().into());
    }
    if json::string(names, "listKind").is_empty() && !kind.is_empty() {
        json::assign(names, "listKind", format!("{kind}List").into());
    }
}

pub(crate) fn add_stored_version(definition: &mut Value) {
    let mut versions = json::list(&definition["spec"]["versions"]).iter();
    let Some(storage) = versions.find(|version| version["storage"] == true) else {
        return;
    };
    let name = storage["name"].clone();
    let mut stored = json::list(&definition["status"]["storedVersions"]).to_vec();
    if !stored.contains(&name) {
        stored.push(name);
        json::member(definition, "status").insert("storedVersions".to_owned(), stored.into());
    }
}
