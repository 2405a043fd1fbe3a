//! The order of merged lists: entries of the patch come in the patch's order, the others retain their position.

use super::directives::{Misuse, PATCH};
use super::names::Places;
use crate::machinery::go;
use serde_json::Value;

/// Checks that the patch of a list has the order of its `$setElementOrder`.
pub(super) fn check(change: &[Value], order: &[Value], key: Option<&str>) -> Result<(), Misuse> {
    let (mut last, places) = (0, Places::of(order, key));
    for item in change.iter().filter(|item| item.get(PATCH).is_none()) {
        match places.get(item, key) {
            Some(at) if at >= last => last = at,
            _ => {
                let list = |items: &[Value]| go::map(&Value::Array(items.to_vec()));
                let text = format!(
                    "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                    list(change),
                    list(order)
                );
                return Err(Misuse::Fit(text));
            }
        }
    }
    Ok(())
}

/// Sorts a merged list: entries in `order` by it, the others by their position `before`.
///
/// When both parts are interleaved, the entry that came first before is first.
pub(super) fn arrange(merged: &mut Vec<Value>, order: &[Value], before: &[Value], key: Option<&str>) {
    let (order, before) = (Places::of(order, key), Places::of(before, key));
    let placed = std::mem::take(merged).into_iter().map(|item| Placed {
        ordered: order.get(&item, key),
        before: before.get(&item, key),
        item,
    });
    let (mut named, mut rest): (Vec<Placed>, Vec<Placed>) =
        placed.partition(|placed| placed.ordered.is_some());
    named.sort_by_key(|placed| placed.ordered);
    rest.sort_by_key(|placed| placed.before.unwrap_or(usize::MAX));
    let (mut named, mut rest) = (named.into_iter().peekable(), rest.into_iter().peekable());
    loop {
        let rest_first = match (named.peek(), rest.peek()) {
            (None, None) => return,
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (Some(n), Some(r)) => n.before.zip(r.before).is_some_and(|(n, r)| n > r),
        };
        let next = if rest_first { rest.next() } else { named.next() };
        merged.extend(next.map(|placed| placed.item));
    }
}

/// An entry with its indices in the requested order and in the old list.
struct Placed {
    ordered: Option<usize>,
    before: Option<usize>,
    item: Value,
}
