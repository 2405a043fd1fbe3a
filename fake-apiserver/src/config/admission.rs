//! Admission plugins: a table of all plugins of kube-apiserver, and the set of enabled ones.

use std::collections::BTreeSet;

/// An admission plugin implemented in this crate.
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

/// One plugin of kube-apiserver.
struct PluginEntry {
    name: &'static str,
    /// Enabled by default in kube-apiserver.
    enabled: bool,
    support: Support,
}

/// How this server supports a plugin.
enum Support {
    /// Implemented in this crate.
    Implemented(Plugin),
    /// Implemented by other crates ([`crate::extension::AdmissionPlugin`]).
    External,
    /// Accepted without effect: it has nothing to do here, or its work is always done elsewhere.
    NoOp,
    /// Not implemented; enabling it is an error.
    Missing,
}
use Support::{External, Implemented, Missing, NoOp};

const fn enabled_by_default(name: &'static str, support: Support) -> PluginEntry {
    PluginEntry {
        name,
        enabled: true,
        support,
    }
}

const fn disabled_by_default(name: &'static str, support: Support) -> PluginEntry {
    PluginEntry {
        name,
        enabled: false,
        support,
    }
}

/// All plugins, in the order in which they run.
const PLUGINS: &[PluginEntry] = &[
    disabled_by_default("AlwaysAdmit", NoOp),
    disabled_by_default("NamespaceAutoProvision", Missing),
    // New objects need an existing namespace that is not terminating; some namespaces cannot be deleted.
    enabled_by_default("NamespaceLifecycle", Implemented(Plugin::NamespaceLifecycle)),
    disabled_by_default("NamespaceExists", NoOp),
    disabled_by_default("LimitPodHardAntiAffinityTopology", Missing),
    // Pods get the defaults of limit ranges; pods and PVCs are checked against their limits.
    enabled_by_default("LimitRanger", External),
    // Pods get an existing service account and a volume with its token.
    enabled_by_default("ServiceAccount", Implemented(Plugin::ServiceAccount)),
    disabled_by_default("NodeRestriction", NoOp),
    // New nodes are tainted until they are ready.
    enabled_by_default(
        "TaintNodesByCondition",
        Implemented(Plugin::TaintNodesByCondition),
    ),
    // Pods get `imagePullPolicy: Always`.
    disabled_by_default("AlwaysPullImages", External),
    disabled_by_default("ImagePolicyWebhook", Missing),
    // Pods must satisfy the Pod Security Standard of their namespace's labels.
    enabled_by_default("PodSecurity", External),
    disabled_by_default("PodNodeSelector", Missing),
    // Pods get the priority of their priority class.
    enabled_by_default("Priority", Implemented(Plugin::Priority)),
    // Pods tolerate not-ready and unreachable nodes for five minutes.
    enabled_by_default(
        "DefaultTolerationSeconds",
        Implemented(Plugin::DefaultTolerationSeconds),
    ),
    disabled_by_default("PodTolerationRestriction", Missing),
    disabled_by_default("EventRateLimit", Missing),
    disabled_by_default("ExtendedResourceToleration", Missing),
    // PVCs without a storage class get the default one.
    enabled_by_default("DefaultStorageClass", Implemented(Plugin::DefaultStorageClass)),
    // PVCs and PVs get a finalizer that protects them while they are in use.
    enabled_by_default(
        "StorageObjectInUseProtection",
        Implemented(Plugin::StorageObjectInUseProtection),
    ),
    enabled_by_default("PodGroupProtection", NoOp),
    disabled_by_default("OwnerReferencesPermissionEnforcement", Missing),
    // PVCs can be expanded only once bound, and if their storage class allows it.
    enabled_by_default(
        "PersistentVolumeClaimResize",
        Implemented(Plugin::PersistentVolumeClaimResize),
    ),
    // Pods get the overhead, node selector and tolerations of their runtime class.
    enabled_by_default("RuntimeClass", External),
    enabled_by_default("CertificateApproval", NoOp),
    enabled_by_default("CertificateSigning", NoOp),
    enabled_by_default("ClusterTrustBundleAttest", NoOp),
    enabled_by_default("CertificateSubjectRestriction", NoOp),
    // Ingresses without a class get the default ingress class.
    enabled_by_default("DefaultIngressClass", External),
    // Services must not have external IPs.
    disabled_by_default("DenyServiceExternalIPs", External),
    enabled_by_default("PodTopologyLabels", NoOp),
    enabled_by_default("PodGroupWorkloadExists", NoOp),
    enabled_by_default("NodeDeclaredFeatureValidator", NoOp),
    enabled_by_default("JobValidation", NoOp),
    enabled_by_default("PodResizeValidator", NoOp),
    enabled_by_default("MutatingAdmissionPolicy", NoOp),
    enabled_by_default("MutatingAdmissionWebhook", NoOp),
    enabled_by_default("ValidatingAdmissionPolicy", NoOp),
    enabled_by_default("ValidatingAdmissionWebhook", NoOp),
    // Enforces the resource quotas of a namespace.
    enabled_by_default("ResourceQuota", External),
    // Refuses every write.
    disabled_by_default("AlwaysDeny", Implemented(Plugin::AlwaysDeny)),
];

/// The enabled admission plugins, by their names on the command line of kube-apiserver. Plugins of other crates run only in a
/// server that was created with them ([`crate::ApiServer::with_extensions`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    enabled: BTreeSet<Plugin>,
    /// Enabled plugins of other crates.
    external: BTreeSet<&'static str>,
}

/// An unknown admission plugin, or one that cannot be enabled here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// kube-apiserver does not have the plugin.
    #[error("enable-admission-plugins plugin {0:?} is unknown")]
    Unknown(String),
    /// kube-apiserver has the plugin; this server does not.
    #[error("the admission plugin {0:?} does nothing in this server; leave it out")]
    Missing(String),
}

impl Default for Admission {
    /// The defaults of kube-apiserver except StorageObjectInUseProtection: no controller runs here that removes its finalizers.
    fn default() -> Self {
        let mut all = Self::kubernetes_defaults();
        all.enabled.remove(&Plugin::StorageObjectInUseProtection);
        all
    }
}

impl Admission {
    /// The plugins that kube-apiserver enables by default.
    pub fn kubernetes_defaults() -> Self {
        let enabled = || PLUGINS.iter().filter(|entry| entry.enabled);
        Self {
            enabled: enabled().filter_map(PluginEntry::plugin).collect(),
            external: enabled()
                .filter(|entry| matches!(entry.support, External))
                .map(|entry| entry.name)
                .collect(),
        }
    }

    /// All plugins of kube-apiserver in the order in which they run, each with whether it is enabled by default.
    pub fn names() -> impl Iterator<Item = (&'static str, bool)> {
        PLUGINS.iter().map(|entry| (entry.name, entry.enabled))
    }

    /// Enables a plugin.
    pub fn enable(&mut self, name: &str) -> Result<(), PluginError> {
        let entry = PluginEntry::find(name)?;
        match entry.support {
            Implemented(plugin) => drop(self.enabled.insert(plugin)),
            External => drop(self.external.insert(entry.name)),
            NoOp => {}
            Missing => return Err(PluginError::Missing(name.to_owned())),
        }
        Ok(())
    }

    /// Disables a plugin.
    pub fn disable(&mut self, name: &str) -> Result<(), PluginError> {
        let entry = PluginEntry::find(name)?;
        if let Some(plugin) = entry.plugin() {
            self.enabled.remove(&plugin);
        }
        self.external.remove(entry.name);
        Ok(())
    }

    /// Enables a plugin that is known to be supported here.
    #[must_use]
    pub fn with(mut self, name: &str) -> Self {
        let known = self.enable(name);
        debug_assert!(known.is_ok(), "{name} is no admission plugin");
        self
    }

    pub(crate) fn has(&self, plugin: Plugin) -> bool {
        self.enabled.contains(&plugin)
    }

    /// Whether a plugin of another crate is enabled. Plugins unknown to kube-apiserver always are.
    pub(crate) fn is_external_enabled(&self, name: &str) -> bool {
        PluginEntry::find(name).is_err() || self.external.contains(name)
    }
}

impl PluginEntry {
    fn find(name: &str) -> Result<&'static Self, PluginError> {
        let found = PLUGINS.iter().find(|entry| entry.name == name);
        found.ok_or_else(|| PluginError::Unknown(name.to_owned()))
    }

    fn plugin(&self) -> Option<Plugin> {
        match self.support {
            Implemented(plugin) => Some(plugin),
            External | NoOp | Missing => None,
        }
    }
}
