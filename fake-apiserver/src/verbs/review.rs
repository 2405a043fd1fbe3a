//! TokenReviews and access reviews: the server responds to them and does not store them.
//!
//! Owns validation and responses. Authentication is in `auth`, authorization in `rbac`.

use super::body::{no_body, set_namespace};
use super::call::{Answer, Call, Payload};
use super::options::WriteOptions;
use super::{review_selectors, subresource_body};
use crate::access::auth::User;
use crate::access::rbac::{Attributes, PolicyRule, ResourceOrPath};
use crate::kinds::{Part, Review};
use crate::machinery::error_list::ErrorList;
use crate::machinery::status::Status;
use crate::machinery::{json, metadata};
use crate::object::Object;
use crate::patch::managed::FieldManager;
use crate::store::Txn;
use serde_json::{Value, json};

const RESOURCE: &str = "spec.resourceAttributes";

/// Evaluates a review and responds with its status.
pub(super) fn review(txn: &mut Txn<'_>, review: Review, call: Call) -> Result<Answer, Status> {
    let kind = &call.target.kind;
    let manager = call.field_manager().manager.to_owned();
    let Payload::Object(body) = call.payload else {
        return Err(no_body());
    };
    let validation = WriteOptions::read(&call.params, "CreateOptions")?.validation;
    let mut object = subresource_body::decode_as(txn, kind, validation, body)?;
    set_namespace(kind, call.target.namespace.as_deref(), &mut object)?;
    FieldManager {
        kind,
        manager: &manager,
        part: Part::Main,
    }
    .track(&txn.now, None, &mut object);
    let managed = metadata::take(&mut object, "managedFields");
    let status = match review {
        Review::SelfSubject => {
            metadata::set(&mut object, "creationTimestamp", Some((*txn.now).into()));
            json!({"userInfo": call.user.info()})
        }
        Review::Token => review_token(txn, &object)?,
        Review::SelfSubjectRules => {
            let found = review_rules(txn, &call.user, &object)?;
            // kube-apiserver returns a SelfSubjectRulesReview with an empty spec.
            object["spec"] = json!({});
            found
        }
        Review::SelfSubjectAccess => {
            check_access(&object, false)?;
            review_access(txn, &call.user, &object)
        }
        Review::SubjectAccess | Review::LocalSubjectAccess => {
            check_access(&object, true)?;
            review_access(txn, &reviewed_user(&object["spec"]), &object)
        }
    };
    object["status"] = status;
    // SelfSubjectReview and SelfSubjectRulesReview are returned without managedFields.
    if ![Review::SelfSubject, Review::SelfSubjectRules].contains(&review) {
        metadata::set(&mut object, "managedFields", managed);
    }
    Ok(Answer::object(201, Object::new(object, 0)))
}

fn review_token(txn: &Txn<'_>, object: &Value) -> Result<Value, Status> {
    let spec = &object["spec"];
    let token = spec["token"].as_str().unwrap_or_default();
    if token.is_empty() {
        return Err(Status::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let mut audiences: Vec<String> = json::texts(&spec["audiences"])
        .into_iter()
        .map(str::to_owned)
        .collect();
    if audiences.is_empty() {
        audiences.extend_from_slice(txn.options().account_tokens.audiences());
    }
    Ok(match txn.authenticate(token, &audiences) {
        Some(found) => json!({
            "authenticated": true,
            "user": found.user.info(),
            "audiences": found.audiences,
        }),
        None => json!({"user": {}, "error": "invalid bearer token"}),
    })
}

fn reviewed_user(spec: &Value) -> User {
    let list = |value: &Value| json::texts(value).into_iter().map(str::to_owned).collect();
    let extra = spec["extra"].as_object().into_iter().flatten();
    User {
        uid: spec["uid"].as_str().unwrap_or_default().to_owned(),
        groups: list(&spec["groups"]),
        extra: extra.map(|(key, values)| (key.clone(), list(values))).collect(),
        ..User::new(spec["user"].as_str().unwrap_or_default())
    }
}

/// Validates access reviews (`ValidateSubjectAccessReview` and its variants).
fn check_access(object: &Value, names_user: bool) -> Result<(), Status> {
    let (spec, mut errors) = (&object["spec"], ErrorList::default());
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    if !resource.is_null() && !path.is_null() {
        let text = "cannot be specified in combination with resourceAttributes";
        errors.invalid_as("spec.nonResourceAttributes", &format_path(path), text);
    }
    if resource.is_null() && path.is_null() {
        let text = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.invalid("spec.resourceAttributes", Value::Null, text);
    }
    let has_user = spec["user"].as_str().is_some_and(|user| !user.is_empty());
    if names_user && !has_user && json::texts(&spec["groups"]).is_empty() {
        errors.invalid("spec.user", "", "at least one of user or group must be specified");
    }
    review_selectors::validate(resource, RESOURCE, &mut errors);
    let mut metadata = object["metadata"].clone();
    let namespace = metadata.as_object_mut().and_then(|own| own.remove("namespace"));
    if metadata.as_object().is_some_and(|own| !own.is_empty()) {
        let why = match namespace {
            Some(_) => "must be empty except for namespace",
            None => "must be empty",
        };
        errors.invalid("metadata", object["metadata"].clone(), why);
    }
    if let Some(namespace) = namespace {
        let own = resource["namespace"].as_str().unwrap_or_default();
        if !resource.is_null() && namespace != own {
            errors.invalid(
                "spec.resourceAttributes.namespace",
                own,
                "must match metadata.namespace",
            );
        }
        if !path.is_null() {
            let text = "disallowed on this kind of request";
            errors.invalid_as("spec.nonResourceAttributes", &format_path(path), text);
        }
    }
    // kube-apiserver reports this error without a kind.
    let subject = crate::machinery::status::GroupResource {
        group: "authorization.k8s.io",
        kind: "",
    };
    Status::refuse_invalid(subject, "", errors)
}

/// Non-resource attributes in the format of kube-apiserver's error messages.
fn format_path(path: &Value) -> String {
    let text = |field: &str| path[field].as_str().unwrap_or_default();
    format!("{{\"Path\":{:?},\"Verb\":{:?}}}", text("path"), text("verb"))
}

fn review_access(txn: &Txn<'_>, user: &User, object: &Value) -> Value {
    let spec = &object["spec"];
    let (of, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let text = |field: &str| of[field].as_str().unwrap_or_default();
    let target = ResourceOrPath::Resource {
        group: text("group"),
        resource: text("resource"),
        subresource: text("subresource"),
        namespace: text("namespace"),
        name: text("name"),
    };
    let attributes = if of.is_null() {
        let text = |field: &str| path[field].as_str().unwrap_or_default();
        Attributes {
            verb: text("verb"),
            target: ResourceOrPath::Path(text("path")),
        }
    } else {
        Attributes {
            verb: text("verb"),
            target,
        }
    };
    let decision = txn.authorize(user, attributes);
    let mut status = json!({"allowed": decision.allowed});
    if !decision.reason.is_empty() {
        status["reason"] = decision.reason.into();
    }
    if let Some(why) = review_selectors::selector_error(of, RESOURCE) {
        status["evaluationError"] = why.into();
    }
    status
}

fn review_rules(txn: &Txn<'_>, user: &User, object: &Value) -> Result<Value, Status> {
    let namespace = object["spec"]["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let (rules, failure) = txn.rules_for(user, namespace);
    let of = |wanted: fn(&PolicyRule) -> bool| {
        rules
            .iter()
            .filter(|rule| wanted(rule))
            .map(PolicyRule::to_value)
            .collect()
    };
    let (resources, paths): (Value, Value) = (
        of(|rule| !rule.resources.is_empty()),
        of(|rule| !rule.paths.is_empty()),
    );
    let mut status =
        json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": failure.is_some()});
    if let Some(failure) = failure {
        status["evaluationError"] = failure.into();
    }
    Ok(status)
}
