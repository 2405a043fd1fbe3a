//! The order of merged lists: entries of the patch are in the order of the patch, other entries retain their position.

use super::directives::{PATCH, StrategicPatchError};
use super::names::Positions;
use crate::machinery::go;
use serde_json::Value;

/// Checks that the patched list entries `change` are in the order of `$setElementOrder`.
pub(super) fn check(change: &[Value], order: &[Value], key: Option<&str>) -> Result<(), StrategicPatchError> {
    let (mut last, positions) = (0, Positions::of(order, key));
    for item in change.iter().filter(|item| item.get(PATCH).is_none()) {
        match positions.get(item, key) {
            Some(at) if at >= last => last = at,
            _ => {
                let list = |items: &[Value]| go::format_map(&Value::Array(items.to_vec()));
                let text = format!(
                    "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                    list(change),
                    list(order)
                );
                return Err(StrategicPatchError::Fit(text));
            }
        }
    }
    Ok(())
}

/// Sorts a merged list: entries listed in `order` by that order, the others by their position in `before`.
///
/// Between an entry in `order` and one that is not, the entry that was first in `before` is first.
pub(super) fn sort_merged_list(
    merged: &mut Vec<Value>,
    order: &[Value],
    before: &[Value],
    key: Option<&str>,
) {
    let (order, before) = (Positions::of(order, key), Positions::of(before, key));
    let positioned = std::mem::take(merged).into_iter().map(|item| PositionedEntry {
        ordered: order.get(&item, key),
        before: before.get(&item, key),
        item,
    });
    let (mut named, mut rest): (Vec<PositionedEntry>, Vec<PositionedEntry>) =
        positioned.partition(|positioned| positioned.ordered.is_some());
    named.sort_by_key(|positioned| positioned.ordered);
    rest.sort_by_key(|positioned| positioned.before.unwrap_or(usize::MAX));
    let (mut named, mut rest) = (named.into_iter().peekable(), rest.into_iter().peekable());
    loop {
        let rest_first = match (named.peek(), rest.peek()) {
            (None, None) => return,
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (Some(n), Some(r)) => n.before.zip(r.before).is_some_and(|(n, r)| n > r),
        };
        let next = if rest_first { rest.next() } else { named.next() };
        merged.extend(next.map(|positioned| positioned.item));
    }
}

/// An entry with its index in the requested order and its index in the old list.
struct PositionedEntry {
    ordered: Option<usize>,
    before: Option<usize>,
    item: Value,
}
