//! `$setElementOrder/x`: a patch says in which order the entries of a list are to be.

use super::names::Places;
use super::{Members, Misuse, PATCH, SET_ORDER, list, order};
use serde_json::{Map, Value};

/// Carries out every `$setElementOrder/x`, together with the change of the list that it orders.
pub(super) fn enforce(
    of: Members,
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), Misuse> {
    let names: Vec<String> = patch
        .keys()
        .filter_map(|name| name.strip_prefix(SET_ORDER))
        .map(str::to_owned)
        .collect();
    for name in names {
        let Some(order) = patch.remove(&format!("{SET_ORDER}{name}")) else {
            continue;
        };
        let bad = || Misuse::Form("invalid patch format of setElementOrder list".to_owned());
        let Value::Array(order) = order else {
            return Err(bad());
        };
        let (inner, strategy) = of.member(&name);
        // A patch that removes the list, or replaces it by something else, needs no order.
        let change = match patch.get(&name) {
            None => Vec::new(),
            Some(Value::Array(_)) => patch.remove(&name).and_then(as_list).unwrap_or_default(),
            Some(_) => continue,
        };
        check(&change, &order, strategy.key)?;
        let slot = match original.get_mut(&name) {
            Some(Value::Array(list)) => list,
            _ if change.is_empty() => continue,
            _ => {
                original.insert(name.clone(), Value::Array(Vec::new()));
                match original.get_mut(&name) {
                    Some(Value::Array(list)) => list,
                    _ => continue,
                }
            }
        };
        let before = slot.clone();
        list::combine(inner, strategy.key, slot, change)?;
        order::arrange(slot, &order, &before, strategy.key);
    }
    Ok(())
}

fn as_list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

/// A patch must agree with the order that it sets.
fn check(change: &[Value], order: &[Value], key: Option<&str>) -> Result<(), Misuse> {
    let (mut last, places) = (0, Places::of(order, key));
    for item in change.iter().filter(|item| item.get(PATCH).is_none()) {
        match places.get(item, key) {
            Some(at) if at >= last => last = at,
            _ => {
                let list = |items: &[Value]| list::go_map(&Value::Array(items.to_vec()));
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
