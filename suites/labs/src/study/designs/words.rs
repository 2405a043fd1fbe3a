//! Helpers for converting storage to objects: selectors, the classes of an entry, and what some designs cannot express.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::selector::NodeSelector;
use super::world::{Class, Figure, HOSTNAME, Of, Pool, Reach, World};

/// What a design cannot express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsayable {
    Inline,
    Expiry,
    TwoFigures,
    Ordering,
    Twins,
}

impl fmt::Display for Unsayable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inline => "inline volumes",
            Self::Expiry => "an end of validity",
            Self::TwoFigures => "two figures",
            Self::Ordering => "labels that are compared as numbers",
            Self::Twins => "two pools for the same nodes",
        })
    }
}

/// Size of an object in bytes of JSON. These types always serialize.
pub(super) fn length<T: Serialize>(object: &T) -> usize {
    serde_json::to_vec(object).map_or(0, |text| text.len())
}

/// The classes that a capacity applies to; a fallback entry expands to all classes without an own entry.
pub(super) fn classes_of<'w>(world: &'w World, pool: &'w Pool, figure: &'w Figure) -> Vec<&'w str> {
    let of_driver = |class: &&Class| class.driver == pool.driver;
    let is_named = |class: &Class| {
        let mut others = pool.figures.iter();
        others.any(|figure| figure.of == Of::class(&class.name))
    };
    match &figure.of {
        Of::Class(name) => vec![name],
        Of::Inline => Vec::new(),
        Of::Others => {
            let classes = world.classes.iter().filter(of_driver);
            classes
                .filter(|class| !is_named(class))
                .map(|class| class.name.as_str())
                .collect()
        }
    }
}

/// As a node selector, with host names for listed nodes; `None` for the whole cluster.
pub(super) fn selector(reach: &Reach) -> Option<NodeSelector> {
    match reach {
        Reach::Cluster => None,
        Reach::Nodes(names) => Some(by_hostname(names)),
        Reach::Terms(selector) => Some(selector.clone()),
    }
}

pub(super) fn by_hostname(names: &BTreeSet<String>) -> NodeSelector {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    NodeSelector::of(HOSTNAME, "In", &names)
}
