//! Names of a case's objects on a shared server: the names in the case, followed by a suffix that is unique to the case.
//!
//! The proxy adds the suffix to cluster-scoped objects and namespaces in requests and removes it from responses, so that the case, its
//! programs and its journal contain only the names of the case file. A name without the suffix never reaches the server, so a program
//! cannot change objects outside its case. Labels on each object contain the run and the case; lists and watches select by these labels.
//!
//! Knows which fields of objects and requests contain names. Sends nothing.

use fake_apiserver::{ResourcePath, ResourceRef, Verb};
use form_urlencoded::Serializer;
use serde_json::{Map, Value};

/// Label with the id of the run, on all objects that the run creates.
pub const RUN_LABEL: &str = "capacity-harness/run";
/// Label with the id of the case, on all objects that the case creates.
pub(crate) const CASE_LABEL: &str = "capacity-harness/case";

/// Cluster-scoped kinds to which other objects refer by `kind` and `name`.
const CLUSTER_KINDS: [&str; 9] = [
    "CSIDriver",
    "CSINode",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "StorageClass",
    "VolumeAttachment",
    "VolumeAttributesClass",
];

/// Fields of any object that contain the name of a cluster-scoped object or a namespace.
const NAME_FIELDS: [&str; 11] = [
    "attacher",
    "driver",
    "driverName",
    "namespace",
    "nodeName",
    "persistentVolumeName",
    "provisioner",
    "storageClassName",
    "targetVolumeAttributesClassName",
    "volumeAttributesClassName",
    "volumeName",
];

/// Maximum length of a suffix, in bytes.
pub(crate) const SUFFIX_MAX: usize = 20;

/// Converts the names of one case to the server's names and back.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    run: String,
    case: String,
    suffix: String,
}

impl Names {
    /// The names for the case with this number; numbers are unique within a run.
    pub(crate) fn new(run: &str, number: u64) -> Self {
        let case = format!("{run}{number:04}");
        Names {
            run: run.to_owned(),
            suffix: format!("-x{case}"),
            case,
        }
    }

    /// Value of [`CASE_LABEL`].
    pub(crate) fn case_id(&self) -> &str {
        &self.case
    }

    /// Adds the suffix of the case to a name. Does nothing if the name is empty or already has the suffix.
    pub(crate) fn server_name(&self, name: &str) -> String {
        if name.is_empty() || name.ends_with(&self.suffix) {
            return name.to_owned();
        }
        format!("{name}{}", self.suffix)
    }

    /// Converts a request path to a path with the server's names.
    pub(crate) fn path(&self, target: &ResourcePath) -> String {
        let mut path = match target.group.as_str() {
            "" => format!("/api/{}", target.version),
            group => format!("/apis/{group}/{}", target.version),
        };
        if let Some(namespace) = &target.namespace {
            path.push_str(&format!("/namespaces/{}", self.server_name(namespace)));
        }
        path.push('/');
        path.push_str(&target.resource);
        if let Some(name) = &target.name {
            path.push('/');
            match is_cluster_scoped(target) {
                true => path.push_str(&self.server_name(name)),
                false => path.push_str(name),
            }
        }
        if let Some(subresource) = &target.subresource {
            path.push('/');
            path.push_str(subresource);
        }
        path
    }

    /// Converts the query of a request to the server's names. List, watch and deletecollection are restricted to objects of the case.
    pub(crate) fn query(&self, verb: Verb, target: &ResourcePath, query: &str) -> String {
        let mut selector = None;
        if matches!(verb, Verb::List | Verb::Watch | Verb::DeleteCollection) {
            selector = Some(format!("{CASE_LABEL}={}", self.case));
        }
        let mut pairs = Serializer::new(String::new());
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*key {
                "labelSelector" => match selector.take() {
                    Some(own) if value.is_empty() => drop(pairs.append_pair(&key, &own)),
                    Some(own) => drop(pairs.append_pair(&key, &format!("{value},{own}"))),
                    None => drop(pairs.append_pair(&key, &value)),
                },
                "fieldSelector" => {
                    let fields = self.convert_field_selector(target, &value);
                    pairs.append_pair(&key, &fields);
                }
                // Added below for every watch, also if the client uses the deprecated path `/watch/` instead of the parameter `watch`.
                "watch" => {}
                _ => drop(pairs.append_pair(&key, &value)),
            }
        }
        if let Some(own) = selector {
            pairs.append_pair("labelSelector", &own);
        }
        if verb == Verb::Watch {
            pairs.append_pair("watch", "true");
        }
        pairs.finish()
    }

    /// Converts the object names in a field selector to the server's names.
    fn convert_field_selector(&self, target: &ResourcePath, selector: &str) -> String {
        let is_name = |key: &str| {
            key == "spec.nodeName"
                || key.to_ascii_lowercase().ends_with("namespace")
                || (key == "metadata.name" && is_cluster_scoped(target))
        };
        let terms = selector.split(',').map(|term| {
            let cut = term.find(['=', '!']).unwrap_or(term.len());
            let (key, rest) = term.split_at(cut);
            let value = rest.trim_start_matches(['=', '!']);
            match is_name(key) && !value.is_empty() {
                true => format!(
                    "{key}{}{}",
                    &rest[..rest.len() - value.len()],
                    self.server_name(value)
                ),
                false => term.to_owned(),
            }
        });
        terms.collect::<Vec<_>>().join(",")
    }

    /// Converts the body of a request to the server's names. Adds the labels of run and case to complete objects (create, update, apply).
    pub(crate) fn to_server_names(
        &self,
        verb: Verb,
        target: &ResourcePath,
        is_apply: bool,
        body: &mut Value,
    ) {
        if is_cluster_scoped(target)
            && let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut)
        {
            self.set_own_name(verb, metadata);
        }
        self.add_suffixes(body);
        let is_complete = match verb {
            Verb::Create => target.subresource.is_none(),
            Verb::Update => !matches!(target.subresource.as_deref(), Some("scale")),
            _ => is_apply,
        };
        if is_complete && body.is_object() {
            let labels = &mut body["metadata"]["labels"];
            if !labels.is_object() {
                *labels = Map::new().into();
            }
            labels[RUN_LABEL] = self.run.as_str().into();
            labels[CASE_LABEL] = self.case.as_str().into();
        }
    }

    /// Adds the suffix to the name of a cluster-scoped object. Completes `generateName` here, because the server would append the random
    /// part after the suffix.
    fn set_own_name(&self, verb: Verb, metadata: &mut Map<String, Value>) {
        let text = |metadata: &Map<String, Value>, key: &str| {
            let text = metadata.get(key).and_then(Value::as_str).unwrap_or_default();
            text.to_owned()
        };
        let (name, generate) = (text(metadata, "name"), text(metadata, "generateName"));
        if !name.is_empty() {
            metadata.insert("name".to_owned(), self.server_name(&name).into());
        } else if verb == Verb::Create && !generate.is_empty() {
            let name = self.server_name(&format!("{generate}{}", crate::random::random(5)));
            metadata.insert("name".to_owned(), name.into());
        }
    }

    /// Adds the suffix of the case to all names in an object.
    fn add_suffixes(&self, value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(|each| self.add_suffixes(each)),
            Value::Object(fields) => self.add_suffixes_to_fields(fields),
            _ => {}
        }
    }

    fn add_suffixes_to_fields(&self, fields: &mut Map<String, Value>) {
        let is_reference = fields
            .get("kind")
            .and_then(Value::as_str)
            .is_some_and(|kind| CLUSTER_KINDS.contains(&kind));
        // An entry of CSINode.spec.drivers, whose `name` is the name of a CSIDriver and needs the suffix.
        let is_registration = fields.contains_key("nodeID");
        // A node selector term on `metadata.name`, whose values are node names.
        let is_field = fields.get("key").is_some_and(|key| key == "metadata.name");
        for (key, value) in fields.iter_mut() {
            let is_name = NAME_FIELDS.contains(&key.as_str())
                || (key == "name" && (is_reference || is_registration))
                || (key.ends_with("-secret-namespace"));
            match value {
                // A template such as `${pvc.name}` is expanded later from names that already have the suffix.
                Value::String(name) if is_name && !name.contains("${") => *name = self.server_name(name),
                Value::Array(names) if key == "values" && is_field => {
                    for name in names {
                        if let Value::String(name) = name {
                            *name = self.server_name(name);
                        }
                    }
                }
                // The data of ConfigMaps and Secrets contains no object names.
                _ if key == "data" || key == "stringData" || key == "binaryData" => {}
                value => self.add_suffixes(value),
            }
        }
    }

    /// Converts objects from the server: removes the suffix from all strings, and the labels of the harness.
    pub(crate) fn to_case_names(&self, value: &mut Value) {
        match value {
            Value::String(text) if text.contains(&self.suffix) => *text = text.replace(&self.suffix, ""),
            Value::Array(list) => list.iter_mut().for_each(|each| self.to_case_names(each)),
            Value::Object(fields) => {
                if let Some(Value::Object(labels)) = fields.get_mut("labels")
                    && labels.remove(CASE_LABEL).is_some()
                {
                    labels.remove(RUN_LABEL);
                    if labels.is_empty() {
                        fields.remove("labels");
                    }
                }
                fields.values_mut().for_each(|each| self.to_case_names(each));
            }
            _ => {}
        }
    }
}

fn is_cluster_scoped(target: &ResourcePath) -> bool {
    target.namespace.is_none()
        && ResourceRef::by_plural(&target.resource).is_none_or(|(_, namespaced)| !namespaced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names() -> Names {
        Names::new("abc", 7)
    }

    fn target(method: &str, path: &str) -> (Verb, ResourcePath) {
        ResourcePath::of_request(method, path, "").unwrap()
    }

    fn converted_body(method: &str, path: &str, mut body: Value) -> Value {
        let (verb, target) = target(method, path);
        names().to_server_names(verb, &target, false, &mut body);
        body
    }

    #[test]
    fn converted_object_converts_back_to_itself() {
        let volume = json!({
            "kind": "PersistentVolume", "metadata": {"name": "pvc-1"},
            "spec": {
                "storageClassName": "fast", "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"},
                "csi": {"driver": "disk.example.com", "volumeHandle": "v"},
            },
        });
        let mut on_server = converted_body("POST", "/api/v1/persistentvolumes", volume.clone());
        assert_eq!(on_server["metadata"]["name"], "pvc-1-xabc0007");
        assert_eq!(on_server["metadata"]["labels"][RUN_LABEL], "abc");
        assert_eq!(on_server["spec"]["claimRef"]["namespace"], "default-xabc0007");
        assert_eq!(on_server["spec"]["claimRef"]["name"], "data");
        assert_eq!(on_server["spec"]["csi"]["driver"], "disk.example.com-xabc0007");
        names().to_case_names(&mut on_server);
        assert_eq!(on_server, volume);
    }

    #[test]
    fn cluster_scoped_names_always_get_the_suffix() {
        let path = |path| names().path(&target("GET", path).1);
        assert_eq!(path("/api/v1/nodes/n1"), "/api/v1/nodes/n1-xabc0007");
        assert_eq!(
            path("/api/v1/namespaces/default"),
            "/api/v1/namespaces/default-xabc0007"
        );
        assert_eq!(
            path("/api/v1/namespaces/default/pods/p/status"),
            "/api/v1/namespaces/default-xabc0007/pods/p/status"
        );
        let generated = converted_body(
            "POST",
            "/api/v1/nodes",
            json!({"metadata": {"generateName": "n-"}}),
        );
        let name = generated["metadata"]["name"].as_str().unwrap();
        assert!(name.starts_with("n-") && name.ends_with("-xabc0007"), "{name}");
    }

    #[test]
    fn references_get_the_suffix_and_other_names_do_not() {
        let binding = json!({"kind": "Binding", "metadata": {"name": "p", "namespace": "default"},
            "target": {"kind": "Node", "name": "n1"}});
        let on_server = converted_body("POST", "/api/v1/namespaces/default/pods/p/binding", binding);
        assert_eq!(on_server["target"]["name"], "n1-xabc0007");
        assert_eq!(on_server["metadata"]["name"], "p");
        assert!(on_server["metadata"]["labels"].is_null(), "{on_server}");
        let node = json!({"spec": {"drivers": [{"name": "d", "nodeID": "n1"}]}});
        let on_server = converted_body("PATCH", "/apis/storage.k8s.io/v1/csinodes/n1", node);
        assert_eq!(
            on_server["spec"]["drivers"][0],
            json!({"name": "d-xabc0007", "nodeID": "n1"})
        );
    }

    #[test]
    fn collections_are_restricted_to_the_case() {
        let query = |path: &str, query: &str| {
            let (verb, target) = ResourcePath::of_request("GET", path, query).unwrap();
            let query = names().query(verb, &target, query);
            form_urlencoded::parse(query.as_bytes())
                .map(|(key, value)| format!("{key}={value}"))
                .collect::<Vec<_>>()
        };
        let own = "capacity-harness/case=abc0007";
        assert_eq!(query("/api/v1/nodes", ""), [format!("labelSelector={own}")]);
        assert_eq!(
            query("/api/v1/nodes", "watch=1&labelSelector=a%3Db"),
            [format!("labelSelector=a=b,{own}"), "watch=true".to_owned()]
        );
        let pods = query(
            "/api/v1/pods",
            "fieldSelector=spec.nodeName%3Dn1,status.phase!%3DFailed",
        );
        assert_eq!(
            pods[0],
            "fieldSelector=spec.nodeName=n1-xabc0007,status.phase!=Failed"
        );
        assert_eq!(query("/api/v1/nodes/n1", "pretty=true"), ["pretty=true"]);
    }
}
