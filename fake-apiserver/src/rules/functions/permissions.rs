//! Functions on `authorizer`: the chain of calls that ends with a decision.

use super::found::Found;
use crate::rules::authority::Permission;
use crate::rules::failure::Failure;
use crate::rules::value::Val;
use std::rc::Rc;

/// A method of a permission; none if there is no such method at this point.
pub(super) fn method<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let (Val::Permission(permission), args) = args.split_first()? else {
        return None;
    };
    let mut next = Permission::clone(permission);
    let mut texts = Vec::with_capacity(args.len());
    for argument in args {
        let Val::Text(text) = argument else { return None };
        texts.push(text.to_string());
    }
    if let Some((allowed, reason)) = &permission.decision {
        return Some(Ok(match (name, texts.as_slice()) {
            ("allowed", []) => Val::Bool(*allowed),
            ("errored", []) => Val::Bool(false),
            ("reason", []) => Val::text(&**reason),
            ("error", []) => Val::text(""),
            _ => return None,
        }));
    }
    let check = &mut next.check;
    match (name, texts.as_slice()) {
        ("serviceAccount", [namespace, name]) => check.account = Some((namespace.clone(), name.clone())),
        ("path", [path]) if path.is_empty() => {
            return Some(Err(Failure::new("path must not be empty")));
        }
        ("path", [path]) => check.path = Some(path.clone()),
        ("group", [group]) => check.group = Some(group.clone()),
        ("resource", [resource]) => check.resource.clone_from(resource),
        ("subresource", [subresource]) => check.subresource.clone_from(subresource),
        ("namespace", [namespace]) => check.namespace.clone_from(namespace),
        ("name", [name]) => check.name.clone_from(name),
        // Selectors narrow what is asked; those who decide by roles do not look at them.
        ("fieldSelector" | "labelSelector", [_]) => {}
        ("check", [verb]) => {
            check.verb.clone_from(verb);
            let (allowed, reason) = permission.authority.decide(check);
            next.decision = Some((allowed, reason.into()));
        }
        _ => return None,
    }
    Some(Ok(Val::Permission(Rc::new(next))))
}
