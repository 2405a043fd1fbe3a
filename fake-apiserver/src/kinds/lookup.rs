//! Finding rows of the table of kinds.

use super::KINDS;
use super::row::Kind;
use crate::config::release::Profile;

impl Kind {
    /// The number of the stored resource.
    pub(crate) fn shelf(&'static self) -> usize {
        let stored = self.stored();
        KINDS
            .iter()
            .position(|k| std::ptr::eq(*k, stored))
            .expect("every stored kind is in the table")
    }

    /// The row of a resource by its place in the API.
    pub(crate) fn find(group: &str, version: &str, plural: &str) -> Option<&'static Kind> {
        KINDS
            .iter()
            .copied()
            .find(|k| k.group == group && k.version == version && k.plural == plural)
    }

    /// The row of a resource by group and plural name, in the preferred version that is served.
    pub(crate) fn find_served(group: &str, plural: &str, profile: Profile) -> Option<&'static Kind> {
        let mut served = KINDS.iter().copied().filter(|k| k.life.contains(profile));
        served.find(|k| k.group == group && k.plural == plural)
    }

    /// A row of a resource by group and plural name, served or not.
    pub(crate) fn find_resource(group: &str, plural: &str) -> Option<&'static Kind> {
        let mut rows = KINDS.iter().copied();
        rows.find(|k| k.group == group && k.plural == plural)
    }

    /// The first row of that plural name in any group, served or not.
    pub(crate) fn find_plural(plural: &str) -> Option<&'static Kind> {
        KINDS.iter().copied().find(|k| k.plural == plural)
    }

    /// Whether the resource can be reached in any version.
    pub(crate) fn is_reachable(&self, profile: Profile) -> bool {
        Kind::find_served(self.group, self.plural, profile).is_some()
    }

    /// The row that is served in the place of this one.
    pub(crate) fn served(&'static self, profile: Profile) -> Option<&'static Kind> {
        if self.life.contains(profile) {
            return Some(self);
        }
        let mut served = KINDS.iter().copied().filter(|k| k.life.contains(profile));
        served.find(|k| k.group == self.group && k.version == self.version && k.plural == self.plural)
    }

    /// The row of a kind by what objects say of themselves.
    pub(crate) fn find_kind(api_version: &str, kind: &str) -> Option<&'static Kind> {
        KINDS
            .iter()
            .copied()
            .find(|k| k.kind == kind && k.has_version(api_version))
    }
}
