//! What the user of a cluster writes, against what the API server makes of it: it stores that, refuses what is not legal, and does
//! nothing else.

use super::monitor::Monitor;
use super::order::Order;
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::{CapacityObject, CsiDriver, NamespacedName, Objects};

/// How the API server answers what is not legal, and what replaces another version than there is.
const UNPROCESSABLE: u16 = 422;
const CONFLICT: u16 = 409;

/// The longest name of an object.
const NAME_MAX: usize = 253;

impl Order {
    /// Why the API server refuses it whatever there is; none: it is legal (KEP-1472, "API").
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
            Order::Replace { is_stale: true, .. } => Some("it replaces a version that is past"),
            Order::Replace { key, object, .. } => match objects.get(key) {
                None => Some("there is no object to be replaced"),
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

/// What is not legal about a change.
fn unmoved(before: &CapacityObject, after: &CapacityObject) -> Option<&'static str> {
    let is_moved = (&after.class, &after.topology) != (&before.class, &before.topology);
    is_moved.then_some("class and topology of an object cannot be changed")
}

/// What is not legal about an object.
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
    /// The user's request has changed a capacity object. What is wrong about what came of it.
    pub(super) fn stored(
        &mut self,
        key: &NamespacedName,
        object: Option<&CapacityObject>,
    ) -> Option<Violation> {
        let objects = &self.world.objects;
        let illegal = |fault: &str| (rules::ILLEGAL_TAKEN, fault.to_owned());
        let another = || {
            (
                rules::NOT_AS_WRITTEN,
                "another object was to be written".to_owned(),
            )
        };
        let wrong = match (self.orders.taken(key), self.orders.0.first()) {
            (Some(order), _) => {
                let fault = order.fault(objects).map(illegal);
                fault.or_else(|| self.is_other(&order, key, object))
            }
            (None, Some(Order::DeleteNamespace(_)) | None) => {
                Some((rules::UNASKED, "nobody has asked for it".to_owned()))
            }
            (None, Some(order)) => Some(order.fault(objects).map_or_else(another, illegal)),
        };
        wrong.map(|wrong| violation(wrong, key))
    }

    /// What is other than it was asked for.
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
            _ => return Some((rules::NOT_AS_WRITTEN, "something else was asked for".to_owned())),
        };
        let said = |object: &CapacityObject| format!("class {} with {}", object.class, object.figures());
        match (wanted, object) {
            (Some(wanted), Some(object)) if is_same(&wanted, object) => None,
            (None, None) => None,
            (wanted, object) => {
                let [wanted, is] = [wanted.as_ref(), object].map(|it| it.map_or("nothing".to_owned(), said));
                let detail = format!("{wanted} was asked for, and it is {is}");
                Some((rules::NOT_AS_WRITTEN, detail))
            }
        }
    }

    /// An object as a server of this release has it.
    fn as_served(&self, object: &CapacityObject) -> CapacityObject {
        let has_maximum = self.world.api.release.has_maximum();
        CapacityObject {
            maximum: object.maximum.filter(|_| has_maximum),
            ..object.clone()
        }
    }

    /// The user's request was refused with that code.
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
        let why = || format!("it was answered {code}, as if it were not legal");
        is_legal.then(|| violation((rules::NEEDLESSLY_ILLEGAL, why()), &key))
    }

    /// The user's request has created a driver object.
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
            detail: format!("{wanted:?} was to be written, and it is {stored:?}"),
        })
    }

    /// What a case begins with is there: every object that was asked for.
    pub(super) fn all_stored(&mut self) -> Vec<Violation> {
        let orders = std::mem::take(&mut self.orders.0).into_iter();
        let missing = orders.filter_map(|order| match order {
            Order::Create { key, .. } => Some(key),
            _ => None,
        });
        let why = || "it was to be created, and there is none".to_owned();
        missing
            .map(|key| violation((rules::NOT_AS_WRITTEN, why()), &key))
            .collect()
    }
}

/// Whether two objects are the same in what users write.
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
