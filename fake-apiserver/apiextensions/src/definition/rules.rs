//! Validation of CRDs: names, versions, columns, conversion. Schemas are validated in `schema_rules`.
//!
//! Field paths are those of kube-apiserver's internal type: settings that are equal in all versions are at the top of the spec.

use super::conditions::is_true;
use super::schema_rules;
use fake_apiserver::extension::ErrorList;
use fake_apiserver::extension::json::{self, list, string};
use fake_apiserver::extension::names;
use fake_apiserver::extension::webhook::ClientConfig;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];
const SELECTABLE_MAX: usize = 8;
/// The annotation that CRDs in protected API groups require.
const APPROVAL: &str = "api-approved.kubernetes.io";

/// The name of a CRD must be `PLURAL.GROUP`.
pub(crate) fn validate_name(definition: &Value, errors: &mut ErrorList) {
    let spec = &definition["spec"];
    let name = format!("{}.{}", string(&spec["names"], "plural"), string(spec, "group"));
    let own = string(&definition["metadata"], "name");
    if own != name {
        errors.invalid("metadata.name", own, "must be spec.names.plural+\".\"+spec.group");
    }
}

/// Validates a CRD on create and on update.
pub(crate) fn validate(definition: &Value, errors: &mut ErrorList) {
    let spec = &to_internal_spec(&definition["spec"]);
    group(spec, errors);
    match string(spec, "scope") {
        "" => errors.required("spec.scope", ""),
        scope => errors.one_of("spec.scope", scope, &["Cluster", "Namespaced"]),
    }
    versions(spec, errors);
    for field in ["plural", "singular", "kind", "listKind"] {
        if string(&spec["names"], field).is_empty() {
            errors.required(format!("spec.names.{field}"), "");
        }
    }
    names_of(&spec["names"], "spec.names", errors);
    validate_common_settings(spec, errors);
    conversion(spec, errors);
    stored_versions(definition, errors);
    if spec["preserveUnknownFields"] == true {
        let text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                    spec.versions[*].schema instead";
        errors.invalid("spec.preserveUnknownFields", true, text);
    }
}

/// Validation of a new CRD, in addition to `validate`.
pub(crate) fn validate_create(definition: &Value, errors: &mut ErrorList) {
    approval(definition, errors);
}

/// Validates an update of a CRD: the fields that determine the storage location of custom resources are immutable.
pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    let mut fixed = vec!["/group", "/names/plural"];
    if is_true(old, "Established") {
        fixed.splice(0..0, ["/scope", "/names/kind"]);
    }
    for pointer in fixed {
        let at = |definition: &Value| definition["spec"].pointer(pointer).cloned().unwrap_or_default();
        errors.require_unchanged(&format!("spec{}", pointer.replace('/', ".")), &at(new), &at(old));
    }
}

fn group(spec: &Value, errors: &mut ErrorList) {
    let group = string(spec, "group");
    let complaints = names::subdomain(group);
    if group.is_empty() {
        errors.required("spec.group", "");
    } else if !complaints.is_empty() {
        errors.invalid("spec.group", group, &complaints.join(","));
    } else if !group.contains('.') {
        errors.invalid("spec.group", group, "should be a domain with at least one dot");
    }
}

/// CRD settings that the internal type has at the top of the spec if equal in all versions: name in a version, name at the top.
const SHAREABLE: [(&str, &str); 4] = [
    ("schema", "validation"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

/// Converts a CRD spec to kube-apiserver's internal form: settings that are equal in all versions move to the top.
fn to_internal_spec(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for version in json::entries(&mut spec, "/versions") {
        if list(&version["additionalPrinterColumns"]).is_empty() {
            json::assign(version, "additionalPrinterColumns", Value::Null);
        }
    }
    for (part, top) in SHAREABLE {
        let versions = list(&spec["versions"]);
        let Some(first) = versions.first().map(|version| version[part].clone()) else {
            break;
        };
        if versions.iter().all(|version| version[part] == first) {
            json::entries(&mut spec, "/versions")
                .for_each(|version| json::assign(version, part, Value::Null));
            json::assign(&mut spec, top, first);
        }
    }
    spec
}

fn versions(spec: &Value, errors: &mut ErrorList) {
    let versions = list(&spec["versions"]);
    if spec["validation"]["openAPIV3Schema"].is_null() {
        for (index, version) in versions.iter().enumerate() {
            if version["schema"]["openAPIV3Schema"].is_null() {
                errors.required(format!("spec.versions[{index}].schema.openAPIV3Schema"), "");
            }
        }
    }
    for (index, version) in versions.iter().enumerate() {
        self::version(version, &format!("spec.versions[{index}]"), errors);
    }
    let names: Vec<&str> = versions.iter().map(|version| string(version, "name")).collect();
    let mut known = HashSet::new();
    if !names.iter().all(|name| known.insert(name)) {
        errors.invalid(
            "spec.versions",
            spec["versions"].clone(),
            "must contain unique version names",
        );
    }
    let is_stored = |version: &&Value| version["storage"] == true;
    if versions.iter().filter(is_stored).count() != 1 {
        let text = "must have exactly one version marked as storage version";
        errors.invalid("spec.versions", spec["versions"].clone(), text);
    }
    // kube-apiserver's internal CRD type also has the name of the first version in `spec.version`.
    let first = names.first().copied().unwrap_or_default();
    let complaints = names::dns_label_1035(first);
    if !first.is_empty() && !complaints.is_empty() {
        errors.invalid("spec.version", first, &complaints.join(","));
    }
}

fn version(version: &Value, at: &str, errors: &mut ErrorList) {
    let name = string(version, "name");
    let complaints = names::dns_label_1035(name);
    if !complaints.is_empty() {
        errors.invalid(format!("{at}.name"), name, &complaints.join(","));
    }
    deprecation(version, at, errors);
    let schema = &version["schema"];
    self::schema(schema, &format!("{at}.schema"), errors);
    validate_subresources_and_columns(version, at, errors);
    let without = schema["openAPIV3Schema"]
        .is_null()
        .then_some("may only be set when `version.schema.openAPIV3Schema` is not included");
    selectable(version, schema, at, without, errors);
}

/// Validates the CRD settings that are equal in all versions.
fn validate_common_settings(spec: &Value, errors: &mut ErrorList) {
    let schema = &spec["validation"];
    self::schema(schema, "spec.validation", errors);
    validate_subresources_and_columns(spec, "spec", errors);
    let without = schema
        .is_null()
        .then_some("may only be set when validations.schema is included");
    selectable(spec, schema, "spec", without, errors);
}

fn schema(schema: &Value, at: &str, errors: &mut ErrorList) {
    let schema = &schema["openAPIV3Schema"];
    if !schema.is_null() {
        schema_rules::validate(schema, &format!("{at}.openAPIV3Schema"), errors);
    }
}

/// Validates the subresources and printer columns of a CRD version, or those at the top of the internal spec.
fn validate_subresources_and_columns(of: &Value, at: &str, errors: &mut ErrorList) {
    scale(
        &of["subresources"]["scale"],
        &format!("{at}.subresources"),
        errors,
    );
    for (index, column) in list(&of["additionalPrinterColumns"]).iter().enumerate() {
        self::column(column, &format!("{at}.additionalPrinterColumns[{index}]"), errors);
    }
}

fn deprecation(version: &Value, at: &str, errors: &mut ErrorList) {
    if let Some(warning) = version["deprecationWarning"].as_str()
        && version["deprecated"] != true
    {
        let text = "can only be set for deprecated versions";
        errors.invalid(format!("{at}.deprecationWarning"), warning, text);
    }
}

fn scale(scale: &Value, at: &str, errors: &mut ErrorList) {
    if !scale.is_object() {
        return;
    }
    for (field, below) in [("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")] {
        let (path, place) = (string(scale, field), format!("{at}.scale.{field}"));
        if path.is_empty() {
            errors.required(place, "");
        } else if json_path(path, &place, errors) && !path.starts_with(below) {
            let text = format!("should be a json path under {}", below.trim_end_matches('.'));
            errors.invalid(place, path, &text);
        }
    }
    let (path, place) = (
        string(scale, "labelSelectorPath"),
        format!("{at}.scale.labelSelectorPath"),
    );
    let is_below = path.starts_with(".spec.") || path.starts_with(".status.");
    if !path.is_empty() && json_path(path, &place, errors) && !is_below {
        errors.invalid(place, path, "should be a json path under either .spec or .status");
    }
}

/// Whether a JSONPath starts with `.`; otherwise adds an error.
fn json_path(path: &str, at: &str, errors: &mut ErrorList) -> bool {
    let is_path = path.starts_with('.');
    if !is_path {
        errors.invalid(at, path, "must be a simple json path starting with .");
    }
    is_path
}

fn column(column: &Value, at: &str, errors: &mut ErrorList) {
    if string(column, "name").is_empty() {
        errors.required(format!("{at}.name"), "");
    }
    let one_of = |words: &[&str]| format!("must be one of {}", words.join(","));
    match string(column, "type") {
        "" => errors.required(format!("{at}.type"), &one_of(&COLUMN_TYPES)),
        of if !COLUMN_TYPES.contains(&of) => {
            errors.invalid(format!("{at}.type"), of, &one_of(&COLUMN_TYPES));
        }
        _ => {}
    }
    let format = string(column, "format");
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        errors.invalid(format!("{at}.format"), format, &one_of(&COLUMN_FORMATS));
    }
    match string(column, "jsonPath") {
        "" => errors.required(format!("{at}.JSONPath"), ""),
        path => drop(json_path(path, &format!("{at}.JSONPath"), errors)),
    }
}

/// Validates the `selectableFields` of a version, or those at the top of the internal spec. `without`: the error message if selectable
/// fields are not allowed because there is no schema.
fn selectable(of: &Value, schema: &Value, at: &str, without: Option<&str>, errors: &mut ErrorList) {
    let (fields, root) = (list(&of["selectableFields"]), &schema["openAPIV3Schema"]);
    let all = format!("{at}.selectableFields");
    if fields.is_empty() {
        return;
    }
    if let Some(why) = without {
        return errors.invalid(all, "", why);
    }
    let mut seen: Vec<&str> = Vec::new();
    for (number, field) in fields.iter().enumerate() {
        let (path, place) = (string(field, "jsonPath"), format!("{all}[{number}].jsonPath"));
        if path.is_empty() {
            errors.required(place, "");
            continue;
        }
        let Some(found) = schema_at(path, root) else {
            let why = "is an invalid path: does not refer to a valid field";
            errors.invalid(place, path, why);
            continue;
        };
        if path.starts_with(".metadata") {
            errors.invalid(place.as_str(), path, "must not point to fields in metadata");
        }
        if !["string", "boolean", "integer"].contains(&string(found, "type")) {
            let text = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                        formats are allowed.";
            errors.invalid(place.as_str(), path, text);
        }
        if seen.contains(&path) {
            errors.duplicate(place, path);
        } else {
            seen.push(path);
        }
    }
    if seen.len() > SELECTABLE_MAX {
        errors.too_many(all, seen.len(), SELECTABLE_MAX);
    }
}

/// The schema of the field at a path such as `.spec.name`; None if the schema does not declare the field.
fn schema_at<'s>(path: &str, root: &'s Value) -> Option<&'s Value> {
    let mut names = path.strip_prefix('.')?.split('.');
    names.try_fold(root, |schema, name| {
        let found = schema["properties"]
            .get(name)
            .or_else(|| schema.get("additionalProperties"));
        found.filter(|found| found.is_object())
    })
}

fn names_of(wanted: &Value, at: &str, errors: &mut ErrorList) {
    let check = |field: String, name: &str, mixed: &str, errors: &mut ErrorList| {
        let complaints = names::dns_label_1035(&match mixed {
            "" => Cow::Borrowed(name),
            _ => name.to_lowercase().into(),
        });
        if !complaints.is_empty() {
            errors.invalid(field, name, &format!("{mixed}{}", complaints.join(",")));
        }
    };
    let mixed = "may have mixed case, but should otherwise match: ";
    for (field, mixed) in [
        ("plural", ""),
        ("singular", ""),
        ("kind", mixed),
        ("listKind", mixed),
    ] {
        let name = string(wanted, field);
        if !name.is_empty() {
            check(format!("{at}.{field}"), name, mixed, errors);
        }
    }
    let each = |field: &str, errors: &mut ErrorList| {
        for (index, name) in json::texts(&wanted[field]).into_iter().enumerate() {
            check(format!("{at}.{field}[{index}]"), name, "", errors);
        }
    };
    each("shortNames", errors);
    let (kind, of_list) = (string(wanted, "kind"), string(wanted, "listKind"));
    if !kind.is_empty() && kind == of_list {
        errors.invalid(
            format!("{at}.listKind"),
            of_list,
            "kind and listKind may not be the same",
        );
    }
    each("categories", errors);
}

/// Validation of the CRD status: accepted names must be valid names.
pub(crate) fn validate_status(definition: &Value, _: &Value, errors: &mut ErrorList) {
    names_of(
        &definition["status"]["acceptedNames"],
        "status.acceptedNames",
        errors,
    );
}

fn conversion(spec: &Value, errors: &mut ErrorList) {
    let (at, conversion) = ("spec.conversion", &spec["conversion"]);
    if conversion.is_null() {
        return;
    }
    let strategy = string(conversion, "strategy");
    if spec["preserveUnknownFields"] == true && strategy != "None" {
        let text = "must be None if spec.preserveUnknownFields is true";
        errors.invalid(format!("{at}.strategy"), strategy, text);
    }
    match strategy {
        "" => errors.required(format!("{at}.strategy"), ""),
        strategy => errors.one_of(&format!("{at}.strategy"), strategy, &["None", "Webhook"]),
    }
    let (client, reviews) = (
        &conversion["webhook"]["clientConfig"],
        &conversion["webhook"]["conversionReviewVersions"],
    );
    if strategy != "Webhook" {
        let text = "should not be set when strategy is not set to Webhook";
        if !client.is_null() {
            errors.forbidden(format!("{at}.webhookClientConfig"), text);
        }
        if !list(reviews).is_empty() {
            errors.forbidden(format!("{at}.conversionReviewVersions"), text);
        }
        return;
    }
    let field = format!("{at}.webhookClientConfig");
    match client.is_null() {
        true => errors.required(field, "required when strategy is set to Webhook"),
        false => ClientConfig::validate(client, &field, errors),
    }
    review_versions(reviews, &format!("{at}.conversionReviewVersions"), errors);
}

fn review_versions(versions: &Value, at: &str, errors: &mut ErrorList) {
    let known = json::texts(versions);
    if known.is_empty() {
        return errors.required(at, "");
    }
    for (index, version) in known.iter().enumerate() {
        if known[..index].contains(version) {
            errors.invalid(format!("{at}[{index}]"), *version, "duplicate version");
            continue;
        }
        errors.invalid_all(&format!("{at}[{index}]"), version, names::dns_label_1035(version));
    }
    if !known.iter().any(|version| ["v1", "v1beta1"].contains(version)) {
        errors.invalid(at, versions.clone(), "must include at least one of v1, v1beta1");
    }
}

fn stored_versions(definition: &Value, errors: &mut ErrorList) {
    let at = "status.storedVersions";
    let stored = json::texts(&definition["status"]["storedVersions"]);
    if stored.is_empty() {
        return errors.invalid(at, Value::Null, "must have at least one stored version");
    }
    let versions = list(&definition["spec"]["versions"]);
    let is_known = |name: &str| versions.iter().any(|version| version["name"] == name);
    for version in versions.iter().filter(|version| version["storage"] == true) {
        let name = string(version, "name");
        if !stored.contains(&name) {
            let text = format!("must have the storage version {name}");
            errors.invalid(at, definition["status"]["storedVersions"].clone(), &text);
        }
    }
    for (index, name) in stored.iter().enumerate().filter(|(_, name)| !is_known(name)) {
        let text = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until \
             a storage migration ensures no data remains persisted in {name} and removes {name} from \
             status.storedVersions"
        );
        errors.invalid(format!("{at}[{index}]"), *name, &text);
    }
}

/// CRDs in protected groups (`*.k8s.io`, `*.kubernetes.io`) require the approval annotation.
fn approval(definition: &Value, errors: &mut ErrorList) {
    let group = string(&definition["spec"], "group");
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.ends_with(&format!(".{domain}")));
    let sign = string(&definition["metadata"]["annotations"], APPROVAL);
    let is_url = sign
        .split_once("://")
        .is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty());
    if !is_protected || is_url || sign.starts_with("unapproved") {
        return;
    }
    let at = format!("metadata.annotations[{APPROVAL}]");
    let text = format!("protected groups must have approval annotation {APPROVAL:?}");
    let more = "see https://github.com/kubernetes/enhancements/pull/1111";
    if sign.is_empty() {
        errors.required(at, &format!("{text}, {more}"));
    } else {
        let either = "with either a URL or a reason starting with \"unapproved\"";
        errors.invalid(at, sign, &format!("{text} {either}, {more}"));
    }
}
