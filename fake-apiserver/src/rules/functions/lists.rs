//! Functions on lists and maps.

use super::found::Found;
use super::operators;
use crate::rules::failure::Failure;
use crate::rules::value::Val;
use crate::structural::ListType;
use std::cmp::Ordering;
use std::rc::Rc;

/// Joins two lists, in place where the first is not used elsewhere. Sets and lists with keys hold nothing twice.
pub(super) fn extend<'a>(one: &mut Val<'a>, other: &Val<'a>) -> Option<Val<'a>> {
    let of = one.list_type();
    let more = other.items()?;
    let mut list = match one {
        Val::List(items) => std::mem::take(items),
        Val::Items(..) => Rc::new(one.items()?.into_owned()),
        _ => return None,
    };
    let items = Rc::make_mut(&mut list);
    for item in more.iter() {
        let known = match of {
            ListType::Atomic => None,
            of => items.iter().position(|known| known.has_keys_of(item, of)),
        };
        match known {
            Some(at) => items[at] = item.clone(),
            None => items.push(item.clone()),
        }
    }
    Some(Val::List(list))
}

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let (of, rest) = args.split_first()?;
    if let ("size", []) = (name, rest) {
        return Some(Ok(Val::Int(i64::try_from(of.size()?).unwrap_or(i64::MAX))));
    }
    let items = of.items()?;
    match rest {
        [] => alone(name, &items),
        [Val::Text(by)] if name == "join" => Some(join(&items, by)),
        [Val::Int(from), Val::Int(to)] if name == "slice" => Some(slice(&items, *from, *to)),
        [Val::Int(depth)] if name == "flatten" => Some(Ok(Val::list(flat(&items, *depth)))),
        [item] => place(name, &items, item).map(|at| Ok(Val::Int(at))),
        _ => None,
    }
}

fn alone<'a>(name: &str, items: &[Val<'a>]) -> Found<'a> {
    let nothing = || Failure::new(format!("{name} called on empty list"));
    Some(match name {
        "isSorted" => {
            let is_sorted = |pair: &[Val<'a>]| pair[0].compare(&pair[1]).is_some_and(Ordering::is_le);
            Ok(Val::Bool(items.windows(2).all(is_sorted)))
        }
        "sum" => sum(items),
        "min" => extreme(items, Ordering::Less).ok_or_else(nothing),
        "max" => extreme(items, Ordering::Greater).ok_or_else(nothing),
        "first" => Ok(Val::optional(items.first().cloned())),
        "last" => Ok(Val::optional(items.last().cloned())),
        "reverse" => Ok(Val::list(items.iter().rev().cloned().collect())),
        "distinct" => Ok(Val::list(distinct(items))),
        "sort" => {
            let mut sorted = items.to_vec();
            sorted.sort_by(|one, other| one.compare(other).unwrap_or(Ordering::Equal));
            Ok(Val::list(sorted))
        }
        "flatten" => Ok(Val::list(flat(items, 1))),
        "join" => join(items, ""),
        _ => return None,
    })
}

fn place(name: &str, items: &[Val<'_>], item: &Val<'_>) -> Option<i64> {
    let at = match name {
        "indexOf" => items.iter().position(|known| known == item),
        "lastIndexOf" => items.iter().rposition(|known| known == item),
        _ => return None,
    };
    Some(at.map_or(-1, |at| i64::try_from(at).unwrap_or(i64::MAX)))
}

fn sum<'a>(items: &[Val<'a>]) -> Result<Val<'a>, Failure> {
    let Some((first, rest)) = items.split_first() else {
        return Ok(Val::Int(0));
    };
    rest.iter().try_fold(first.clone(), |sum, item| {
        let sum = operators::call("_+_", &[sum, item.clone()]);
        sum.unwrap_or_else(|| Err(Failure::no_overload()))
    })
}

/// The least or the greatest of some values.
pub(super) fn extreme<'a>(items: &[Val<'a>], wanted: Ordering) -> Option<Val<'a>> {
    let best = items
        .iter()
        .reduce(|best, item| match item.compare(best) == Some(wanted) {
            true => item,
            false => best,
        });
    best.cloned()
}

fn distinct<'a>(items: &[Val<'a>]) -> Vec<Val<'a>> {
    let mut out: Vec<Val<'a>> = Vec::new();
    for item in items {
        if !out.contains(item) {
            out.push(item.clone());
        }
    }
    out
}

fn join<'a>(items: &[Val<'a>], by: &str) -> Result<Val<'a>, Failure> {
    let texts = items.iter().map(|item| match item {
        Val::Text(text) => Ok(text.as_ref()),
        _ => Err(Failure::no_overload()),
    });
    let texts: Vec<&str> = texts.collect::<Result<_, _>>()?;
    Ok(Val::text(texts.join(by)))
}

fn slice<'a>(items: &[Val<'a>], from: i64, to: i64) -> Result<Val<'a>, Failure> {
    let place = |at: i64| usize::try_from(at).ok().filter(|at| *at <= items.len());
    match (place(from), place(to)) {
        (Some(from), Some(to)) if from <= to => Ok(Val::list(items[from..to].to_vec())),
        _ => Err(Failure::new(format!(
            "cannot slice({from}, {to}), list is length {}",
            items.len()
        ))),
    }
}

fn flat<'a>(items: &[Val<'a>], depth: i64) -> Vec<Val<'a>> {
    let mut out = Vec::new();
    for item in items {
        match item.items().filter(|_| depth > 0) {
            Some(inner) => out.extend(flat(&inner, depth - 1)),
            None => out.push(item.clone()),
        }
    }
    out
}
