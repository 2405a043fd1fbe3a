//! `DeleteOptions`: parsing from a body or the query, validation, and preconditions.

use super::call::Params;
use super::options::validate_dry_run;
use crate::kinds::Kind;
use crate::machinery::error_list::ErrorList;
use crate::machinery::status::{Status, options_resource};
use crate::machinery::{json, metadata};
use crate::schema::{Type, conform};
use crate::store::{FOREGROUND, ORPHAN};
use serde_json::{Value, json};

const DELETE_OPTIONS: &str = "DeleteOptions";
/// Name of kube-apiserver's registry of option types, as printed in its error messages.
const SCHEME: &str = "scheme \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\"";

/// `DeleteOptions` from the request body or, without a body, from the query.
#[derive(Default)]
pub(super) struct DeleteOptions {
    pub(super) grace_seconds: Option<i64>,
    pub(super) propagation: Option<&'static str>,
    /// Whether neither propagationPolicy nor orphanDependents is set, so that the default of the kind applies.
    pub(super) is_silent: bool,
    /// Whether `orphanDependents` is explicitly false.
    pub(super) is_cascading: bool,
    pub(super) uid: Option<String>,
    pub(super) revision: Option<String>,
    pub(super) dry_run: bool,
}

impl DeleteOptions {
    /// Options without grace period, propagation policy and preconditions.
    pub(super) fn without_preconditions(dry_run: bool) -> Self {
        Self {
            dry_run,
            ..Self::default()
        }
    }

    /// Parses `DeleteOptions` from the request body or, without a body, from the query.
    pub(super) fn read(params: &Params, body: &Value) -> Result<Self, Status> {
        let body = match body {
            Value::Null => Self::of_query(params)?,
            body => Self::decode_body(body)?,
        };
        Self::of_body(&body)
    }

    /// The options in the query, in the form of a `DeleteOptions` body.
    fn of_query(params: &Params) -> Result<Value, Status> {
        let mut body = json!({});
        if let Some(seconds) = params.number("gracePeriodSeconds")? {
            body["gracePeriodSeconds"] = seconds.into();
        }
        if let Some(orphans) = params.flag("orphanDependents") {
            body["orphanDependents"] = orphans.into();
        }
        if let Some(policy) = params.all("propagationPolicy").first() {
            body["propagationPolicy"] = (*policy).into();
        }
        body["dryRun"] = params.all("dryRun").into();
        // For deletecollection, `resourceVersion` is both the revision of the list and a precondition for each object.
        for precondition in ["uid", "resourceVersion"] {
            body["preconditions"][precondition] = params.get(precondition).into();
        }
        Ok(body)
    }

    /// Checks type and structure of a `DeleteOptions` body. Like kube-apiserver, accepts any API group.
    fn decode_body(body: &Value) -> Result<Value, Status> {
        let mut body = body.clone();
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let (kind, version) = (text("kind"), text("apiVersion"));
        if !["", DELETE_OPTIONS].contains(&kind.as_str()) {
            let version = if version.is_empty() {
                "meta.k8s.io/v1"
            } else {
                &version
            };
            let text = format!("no kind {kind:?} is registered for version {version:?} in {SCHEME}");
            return Err(Status::bad_request(text));
        }
        let of = Type::find("v1", DELETE_OPTIONS);
        let of = of.ok_or_else(|| Status::internal("the type table does not contain DeleteOptions"))?;
        conform(of, &mut body, None).map_err(|error| Status::bad_request(error.to_string()))?;
        Ok(body)
    }

    fn of_body(body: &Value) -> Result<Self, Status> {
        let text = |value: &Value| value.as_str().filter(|t| !t.is_empty()).map(str::to_owned);
        let policy = body["propagationPolicy"].as_str();
        let orphan = body["orphanDependents"].as_bool();
        let dry_run = json::texts(&body["dryRun"]);
        let mut errors = propagation_errors(policy, orphan);
        validate_dry_run(&dry_run, &mut errors);
        Status::refuse_invalid(options_resource(DELETE_OPTIONS), "", errors)?;
        let propagation = match (policy, orphan) {
            (Some("Foreground"), _) => Some(FOREGROUND),
            (Some("Orphan"), _) | (None, Some(true)) => Some(ORPHAN),
            _ => None,
        };
        Ok(Self {
            grace_seconds: body["gracePeriodSeconds"].as_i64(),
            propagation,
            is_silent: policy.is_none() && orphan.is_none(),
            is_cascading: orphan == Some(false),
            uid: text(&body["preconditions"]["uid"]),
            revision: text(&body["preconditions"]["resourceVersion"]),
            dry_run: !dry_run.is_empty(),
        })
    }

    pub(super) fn check_preconditions(&self, kind: &Kind, name: &str, object: &Value) -> Result<(), Status> {
        let uid = metadata::text(object, "uid");
        if let Some(wanted) = self.uid.as_deref().filter(|wanted| *wanted != uid) {
            let why = format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might \
                 have been deleted and then recreated"
            );
            return Err(Status::conflict(kind.group_kind(), name, &why));
        }
        let revision = metadata::text(object, "resourceVersion");
        if let Some(wanted) = self.revision.as_deref().filter(|wanted| *wanted != revision) {
            let why = format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
                 ({revision}). The object might have been modified"
            );
            return Err(Status::conflict(kind.group_kind(), name, &why));
        }
        Ok(())
    }
}

/// Validates the propagation policy (`ValidateDeleteOptions`).
fn propagation_errors(policy: Option<&str>, orphan: Option<bool>) -> ErrorList {
    const FIELD: &str = "propagationPolicy";
    const POLICIES: [&str; 4] = ["Foreground", "Background", "Orphan", "nil"];
    let mut errors = ErrorList::default();
    let Some(policy) = policy else { return errors };
    if orphan.is_some() {
        let text = "orphanDependents and deletionPropagation cannot be both set";
        errors.invalid(FIELD, policy, text);
    }
    if !POLICIES[..3].contains(&policy) {
        errors.not_supported(FIELD, policy, &POLICIES);
    }
    errors
}
