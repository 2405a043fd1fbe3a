//! All API resources, and their lookup by group, version, name or kind.
//!
//! Owns the order of discovery: first built-in resources, including those of other crates, then the groups of CRDs by name. The number of
//! CRDs does not affect the time of a lookup.

use super::KINDS;
use super::elsewhere::ELSEWHERE;
use super::kind::Kind;
use super::resource_definition::ResourceDefinition;
use crate::config::release::Profile;
use imbl::{HashMap, OrdMap};
use std::sync::{Arc, LazyLock};

static BUILT_IN: LazyLock<Arc<Catalogue>> = LazyLock::new(|| Arc::new(Catalogue::with_extensions(&[])));

static KNOWN: LazyLock<Arc<Catalogue>> = LazyLock::new(|| {
    let definitions: Vec<&'static ResourceDefinition> = ELSEWHERE.iter().collect();
    Arc::new(Catalogue::with_extensions(&definitions))
});

/// The API groups of built-in resources, in kube-apiserver's order of discovery.
const GROUPS: [&str; 21] = [
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

/// All API resources. A changed clone shares the memory of the unchanged resources with the original.
#[derive(Clone)]
pub(crate) struct Catalogue {
    /// The built-in resources, including those of other crates, in the order of discovery.
    built_in: Arc<[Kind]>,
    /// Built-in resources, indexed by their table index in the store: first `KINDS`, then the resources of other crates.
    tables: Arc<[Kind]>,
    /// Custom resources by group and plural name. The preferred version of a resource is first.
    groups: OrdMap<&'static str, OrdMap<&'static str, Arc<[Kind]>>>,
    /// Custom resources by the index of their table in the store.
    by_table: HashMap<usize, Arc<[Kind]>>,
}

/// All resources, and the release that determines which of them are served.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) profile: Profile,
}

impl Api {
    /// The served resources in the order of discovery.
    pub(crate) fn served(&self) -> impl Iterator<Item = &Kind> {
        self.catalogue
            .kinds()
            .filter(|kind| kind.life.contains(self.profile))
    }

    pub(crate) fn served_kind(&self, api_version: &str, kind: &str) -> Option<&Kind> {
        let found = self.catalogue.find_kind(api_version, kind)?;
        self.current_definition(found).is_some().then_some(found)
    }

    /// Whether any version of the resource is served.
    pub(crate) fn is_reachable(&self, kind: &Kind) -> bool {
        let served = self.catalogue.find_served(kind.group, kind.plural, self.profile);
        served.is_some()
    }

    pub(crate) fn served_versions(&self, kind: &Kind) -> Vec<Kind> {
        let table_index = kind.table_index();
        let is_same = |other: &&Kind| other.plural == kind.plural && other.table_index() == table_index;
        self.served().filter(is_same).cloned().collect()
    }

    /// The current definition of the resource, which differs from `kind` if its CRD has changed. `None` if the resource is no longer
    /// served.
    pub(crate) fn current_definition<'a>(&'a self, kind: &'a Kind) -> Option<&'a Kind> {
        let present = match kind.defined() {
            Some(_) => self.catalogue.find(kind.group, kind.version, kind.plural),
            None => Some(kind),
        };
        present.filter(|kind| kind.life.contains(self.profile))
    }
}

impl Catalogue {
    /// The catalogue of this crate's built-in resources only.
    pub(crate) fn built_in() -> &'static Arc<Self> {
        &BUILT_IN
    }

    /// The catalogue of all built-in resources, including those that other crates serve.
    pub(crate) fn all_built_in() -> &'static Arc<Self> {
        &KNOWN
    }

    /// The catalogue of this crate's resources and `definitions`, the resources of other crates, without custom resources. If two
    /// definitions have the same group, version and plural name, the one in `definitions` is used.
    pub(crate) fn with_extensions(definitions: &[&'static ResourceDefinition]) -> Self {
        let mut tables = KINDS.to_vec();
        let mut built_in = KINDS.to_vec();
        for definition in definitions {
            let is_same = |kind: &&mut Kind| {
                kind.is_resource(definition.group, definition.plural) && kind.version == definition.version
            };
            if let Some(kind) = built_in.iter_mut().find(is_same) {
                let table_index = kind.table_index();
                *kind = Kind::extension(definition, table_index);
                tables[table_index] = kind.clone();
                continue;
            }
            let stored = definition.view.map(|view| view.stored);
            let is_stored =
                |kind: &Kind| stored.is_some_and(|stored| std::ptr::eq(&raw const **kind, stored));
            let table_index = tables.iter().position(is_stored).unwrap_or(tables.len());
            let kind = Kind::extension(definition, table_index);
            if table_index == tables.len() {
                tables.push(kind.clone());
            }
            let order = place_in_discovery(&kind);
            let at = built_in.partition_point(|other| place_in_discovery(other) <= order);
            built_in.insert(at, kind);
        }
        Self {
            built_in: built_in.into(),
            tables: tables.into(),
            groups: OrdMap::new(),
            by_table: HashMap::new(),
        }
    }

    pub(crate) fn built_in_count(&self) -> usize {
        self.built_in.len()
    }

    /// A copy of the catalogue in which `kinds`, the versions of one custom resource, replace the previous versions of that resource.
    pub(crate) fn with_custom_resource(&self, kinds: Vec<Kind>) -> Self {
        let mut changed = self.clone();
        let Some(first) = kinds.first().cloned() else {
            return changed;
        };
        changed = changed.without_custom_resource(first.group, first.plural);
        let kinds: Arc<[Kind]> = kinds.into();
        changed.by_table.insert(first.table_index(), kinds.clone());
        let group = changed.groups.entry(first.group).or_default();
        group.insert(first.plural, kinds);
        changed
    }

    pub(crate) fn without_custom_resource(&self, group: &str, plural: &str) -> Self {
        let mut changed = self.clone();
        let Some(first) = self.versions_of(group, plural).first() else {
            return changed;
        };
        changed.by_table.remove(&first.table_index());
        if let Some(group) = changed.groups.get_mut(first.group) {
            group.remove(first.plural);
        }
        changed
    }

    /// All versions of a custom resource.
    pub(crate) fn versions_of(&self, group: &str, plural: &str) -> &[Kind] {
        let found = self.groups.get(group).and_then(|group| group.get(plural));
        found.map_or(&[], |kinds| kinds)
    }

    /// All resources, served or not.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Kind> {
        let defined = self.groups.values().flat_map(OrdMap::values);
        self.built_in.iter().chain(defined.flat_map(|kinds| kinds.iter()))
    }

    /// The resources of an API group, served or not.
    pub(crate) fn of_group<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Kind> {
        let built_in = self.built_in.iter().filter(move |kind| kind.group == group);
        let defined = self.groups.get(group).into_iter().flat_map(OrdMap::values);
        built_in.chain(defined.flat_map(|kinds| kinds.iter()))
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Kind> {
        self.first(group, plural, |kind| kind.version == version)
    }

    /// A resource by group and plural name, in its preferred served version.
    pub(crate) fn find_served(&self, group: &str, plural: &str, profile: Profile) -> Option<&Kind> {
        self.first(group, plural, |kind| kind.life.contains(profile))
    }

    /// A resource by group and plural name, served or not.
    pub(crate) fn find_resource(&self, group: &str, plural: &str) -> Option<&Kind> {
        self.first(group, plural, |_| true)
    }

    /// The first resource with this plural name in any group, served or not.
    pub(crate) fn find_plural(&self, plural: &str) -> Option<&Kind> {
        self.kinds().find(|kind| kind.plural == plural)
    }

    pub(crate) fn find_kind(&self, api_version: &str, kind: &str) -> Option<&Kind> {
        let is_it = |found: &&Kind| found.kind == kind && found.has_version(api_version);
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let defined = self.groups.get(group).into_iter().flat_map(OrdMap::values);
        let mut all = self.built_in.iter().chain(defined.flat_map(|kinds| kinds.iter()));
        all.find(is_it)
    }

    pub(crate) fn served_definition<'a>(&'a self, kind: &'a Kind, profile: Profile) -> Option<&'a Kind> {
        if kind.life.contains(profile) {
            return Some(kind);
        }
        self.first(kind.group, kind.plural, |other| {
            other.version == kind.version && other.life.contains(profile)
        })
    }

    /// The resource whose table in the store has this index, in its storage version.
    pub(crate) fn find_by_table_index(&self, table_index: usize) -> Option<&Kind> {
        let defined = self
            .by_table
            .get(&table_index)
            .into_iter()
            .flat_map(|kinds| kinds.iter());
        let built_in = self.tables.get(table_index);
        built_in.or_else(|| defined.into_iter().find(|kind| kind.is_storage_version()))
    }

    fn first(&self, group: &str, plural: &str, holds: impl Fn(&Kind) -> bool) -> Option<&Kind> {
        let mut built_in = self.built_in.iter();
        let found = built_in.find(|kind| kind.group == group && kind.plural == plural && holds(kind));
        found.or_else(|| self.versions_of(group, plural).iter().find(|kind| holds(kind)))
    }
}

/// The position of a resource in discovery: sorted by group, then by name.
fn place_in_discovery(kind: &Kind) -> (usize, &'static str) {
    let group = GROUPS.iter().position(|group| *group == kind.group);
    (group.unwrap_or(GROUPS.len()), kind.plural)
}

impl Kind {
    /// The index of the table in the store that contains the objects of the resource.
    pub(crate) fn table_index(&self) -> usize {
        if let Some(table_index) = self.own_table_index() {
            return table_index;
        }
        let stored = self.in_storage_version();
        KINDS
            .iter()
            .position(|kind| *kind == stored)
            .expect("every stored kind is in KINDS")
    }
}
