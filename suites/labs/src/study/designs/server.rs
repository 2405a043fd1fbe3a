//! Behaviour of the API server for the rejected designs: validation, dropped fields, and merging of patches.

use serde_json::Value;

use super::model::{ClassCapacity, CsiDriver, Metadata, NamedPool, PoolOf2019};
use super::rules::DesignRules;

/// Editions of the KEP, which differ in the field name for the node list of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edition {
    Of2019,
    Later,
}

/// Field name of the node list in the Rust types of the module `model`.
const IN_MODEL: &str = "nodeList";

impl Edition {
    pub(super) fn node_list_field(self) -> &'static str {
        match self {
            Self::Of2019 => "nodeList",
            Self::Later => "nodes",
        }
    }
}

/// Decodes a CSIDriver with the field names of an edition. Unknown fields are errors.
pub(super) fn decode(rules: &DesignRules, edition: Edition, mut value: Value) -> Result<CsiDriver, String> {
    for pool in value["status"]["storage"].as_array_mut().into_iter().flatten() {
        let Some(fields) = pool.as_object_mut() else {
            continue;
        };
        let listed = fields.remove(edition.node_list_field());
        if fields.contains_key(IN_MODEL) {
            return Err(format!("unknown field {IN_MODEL}"));
        }
        if let Some(listed) = listed {
            fields.insert(IN_MODEL.to_owned(), listed);
        }
    }
    let driver: CsiDriver = serde_json::from_value(value).map_err(|error| error.to_string())?;
    validate(rules, &driver).map(|()| driver)
}

/// Validates the rules that the Rust types do not express.
pub(super) fn validate(rules: &DesignRules, driver: &CsiDriver) -> Result<(), String> {
    let pools = &driver.status.storage;
    for (index, pool) in pools.iter().enumerate() {
        let name = &pool.name;
        if pools[..index].iter().any(|other| other.name == *name) {
            return Err(format!("duplicate pool {name}"));
        }
        if rules.both_are_rejected && pool.node_topology.is_some() && pool.node_list.is_some() {
            return Err(format!(
                "pool {name} has a topology and a list of nodes; leave one out"
            ));
        }
        let names = pool.node_list.as_deref().unwrap_or_default();
        let twice = |(index, name): (usize, &String)| names[..index].contains(name);
        if rules.nodes_are_a_set && names.iter().enumerate().any(twice) {
            return Err(format!("pool {name} lists a node twice"));
        }
    }
    Ok(())
}

/// If the feature gate `CSIStorageCapacity` is off, drops the fields that belong to the gate.
pub(super) fn drop_gated_fields(rules: &DesignRules, is_on: bool, mut driver: CsiDriver) -> CsiDriver {
    if !is_on && rules.gate_drops_fields {
        driver.spec.capacity_tracking = None;
        driver.status = Default::default();
    }
    driver
}

/// Applies a strategic merge patch: merges pools by name, and the capacities of a pool by class.
pub(super) fn patch(rules: &DesignRules, driver: &mut CsiDriver, pools: &[NamedPool]) {
    if !rules.lists_are_merged {
        driver.status.storage = pools.to_vec();
        return;
    }
    for pool in pools {
        let known = driver.status.storage.iter_mut().find(|it| it.name == pool.name);
        match known {
            None => driver.status.storage.push(pool.clone()),
            Some(known) => {
                known.node_topology = pool.node_topology.clone().or(known.node_topology.take());
                known.node_list = pool.node_list.clone().or(known.node_list.take());
                pool.classes
                    .iter()
                    .for_each(|class| put_class(&mut known.classes, class));
            }
        }
    }
}

fn put_class(classes: &mut Vec<ClassCapacity>, class: &ClassCapacity) {
    let name = &class.storage_class_name;
    match classes.iter_mut().find(|it| it.storage_class_name == *name) {
        Some(known) => *known = class.clone(),
        None => classes.push(class.clone()),
    }
}

/// Updates a pool of the 2019 design. Fails if the update changes the immutable spec.
pub(super) fn update(
    rules: &DesignRules,
    old: &PoolOf2019,
    new: &PoolOf2019,
) -> Result<PoolOf2019, &'static str> {
    match rules.spec_is_immutable && old.spec != new.spec {
        true => Err("the spec of a CSIStoragePool can't be changed; create another"),
        false => Ok(new.clone()),
    }
}

pub(super) fn validate_cluster_scoped(metadata: &Metadata) -> Result<(), &'static str> {
    match metadata.namespace {
        Some(_) => Err("a CSIStoragePool is cluster-scoped; remove metadata.namespace"),
        None => Ok(()),
    }
}
