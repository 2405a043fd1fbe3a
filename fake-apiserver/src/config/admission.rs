//! The admission plugins: one table of all that kube-apiserver knows, and the set of those that are on.

use std::collections::BTreeSet;

/// An admission plugin that does something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Plugin {
    NamespaceLifecycle,
    ServiceAccount,
    TaintNodesByCondition,
    Priority,
    DefaultTolerationSeconds,
    DefaultStorageClass,
    StorageObjectInUseProtection,
    PersistentVolumeClaimResize,
    AlwaysDeny,
}

/// One plugin.
struct Row {
    name: &'static str,
    /// kube-apiserver runs it unless told otherwise.
    on: bool,
    here: Here,
}

/// What a plugin is here.
enum Here {
    /// It does here what it does there.
    Does(Plugin),
    /// Another crate has it ([`crate::extension::AdmissionPlugin`]).
    Other,
    /// It does nothing that shows: what it looks at is not here, or is done elsewhere whatever is set.
    Idle,
    /// It would do something, and is refused where it is asked for.
    Missing,
}
use Here::{Does, Idle, Missing, Other};

const fn on(name: &'static str, here: Here) -> Row {
    Row { name, on: true, here }
}

const fn off(name: &'static str, here: Here) -> Row {
    Row {
        name,
        on: false,
        here,
    }
}

/// All plugins, in the order in which they run.
const PLUGINS: &[Row] = &[
    off("AlwaysAdmit", Idle),
    off("NamespaceAutoProvision", Missing),
    // New objects need a namespace that is there and stays; some namespaces cannot be deleted.
    on("NamespaceLifecycle", Does(Plugin::NamespaceLifecycle)),
    off("NamespaceExists", Idle),
    off("LimitPodHardAntiAffinityTopology", Missing),
    // Pods get the defaults of limit ranges; pods and claims keep to their bounds.
    on("LimitRanger", Other),
    // Pods get a service account that is there, and a volume with its token.
    on("ServiceAccount", Does(Plugin::ServiceAccount)),
    off("NodeRestriction", Idle),
    // New nodes are tainted until they are ready.
    on("TaintNodesByCondition", Does(Plugin::TaintNodesByCondition)),
    // Images are always pulled.
    off("AlwaysPullImages", Other),
    off("ImagePolicyWebhook", Missing),
    // Pods keep to the standard that labels of their namespace name.
    on("PodSecurity", Other),
    off("PodNodeSelector", Missing),
    // Pods get the priority of their class.
    on("Priority", Does(Plugin::Priority)),
    // Pods tolerate nodes that are not ready for five minutes.
    on("DefaultTolerationSeconds", Does(Plugin::DefaultTolerationSeconds)),
    off("PodTolerationRestriction", Missing),
    off("EventRateLimit", Missing),
    off("ExtendedResourceToleration", Missing),
    // Claims without a class get the default one.
    on("DefaultStorageClass", Does(Plugin::DefaultStorageClass)),
    // Claims and volumes get a finalizer that keeps them as long as they are used.
    on(
        "StorageObjectInUseProtection",
        Does(Plugin::StorageObjectInUseProtection),
    ),
    on("PodGroupProtection", Idle),
    off("OwnerReferencesPermissionEnforcement", Missing),
    // Claims grow only once they are bound, and if their class lets them.
    on(
        "PersistentVolumeClaimResize",
        Does(Plugin::PersistentVolumeClaimResize),
    ),
    // Pods get the overhead, the selector and the tolerations of their runtime class.
    on("RuntimeClass", Other),
    on("CertificateApproval", Idle),
    on("CertificateSigning", Idle),
    on("ClusterTrustBundleAttest", Idle),
    on("CertificateSubjectRestriction", Idle),
    // Ingresses without a class get the default one.
    on("DefaultIngressClass", Other),
    // Services have no external addresses.
    off("DenyServiceExternalIPs", Other),
    on("PodTopologyLabels", Idle),
    on("PodGroupWorkloadExists", Idle),
    on("NodeDeclaredFeatureValidator", Idle),
    on("JobValidation", Idle),
    on("PodResizeValidator", Idle),
    on("MutatingAdmissionPolicy", Idle),
    on("MutatingAdmissionWebhook", Idle),
    on("ValidatingAdmissionPolicy", Idle),
    on("ValidatingAdmissionWebhook", Idle),
    // Quotas of a namespace are kept.
    on("ResourceQuota", Other),
    // Nothing is written.
    off("AlwaysDeny", Does(Plugin::AlwaysDeny)),
];

/// The admission plugins that are on, by their names on the command line of kube-apiserver. Those of other crates run only in a server that has
/// them ([`crate::ApiServer::with_plugins`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    on: BTreeSet<Plugin>,
    /// Plugins of other crates.
    others: BTreeSet<&'static str>,
}

/// A name that is no admission plugin, or one that cannot be switched on here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlugin {
    /// kube-apiserver has no such plugin.
    #[error("enable-admission-plugins plugin {0:?} is unknown")]
    Unknown(String),
    /// kube-apiserver has it, this server has not.
    #[error("the admission plugin {0:?} does nothing in this server; leave it out")]
    Missing(String),
}

impl Default for Admission {
    /// Those of kube-apiserver, but for StorageObjectInUseProtection: somebody would have to take its finalizers away.
    fn default() -> Self {
        let mut all = Self::of_kubernetes();
        all.on.remove(&Plugin::StorageObjectInUseProtection);
        all
    }
}

impl Admission {
    /// Those that kube-apiserver runs unless told otherwise.
    pub fn of_kubernetes() -> Self {
        let on = || PLUGINS.iter().filter(|row| row.on);
        Self {
            on: on().filter_map(Row::plugin).collect(),
            others: on()
                .filter(|row| matches!(row.here, Other))
                .map(|row| row.name)
                .collect(),
        }
    }

    /// The names of all plugins of kube-apiserver, in the order in which they run, and whether each is on there by default.
    pub fn names() -> impl Iterator<Item = (&'static str, bool)> {
        PLUGINS.iter().map(|row| (row.name, row.on))
    }

    /// Switches a plugin on.
    pub fn enable(&mut self, name: &str) -> Result<(), NoPlugin> {
        let row = Row::find(name)?;
        match row.here {
            Does(plugin) => drop(self.on.insert(plugin)),
            Other => drop(self.others.insert(row.name)),
            Idle => {}
            Missing => return Err(NoPlugin::Missing(name.to_owned())),
        }
        Ok(())
    }

    /// Switches a plugin off.
    pub fn disable(&mut self, name: &str) -> Result<(), NoPlugin> {
        let row = Row::find(name)?;
        if let Some(plugin) = row.plugin() {
            self.on.remove(&plugin);
        }
        self.others.remove(row.name);
        Ok(())
    }

    /// The same with a plugin switched on that is known to be here.
    #[must_use]
    pub fn with(mut self, name: &str) -> Self {
        let known = self.enable(name);
        debug_assert!(known.is_ok(), "{name} is no admission plugin");
        self
    }

    pub(crate) fn has(&self, plugin: Plugin) -> bool {
        self.on.contains(&plugin)
    }

    /// Whether a plugin of another crate is on. Plugins that kube-apiserver does not know always are.
    pub(crate) fn runs(&self, name: &str) -> bool {
        Row::find(name).is_err() || self.others.contains(name)
    }
}

impl Row {
    fn find(name: &str) -> Result<&'static Self, NoPlugin> {
        let found = PLUGINS.iter().find(|row| row.name == name);
        found.ok_or_else(|| NoPlugin::Unknown(name.to_owned()))
    }

    fn plugin(&self) -> Option<Plugin> {
        match self.here {
            Does(plugin) => Some(plugin),
            Other | Idle | Missing => None,
        }
    }
}
