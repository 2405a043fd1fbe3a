//! The options of writes: `dryRun`, `fieldValidation`, `fieldManager`, `force`.
//!
//! Owns the parsing of these options and its error messages. Reports all errors at once.

use super::call::{Call, Params, Payload};
use super::decoded::FieldValidation;
use crate::machinery::error_list::ErrorList;
use crate::machinery::go;
use crate::machinery::status::{Status, options_resource};
use crate::patch::managed::NAME_MAX;
use crate::request::Verb;
use serde_json::{Map, Value, json};

/// The values of `fieldValidation`; the default is Warn.
const VALIDATIONS: [(&str, FieldValidation); 4] = [
    ("", FieldValidation::Warn),
    ("Ignore", FieldValidation::Ignore),
    ("Strict", FieldValidation::Strict),
    ("Warn", FieldValidation::Warn),
];

pub(super) struct WriteOptions {
    pub(super) dry_run: bool,
    pub(super) validation: FieldValidation,
}

impl WriteOptions {
    /// Parses the options of a create or update; `of` is the kind of the options, such as `CreateOptions`.
    pub(super) fn read(params: &Params, of: &'static str) -> Result<Self, Status> {
        Self::parse_common(ErrorList::default(), params, of)
    }

    /// Parses the options of a patch. An apply requires a field manager; only an apply accepts `force`.
    pub(super) fn of_patch(params: &Params, applies: bool) -> Result<Self, Status> {
        let mut errors = ErrorList::default();
        if applies {
            if params.get("fieldManager").is_empty() {
                errors.required("fieldManager", "is required for apply patch");
            }
        } else if params.flag("force").is_some() {
            errors.forbidden("force", "may not be specified for non-apply patch");
        }
        Self::parse_common(errors, params, "PatchOptions")
    }

    fn parse_common(mut errors: ErrorList, params: &Params, of: &'static str) -> Result<Self, Status> {
        validate_field_manager(params.get("fieldManager"), &mut errors);
        let dry = params.all("dryRun");
        validate_dry_run(&dry, &mut errors);
        let wanted = params.get("fieldValidation");
        let found = VALIDATIONS.iter().find(|(name, _)| *name == wanted);
        if found.is_none() {
            errors.not_supported("fieldValidation", wanted, &VALIDATIONS.map(|(name, _)| name));
        }
        match found {
            Some((_, validation)) if errors.is_empty() => Ok(Self {
                dry_run: !dry.is_empty(),
                validation: *validation,
            }),
            _ => Err(Status::invalid(options_resource(of), "", errors)),
        }
    }
}

/// The error of a write whose body is invalid for the reason `why`. Like kube-apiserver, reports invalid options instead, unless the body
/// of a create has an unsupported media type.
pub(crate) fn invalid_body_error(verb: Verb, params: &Params, why: Status) -> Status {
    let options = match verb {
        Verb::Create if why.code != 415 => WriteOptions::read(params, "CreateOptions"),
        Verb::Update => WriteOptions::read(params, "UpdateOptions"),
        _ => return why,
    };
    options.err().unwrap_or(why)
}

/// Parses `dryRun`: it must be absent or `All`.
pub(super) fn dry_run(values: &[&str], of: &'static str) -> Result<bool, Status> {
    let mut errors = ErrorList::default();
    validate_dry_run(values, &mut errors);
    Status::refuse_invalid(options_resource(of), "", errors)?;
    Ok(!values.is_empty())
}

pub(super) fn validate_dry_run(values: &[&str], errors: &mut ErrorList) {
    if values.iter().any(|value| *value != "All") {
        errors.not_supported("dryRun", values.iter().copied().collect::<Value>(), &["All"]);
    }
}

fn validate_field_manager(name: &str, errors: &mut ErrorList) {
    if name.len() > NAME_MAX {
        errors.too_long("fieldManager", NAME_MAX);
    }
    for (at, c) in name.char_indices().filter(|(_, c)| !go::is_print(*c)) {
        let text = format!("invalid character U+{:04X} (at position {at})", u32::from(c));
        errors.invalid("fieldManager", name, &text);
    }
}

/// The options of a request as in an AdmissionReview, without `kind` and `apiVersion`.
pub(crate) fn admission_options(call: &Call) -> Value {
    let params = &call.params;
    let mut options = match (&call.payload, call.verb) {
        (Payload::Object(body), Verb::Delete | Verb::DeleteCollection) => {
            body.value.as_object().cloned().unwrap_or_default()
        }
        _ => Map::new(),
    };
    options.retain(|name, _| !["kind", "apiVersion"].contains(&name.as_str()));
    let dry = params.all("dryRun");
    if !dry.is_empty() {
        options.insert("dryRun".to_owned(), json!(dry));
    }
    for name in ["fieldManager", "fieldValidation", "propagationPolicy"] {
        let given = params.get(name);
        if !given.is_empty() {
            options.insert(name.to_owned(), given.into());
        }
    }
    options.into()
}
