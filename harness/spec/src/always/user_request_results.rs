//! Rules for the API server, which compare the user's requests with their results: the server must store what is requested, reject invalid
//! objects, and write nothing else.

use super::monitor::Monitor;
use super::user_request::UserRequest;
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::{CapacityObject, CsiDriver, NamespacedName, Objects};

/// HTTP statuses: for an invalid object (422), and for an update with an outdated resourceVersion (409).
const UNPROCESSABLE: u16 = 422;
const CONFLICT: u16 = 409;

const NAME_MAX: usize = 253;

impl UserRequest {
    /// Why the API server must reject the user's request. `None`: the request is valid (KEP-1472, "API").
    fn invalid_reason(&self, objects: &Objects) -> Option<&'static str> {
        match self {
            UserRequest::Create { key, object, .. } => invalid_object_reason(&key.name, object),
            UserRequest::Patch {
                key: Some(key),
                fields,
            } => {
                let before = objects.get(key)?;
                let after = fields.apply_to(before);
                immutable_field_reason(before, &after).or_else(|| invalid_object_reason(&key.name, &after))
            }
            UserRequest::Replace { is_stale: true, .. } => Some("the resourceVersion is outdated"),
            UserRequest::Replace { key, object, .. } => match objects.get(key) {
                None => Some("the object to be replaced does not exist"),
                Some(before) => immutable_field_reason(before, object)
                    .or_else(|| invalid_object_reason(&key.name, object)),
            },
            UserRequest::Patch { key: None, .. }
            | UserRequest::Delete(_)
            | UserRequest::DeleteNamespace(_)
            | UserRequest::CreateDriver(..)
            | UserRequest::Other => None,
        }
    }
}

/// Why an update is invalid because it changes immutable fields. `None`: no immutable field changes.
fn immutable_field_reason(before: &CapacityObject, after: &CapacityObject) -> Option<&'static str> {
    let is_changed = (&after.class, &after.topology) != (&before.class, &before.topology);
    is_changed.then_some("storageClassName and nodeTopology are immutable")
}

/// Why a CSIStorageCapacity object is invalid. `None`: the object is valid.
fn invalid_object_reason(name: &str, object: &CapacityObject) -> Option<&'static str> {
    let is_negative = object.capacity.is_some_and(|capacity| capacity.nanos() < 0);
    match () {
        () if !is_subdomain(name.trim_end_matches('-')) => Some("the name is not a DNS subdomain (RFC 1123)"),
        () if !is_subdomain(&object.class) => Some("storageClassName is not a DNS subdomain (RFC 1123)"),
        () if is_negative => Some("the capacity is negative"),
        () => None,
    }
}

/// Whether a text is a DNS subdomain (RFC 1123).
fn is_subdomain(text: &str) -> bool {
    let is_alphanumeric = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes
            .iter()
            .all(|letter| is_alphanumeric(*letter) || *letter == b'-')
            && bytes.first().is_some_and(|first| is_alphanumeric(*first))
            && bytes.last().is_some_and(|last| is_alphanumeric(*last))
    };
    text.len() <= NAME_MAX && text.split('.').all(is_label)
}

impl Monitor {
    /// Checks a CSIStorageCapacity object after a write by the user. `None`: the object was deleted.
    pub(super) fn check_stored_object(
        &mut self,
        key: &NamespacedName,
        object: Option<&CapacityObject>,
    ) -> Option<Violation> {
        let objects = &self.world.objects;
        let invalid = |reason: &str| (rules::INVALID_ACCEPTED, reason.to_owned());
        let another = || {
            (
                rules::NOT_AS_WRITTEN,
                "the user's request concerns another object".to_owned(),
            )
        };
        let wrong = match (
            self.user_requests.take_matching(key),
            self.user_requests.0.first(),
        ) {
            (Some(request), _) => {
                let reason = request.invalid_reason(objects).map(invalid);
                reason.or_else(|| self.difference_from_request(&request, key, object))
            }
            (None, Some(UserRequest::DeleteNamespace(_)) | None) => Some((
                rules::UNREQUESTED_CHANGE,
                "no request preceded the change".to_owned(),
            )),
            (None, Some(request)) => Some(request.invalid_reason(objects).map_or_else(another, invalid)),
        };
        wrong.map(|wrong| violation(wrong, key))
    }

    fn difference_from_request(
        &self,
        request: &UserRequest,
        key: &NamespacedName,
        object: Option<&CapacityObject>,
    ) -> Option<(&'static Rule, String)> {
        let existing = self.world.objects.get(key);
        let requested = match (request, existing) {
            (UserRequest::Create { object, .. }, None) => Some(self.as_served(object)),
            (UserRequest::Patch { fields, .. }, Some(before)) => {
                Some(self.as_served(&fields.apply_to(before)))
            }
            (UserRequest::Replace { object, .. }, Some(_)) => Some(self.as_served(object)),
            (UserRequest::Delete(_) | UserRequest::DeleteNamespace(_), Some(_)) => None,
            (UserRequest::Other, _) => return None,
            _ => return Some((rules::NOT_AS_WRITTEN, "the request was different".to_owned())),
        };
        let describe =
            |object: &CapacityObject| format!("class {} with {}", object.class, object.values_text());
        match (requested, object) {
            (Some(requested), Some(object)) if has_equal_user_fields(&requested, object) => None,
            (None, None) => None,
            (requested, object) => {
                let [requested, is] =
                    [requested.as_ref(), object].map(|it| it.map_or("nothing".to_owned(), describe));
                let detail = format!("the request contained {requested}, and the stored object has {is}");
                Some((rules::NOT_AS_WRITTEN, detail))
            }
        }
    }

    /// The object as an API server of the current release returns it, possibly without `maximumVolumeSize`.
    fn as_served(&self, object: &CapacityObject) -> CapacityObject {
        let has_maximum = self.world.api.release.has_maximum();
        CapacityObject {
            maximum: object.maximum.filter(|_| has_maximum),
            ..object.clone()
        }
    }

    /// Checks whether the API server may reject the user's request with this HTTP status.
    pub(super) fn user_request_rejected(&self, code: u16) -> Option<Violation> {
        let request = self.user_requests.0.first()?;
        let (key, is_unexpected) = match request {
            UserRequest::Create { key, .. } => (key.clone(), code == UNPROCESSABLE),
            UserRequest::Replace { key, .. } => (key.clone(), code == UNPROCESSABLE || code == CONFLICT),
            UserRequest::Patch { key, .. } => (key.clone().unwrap_or_default(), code == UNPROCESSABLE),
            UserRequest::Delete(_)
            | UserRequest::DeleteNamespace(_)
            | UserRequest::CreateDriver(..)
            | UserRequest::Other => {
                return None;
            }
        };
        let is_wrong = is_unexpected && request.invalid_reason(&self.world.objects).is_none();
        let why = || format!("the API server returned {code} for a valid request");
        is_wrong.then(|| violation((rules::VALID_REFUSED, why()), &key))
    }

    /// Checks a CSIDriver object that the user's request has created.
    pub(super) fn stored_driver(&mut self, name: &str, stored: &CsiDriver) -> Option<Violation> {
        let is_it = |request: &UserRequest| matches!(request, UserRequest::CreateDriver(of, _) if of == name);
        let at = self.user_requests.0.iter().position(is_it)?;
        let UserRequest::CreateDriver(_, requested) = self.user_requests.0.remove(at) else {
            return None;
        };
        let is_other = self.world.api.stores_storage_capacity() && requested != *stored;
        is_other.then(|| Violation {
            rule: rules::NOT_AS_WRITTEN,
            subject: Subject::Request("csidrivers".to_owned()),
            detail: format!(
                "the request set storageCapacity {}, and the stored object has {}",
                requested.storage_capacity, stored.storage_capacity
            ),
        })
    }

    pub(super) fn missing_initial_objects(&mut self) -> Vec<Violation> {
        let requests = std::mem::take(&mut self.user_requests.0).into_iter();
        let missing = requests.filter_map(|request| match request {
            UserRequest::Create { key, .. } => Some(key),
            _ => None,
        });
        let why = || "the object was not created".to_owned();
        missing
            .map(|key| violation((rules::NOT_AS_WRITTEN, why()), &key))
            .collect()
    }
}

fn has_equal_user_fields(one: &CapacityObject, other: &CapacityObject) -> bool {
    one.has_same_values(other) && (&one.class, &one.topology) == (&other.class, &other.topology)
}

fn violation((rule, detail): (&'static Rule, String), key: &NamespacedName) -> Violation {
    Violation {
        rule,
        subject: Subject::Object(key.clone()),
        detail,
    }
}
