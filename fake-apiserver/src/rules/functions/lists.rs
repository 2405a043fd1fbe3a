//! Functions on lists and maps.

use super::convert::shown;
use super::found::Found;
use super::operators;
use crate::rules::failure::Failure;
use crate::rules::value::Val;
use crate::structural::ListType;
use std::cmp::Ordering;
use std::rc::Rc;

/// The most entries of a list that is made of nothing.
const LONGEST: i64 = 1_000_000;

/// Joins two lists, in place where the first is not used elsewhere. Sets and lists with keys hold nothing twice.
pub(super) fn extend<'a>(one: &mut Val<'a>, other: &Val<'a>) -> Option<Val<'a>> {
    let of = one.list_type();
    let more = other.items()?;
    let mut list = match one {
        Val::List(items, _) => std::mem::take(items),
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
    Some(Val::List(list, of))
}

/// How much there is of a value.
pub(super) fn size<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    match (name, args) {
        ("size", [of]) => Some(Ok(Val::Int(i64::try_from(of.size()?).unwrap_or(i64::MAX)))),
        _ => None,
    }
}

/// Functions that begin with `lists.`.
pub(super) fn made<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    match (name, args) {
        // More would cost more than an evaluation may.
        ("range", [Val::Int(end)]) => Some(Ok(Val::list((0..(*end).min(LONGEST)).map(Val::Int).collect()))),
        _ => None,
    }
}

/// Adds entries to a map: a key and its value, or all entries of another map.
pub(super) fn insert<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let (entries, more) = match (name, args) {
        ("cel.@mapInsert", [Val::Map(entries), key, value]) => (entries, vec![(key.clone(), value.clone())]),
        ("cel.@mapInsert", [Val::Map(entries), other]) => (entries, other.entries()),
        _ => return None,
    };
    let mut entries = entries.to_vec();
    for (key, value) in more {
        if entries.iter().any(|(known, _)| *known == key) {
            let key = shown(&key).unwrap_or_default();
            return Some(Err(Failure::new(format!(
                "insert failed: key {key} already exists"
            ))));
        }
        entries.push((key, value));
    }
    Some(Ok(Val::Map(Rc::new(entries))))
}

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let (of, rest) = args.split_first()?;
    if let ("size", []) = (name, rest) {
        return size(name, args);
    }
    let items = of.items()?;
    match (name, rest) {
        (_, []) => alone(name, &items),
        ("join", [Val::Text(by)]) => Some(join(&items, by)),
        ("slice", [Val::Int(from), Val::Int(to)]) => Some(slice(&items, *from, *to)),
        ("flatten", [Val::Int(depth)]) if *depth < 0 => Some(Err(Failure::new("level must be non-negative"))),
        ("flatten", [Val::Int(depth)]) => Some(Ok(Val::list(flat(&items, *depth)))),
        ("@sortByAssociatedKeys", [keys]) => sorted(&items, &keys.items()?),
        (_, [item]) => place(name, &items, item).map(|at| Ok(Val::Int(at))),
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
        "sort" => return sorted(items, items),
        "flatten" => Ok(Val::list(flat(items, 1))),
        "join" => join(items, ""),
        _ => return None,
    })
}

/// A list in the order of its keys, which have to be of one type.
fn sorted<'a>(items: &[Val<'a>], keys: &[Val<'a>]) -> Found<'a> {
    let first = keys.first().map(Val::type_name);
    if keys.iter().any(|key| Some(key.type_name()) != first) {
        return Some(Err(Failure::new("list elements must have the same type")));
    }
    if keys.iter().any(|key| key.compare(key).is_none()) {
        return Some(Err(Failure::new("list elements must be comparable")));
    }
    let mut pairs: Vec<_> = items.iter().zip(keys).collect();
    pairs.sort_by(|(_, one), (_, other)| one.compare(other).unwrap_or(Ordering::Equal));
    Some(Ok(Val::list(
        pairs.into_iter().map(|(item, _)| item.clone()).collect(),
    )))
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
fn extreme<'a>(items: &[Val<'a>], wanted: Ordering) -> Option<Val<'a>> {
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
    let why = match (usize::try_from(from), usize::try_from(to)) {
        (Ok(from), Ok(to)) if from <= to && to <= items.len() => {
            return Ok(Val::list(items[from..to].to_vec()));
        }
        (Ok(from), Ok(to)) if from > to => "start index must be less than or equal to end index".to_owned(),
        (Ok(_), Ok(_)) => format!("list is length {}", items.len()),
        _ => "negative indexes not supported".to_owned(),
    };
    Err(Failure::new(format!("cannot slice({from}, {to}), {why}")))
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
