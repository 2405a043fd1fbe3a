//! Accepted names of CRDs, by group.
//!
//! Owns which CRD has which name, so that a new CRD need not be compared with all others. Does not know how name
//! conflicts are resolved.

use super::conditions::is_true;
use fake_apiserver::extension::{json, metadata};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// How many CRDs have accepted each name, by API group.
#[derive(Debug, Default)]
pub(crate) struct AcceptedNames(HashMap<String, Group>);

/// For each accepted name in an API group, the number of CRDs that have it.
#[derive(Debug, Default)]
struct Group {
    resources: HashMap<String, usize>,
    kinds: HashMap<String, usize>,
    /// CRDs whose names are not all accepted.
    waiting: BTreeSet<String>,
}

/// The names that one CRD has accepted, from its status.
#[derive(Debug, Default)]
struct Names {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

/// The names in an API group that CRDs other than a given one have accepted.
pub(crate) struct OtherNames<'a> {
    group: Option<&'a Group>,
    own: Names,
}

impl AcceptedNames {
    /// Records that a CRD was created, updated or deleted.
    pub(crate) fn change(&mut self, old: Option<&Value>, new: Option<&Value>) {
        for (definition, is_new) in [(old, false), (new, true)] {
            let Some(definition) = definition else { continue };
            let group = json::string(&definition["spec"], "group");
            let names = Names::of(definition);
            let known = self.0.entry(group.to_owned()).or_default();
            count(&mut known.resources, names.resources, is_new);
            count(&mut known.kinds, names.kinds, is_new);
            let own = metadata::text(definition, "name");
            if is_new && !is_true(definition, "NamesAccepted") {
                known.waiting.insert(own.to_owned());
            } else {
                known.waiting.remove(own);
            }
            if known.resources.is_empty() && known.kinds.is_empty() && known.waiting.is_empty() {
                self.0.remove(group);
            }
        }
    }

    /// The CRDs of a group without the condition `NamesAccepted`.
    pub(crate) fn waiting(&self, group: &str) -> Vec<String> {
        let known = self.0.get(group).into_iter();
        known.flat_map(|group| group.waiting.iter().cloned()).collect()
    }

    pub(crate) fn of_other_crds(&self, definition: &Value) -> OtherNames<'_> {
        OtherNames {
            group: self.0.get(json::string(&definition["spec"], "group")),
            own: Names::of(definition),
        }
    }
}

fn count(known: &mut HashMap<String, usize>, names: BTreeSet<String>, is_new: bool) {
    for name in names {
        let times = known.entry(name.clone()).or_default();
        *times = if is_new {
            *times + 1
        } else {
            times.saturating_sub(1)
        };
        if *times == 0 {
            known.remove(&name);
        }
    }
}

impl Names {
    fn of(definition: &Value) -> Self {
        let given = &definition["status"]["acceptedNames"];
        let resources = ["plural", "singular"].map(|field| json::string(given, field));
        let resources = resources.into_iter().chain(json::texts(&given["shortNames"]));
        let kinds = ["kind", "listKind"].map(|field| json::string(given, field).to_owned());
        Self {
            resources: resources.map(str::to_owned).collect(),
            kinds: kinds.into(),
        }
    }
}

impl OtherNames<'_> {
    /// Whether a CRD other than the given one has accepted `name` as plural, singular or short name.
    pub(super) fn has_resource(&self, name: &str) -> bool {
        let times = self.group.and_then(|group| group.resources.get(name));
        times.is_some_and(|times| *times > usize::from(self.own.resources.contains(name)))
    }

    /// Whether a CRD other than the given one has accepted `name` as kind or list kind.
    pub(super) fn has_kind(&self, name: &str) -> bool {
        let times = self.group.and_then(|group| group.kinds.get(name));
        times.is_some_and(|times| *times > usize::from(self.own.kinds.contains(name)))
    }
}
