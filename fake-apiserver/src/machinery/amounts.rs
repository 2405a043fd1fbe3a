//! Resource lists (requests, limits, quotas): quantities by resource name, with arithmetic and comparison.

use crate::machinery::quantity::Quantity;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Quantities by resource name (`ResourceList`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Amounts(pub BTreeMap<String, Quantity>);

impl Amounts {
    /// Reads a JSON map of quantities; invalid quantities are left out.
    pub fn read(map: &Value) -> Self {
        let pairs = map.as_object().into_iter().flatten();
        let amounts = pairs.filter_map(|(name, amount)| Some((name.clone(), amount.as_str()?.parse().ok()?)));
        Self(amounts.collect())
    }

    /// The quantities as a JSON map.
    pub fn to_value(&self) -> Value {
        let pairs = self.0.iter();
        let pairs = pairs.map(|(name, amount)| (name.clone(), amount.to_string().into()));
        Value::Object(pairs.collect::<Map<_, _>>())
    }

    /// The quantity of the resource `name`; `None` if the list does not contain it.
    pub fn get(&self, name: &str) -> Option<&Quantity> {
        self.0.get(name)
    }

    /// Sets the quantity of a resource, replacing a previous quantity.
    pub fn set(&mut self, name: impl Into<String>, amount: Quantity) {
        self.0.insert(name.into(), amount);
    }

    /// Adds a quantity to one resource.
    pub fn add_one(&mut self, name: &str, amount: &Quantity) {
        match self.0.entry(name.to_owned()) {
            Entry::Vacant(vacant) => drop(vacant.insert(amount.clone())),
            Entry::Occupied(mut present) => *present.get_mut() = present.get().plus(amount),
        }
    }

    /// Adds the quantities in `others` to this list.
    pub fn add(&mut self, others: &Self) {
        for (name, amount) in &others.0 {
            self.add_one(name, amount);
        }
    }

    /// Subtracts the quantities in `others`. A resource that is only in `others` becomes negative.
    pub fn subtract(&mut self, others: &Self) {
        for (name, amount) in &others.0 {
            self.add_one(name, &amount.negated());
        }
    }

    /// Sets each quantity to the maximum of this list and `others`.
    pub fn set_to_maximum(&mut self, others: &Self) {
        for (name, amount) in &others.0 {
            match self.0.entry(name.clone()) {
                Entry::Vacant(vacant) => drop(vacant.insert(amount.clone())),
                Entry::Occupied(mut present) if present.get() < amount => {
                    present.insert(amount.clone());
                }
                Entry::Occupied(_) => {}
            }
        }
    }

    /// The quantities of the resources that satisfy a predicate.
    pub fn filtered(&self, holds: impl Fn(&str, &Quantity) -> bool) -> Self {
        let matching = self.0.iter().filter(|(name, amount)| holds(name, amount));
        Self(
            matching
                .map(|(name, amount)| (name.clone(), amount.clone()))
                .collect(),
        )
    }

    /// Whether the list contains no quantities.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The resource list as in admission messages: `cpu=1,pods=2`.
    pub fn format_for_admission(&self) -> String {
        let pairs: Vec<String> = self
            .0
            .iter()
            .map(|(name, amount)| format!("{name}={amount}"))
            .collect();
        pairs.join(",")
    }
}
