//! User requests compared with the API server's results: it stores what is requested, rejects invalid objects, and writes nothing else.

use super::monitor::Monitor;
use super::order::Order;
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::{CapacityObject, CsiDriver, NamespacedName, Objects};

/// HTTP status for invalid objects, and for a replacement of an outdated version.
const UNPROCESSABLE: u16 = 422;
const CONFLICT: u16 = 409;

/// Maximum length of an object name.
const NAME_MAX: usize = 253;

impl Order {
    /// Why the API server must reject the request in any state. `None`: it is valid (KEP-1472, "API").
    fn fault(&self, objects: &Objects) -> Option<&'static str> {
        match self {
            Order::Create { key, object, .. } => faults(&key.name, object),
            Order::Change {
                key: Some(key),
                fields,
            } => {
                let before = objects.get(key)?;
                let after = fields.put(before);
                unmoved(before, &after).or_else(|| faults(&key.name, &after))
            }
            Order::Replace { is_stale: true, .. } => Some("its resourceVersion is outdated"),
            Order::Replace { key, object, .. } => match objects.get(key) {
                None => Some("the object to be replaced does not exist"),
                Some(before) => unmoved(before, object).or_else(|| faults(&key.name, object)),
            },
            Order::Change { key: None, .. }
            | Order::Delete(_)
            | Order::DeleteNamespace(_)
            | Order::CreateDriver(..)
            | Order::Other => None,
        }
    }
}

/// Why a change is invalid (immutable fields).
fn unmoved(before: &CapacityObject, after: &CapacityObject) -> Option<&'static str> {
    let is_moved = (&after.class, &after.topology) != (&before.class, &before.topology);
    is_moved.then_some("class and topology of an object cannot be changed")
}

/// Why an object is invalid.
fn faults(name: &str, object: &CapacityObject) -> Option<&'static str> {
    let is_negative = object.capacity.is_some_and(|capacity| capacity.nanos() < 0);
    match () {
        () if !is_subdomain(name.trim_end_matches('-')) => Some("its name is no DNS subdomain"),
        () if !is_subdomain(&object.class) => Some("its class is no DNS subdomain"),
        () if is_negative => Some("its capacity is negative"),
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
    /// Checks a capacity object that the user's request has written.
    pub(super) fn stored(
        &mut self,
        key: &NamespacedName,
        object: Option<&CapacityObject>,
    ) -> Option<Violation> {
        let objects = &self.world.objects;
        let illegal = |fault: &str| (rules::INVALID_ACCEPTED, fault.to_owned());
        let another = || {
            (
                rules::NOT_AS_WRITTEN,
                "the request contained another object".to_owned(),
            )
        };
        let wrong = match (self.orders.taken(key), self.orders.0.first()) {
            (Some(order), _) => {
                let fault = order.fault(objects).map(illegal);
                fault.or_else(|| self.is_other(&order, key, object))
            }
            (None, Some(Order::DeleteNamespace(_)) | None) => Some((
                rules::UNREQUESTED_CHANGE,
                "no request preceded the change".to_owned(),
            )),
            (None, Some(order)) => Some(order.fault(objects).map_or_else(another, illegal)),
        };
        wrong.map(|wrong| violation(wrong, key))
    }

    /// How the stored object differs from the request.
    fn is_other(
        &self,
        order: &Order,
        key: &NamespacedName,
        object: Option<&CapacityObject>,
    ) -> Option<(&'static Rule, String)> {
        let existing = self.world.objects.get(key);
        let wanted = match (order, existing) {
            (Order::Create { object, .. }, None) => Some(self.as_served(object)),
            (Order::Change { fields, .. }, Some(before)) => Some(self.as_served(&fields.put(before))),
            (Order::Replace { object, .. }, Some(_)) => Some(self.as_served(object)),
            (Order::Delete(_) | Order::DeleteNamespace(_), Some(_)) => None,
            (Order::Other, _) => return None,
            _ => return Some((rules::NOT_AS_WRITTEN, "the request was different".to_owned())),
        };
        let said = |object: &CapacityObject| format!("class {} with {}", object.class, object.figures());
        match (wanted, object) {
            (Some(wanted), Some(object)) if is_same(&wanted, object) => None,
            (None, None) => None,
            (wanted, object) => {
                let [wanted, is] = [wanted.as_ref(), object].map(|it| it.map_or("nothing".to_owned(), said));
                let detail = format!("the request contained {wanted}, and the stored object has {is}");
                Some((rules::NOT_AS_WRITTEN, detail))
            }
        }
    }

    /// An object as a server of this release returns it.
    fn as_served(&self, object: &CapacityObject) -> CapacityObject {
        let has_maximum = self.world.api.release.has_maximum();
        CapacityObject {
            maximum: object.maximum.filter(|_| has_maximum),
            ..object.clone()
        }
    }

    /// Checks a rejection of the user's request with this status.
    pub(super) fn refused(&self, code: u16) -> Option<Violation> {
        let order = self.orders.0.first()?;
        let (key, is_strange) = match order {
            Order::Create { key, .. } => (key.clone(), code == UNPROCESSABLE),
            Order::Replace { key, .. } => (key.clone(), code == UNPROCESSABLE || code == CONFLICT),
            Order::Change { key, .. } => (key.clone().unwrap_or_default(), code == UNPROCESSABLE),
            Order::Delete(_) | Order::DeleteNamespace(_) | Order::CreateDriver(..) | Order::Other => {
                return None;
            }
        };
        let is_legal = is_strange && order.fault(&self.world.objects).is_none();
        let why = || format!("the API server returned {code} for a valid request");
        is_legal.then(|| violation((rules::VALID_REFUSED, why()), &key))
    }

    /// Checks a CSIDriver that the user's request has created.
    pub(super) fn stored_driver(&mut self, name: &str, stored: &CsiDriver) -> Option<Violation> {
        let is_it = |order: &Order| matches!(order, Order::CreateDriver(of, _) if of == name);
        let at = self.orders.0.iter().position(is_it)?;
        let Order::CreateDriver(_, wanted) = self.orders.0.remove(at) else {
            return None;
        };
        let is_other = self.world.api.keeps_flag() && wanted != *stored;
        is_other.then(|| Violation {
            rule: rules::NOT_AS_WRITTEN,
            subject: Subject::Request("csidrivers".to_owned()),
            detail: format!("the request contained {wanted:?}, and the stored object is {stored:?}"),
        })
    }

    /// Checks that all requested initial objects of a case exist.
    pub(super) fn all_stored(&mut self) -> Vec<Violation> {
        let orders = std::mem::take(&mut self.orders.0).into_iter();
        let missing = orders.filter_map(|order| match order {
            Order::Create { key, .. } => Some(key),
            _ => None,
        });
        let why = || "the object was not created".to_owned();
        missing
            .map(|key| violation((rules::NOT_AS_WRITTEN, why()), &key))
            .collect()
    }
}

/// Whether two objects have equal user-written fields.
fn is_same(one: &CapacityObject, other: &CapacityObject) -> bool {
    one.says_as(other) && (&one.class, &one.topology) == (&other.class, &other.topology)
}

fn violation((rule, detail): (&'static Rule, String), key: &NamespacedName) -> Violation {
    Violation {
        rule,
        subject: Subject::Object(key.clone()),
        detail,
    }
}
