//! The resources that there are, and finding them.

use super::KINDS;
use super::kind::Kind;
use crate::config::release::Profile;
use std::sync::{Arc, LazyLock};

static BUILT_IN: LazyLock<Arc<Catalogue>> = LazyLock::new(|| {
    Arc::new(Catalogue {
        kinds: KINDS.to_vec(),
    })
});

/// The resources that there are.
pub(crate) struct Catalogue {
    /// In the order of discovery.
    kinds: Vec<Kind>,
}

/// What is served: the resources that there are, as far as a release has them.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) profile: Profile,
}

impl Api {
    /// What a release serves by itself.
    pub(crate) fn built_in(profile: Profile) -> Self {
        Self {
            catalogue: Catalogue::built_in().clone(),
            profile,
        }
    }

    /// The resources that are served, in the order of discovery.
    pub(crate) fn served(&self) -> impl Iterator<Item = &Kind> {
        self.catalogue
            .kinds()
            .filter(|kind| kind.life.contains(self.profile))
    }
}

impl Catalogue {
    /// The resources of the table.
    pub(crate) fn built_in() -> &'static Arc<Self> {
        &BUILT_IN
    }

    /// All resources, served or not.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.kinds.iter()
    }

    /// A resource by its place in the API.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Kind> {
        self.kinds()
            .find(|k| k.group == group && k.version == version && k.plural == plural)
    }

    /// A resource by group and plural name, in the preferred version that is served.
    pub(crate) fn find_served(&self, group: &str, plural: &str, profile: Profile) -> Option<&Kind> {
        let mut served = self.kinds().filter(|k| k.life.contains(profile));
        served.find(|k| k.group == group && k.plural == plural)
    }

    /// A resource by group and plural name, served or not.
    pub(crate) fn find_resource(&self, group: &str, plural: &str) -> Option<&Kind> {
        self.kinds().find(|k| k.group == group && k.plural == plural)
    }

    /// The first resource of that plural name in any group, served or not.
    pub(crate) fn find_plural(&self, plural: &str) -> Option<&Kind> {
        self.kinds().find(|k| k.plural == plural)
    }

    /// A resource by what its objects say of themselves.
    pub(crate) fn find_kind(&self, api_version: &str, kind: &str) -> Option<&Kind> {
        self.kinds()
            .find(|k| k.kind == kind && k.has_version(api_version))
    }

    /// Whether the resource can be reached in any version.
    pub(crate) fn is_reachable(&self, kind: &Kind, profile: Profile) -> bool {
        self.find_served(kind.group, kind.plural, profile).is_some()
    }

    /// The resource that is served in the place of this one.
    pub(crate) fn served<'a>(&'a self, kind: &'a Kind, profile: Profile) -> Option<&'a Kind> {
        if kind.life.contains(profile) {
            return Some(kind);
        }
        let mut served = self.kinds().filter(|k| k.life.contains(profile));
        served.find(|k| k.group == kind.group && k.version == kind.version && k.plural == kind.plural)
    }

    /// The resource whose objects have that number.
    pub(crate) fn at(&self, shelf: usize) -> Option<&Kind> {
        self.kinds.get(shelf)
    }
}

impl Kind {
    /// The number of the stored resource.
    pub(crate) fn shelf(&self) -> usize {
        let stored = self.stored();
        KINDS
            .iter()
            .position(|kind| *kind == stored)
            .expect("every stored kind is in the table")
    }
}
