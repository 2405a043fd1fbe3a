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

/// A plugin of kube-apiserver, whether or not this server implements it.
struct PluginEntry {
    name: &'static str,
    /// Whether kube-apiserver enables the plugin by default.
    enabled: bool,
    support: Support,
}

/// How this server supports a plugin.
enum Support {
    Implemented(Plugin),
    /// Implemented by another crate ([`crate::extension::AdmissionPlugin`]).
    External,
    /// Can be enabled without effect, because this server never needs the plugin or always does the plugin's work.
    NoOp,
    /// Not implemented; enabling the plugin is an error.
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

/// All plugins of kube-apiserver, in the order in which they run.
const PLUGINS: &[PluginEntry] = &[
    disabled_by_default("AlwaysAdmit", NoOp),
    disabled_by_default("NamespaceAutoProvision", Missing),
    // New objects require an existing namespace that is not terminating; some namespaces cannot be deleted.
    enabled_by_default("NamespaceLifecycle", Implemented(Plugin::NamespaceLifecycle)),
    disabled_by_default("NamespaceExists", NoOp),
    disabled_by_default("LimitPodHardAntiAffinityTopology", Missing),
    // Sets the defaults of LimitRanges in pods; validates pods and PVCs against the limits.
    enabled_by_default("LimitRanger", External),
    // Pods require an existing service account and get a volume with its token.
    enabled_by_default("ServiceAccount", Implemented(Plugin::ServiceAccount)),
    disabled_by_default("NodeRestriction", NoOp),
    // Adds a taint to new nodes until they are ready.
    enabled_by_default(
        "TaintNodesByCondition",
        Implemented(Plugin::TaintNodesByCondition),
    ),
    // Sets `imagePullPolicy: Always` in pods.
    disabled_by_default("AlwaysPullImages", External),
    disabled_by_default("ImagePolicyWebhook", Missing),
    // Pods must satisfy the Pod Security Standard in the labels of their namespace.
    enabled_by_default("PodSecurity", External),
    disabled_by_default("PodNodeSelector", Missing),
    // Sets the priority of pods from their PriorityClass.
    enabled_by_default("Priority", Implemented(Plugin::Priority)),
    // Adds tolerations to pods, so that a pod remains on a not-ready or unreachable node for five minutes.
    enabled_by_default(
        "DefaultTolerationSeconds",
        Implemented(Plugin::DefaultTolerationSeconds),
    ),
    disabled_by_default("PodTolerationRestriction", Missing),
    disabled_by_default("EventRateLimit", Missing),
    disabled_by_default("ExtendedResourceToleration", Missing),
    // Sets the default StorageClass in PVCs without class.
    enabled_by_default("DefaultStorageClass", Implemented(Plugin::DefaultStorageClass)),
    // Adds a finalizer to PVCs and PVs that protects them from deletion while they are in use.
    enabled_by_default(
        "StorageObjectInUseProtection",
        Implemented(Plugin::StorageObjectInUseProtection),
    ),
    enabled_by_default("PodGroupProtection", NoOp),
    disabled_by_default("OwnerReferencesPermissionEnforcement", Missing),
    // PVCs can be expanded only if they are bound and their StorageClass allows expansion.
    enabled_by_default(
        "PersistentVolumeClaimResize",
        Implemented(Plugin::PersistentVolumeClaimResize),
    ),
    // Sets the overhead, node selector and tolerations of the RuntimeClass in pods.
    enabled_by_default("RuntimeClass", External),
    enabled_by_default("CertificateApproval", NoOp),
    enabled_by_default("CertificateSigning", NoOp),
    enabled_by_default("ClusterTrustBundleAttest", NoOp),
    enabled_by_default("CertificateSubjectRestriction", NoOp),
    // Sets the default IngressClass in Ingresses without class.
    enabled_by_default("DefaultIngressClass", External),
    // Rejects Services with external IPs.
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
    // Enforces the ResourceQuotas of a namespace.
    enabled_by_default("ResourceQuota", External),
    // Rejects every write.
    disabled_by_default("AlwaysDeny", Implemented(Plugin::AlwaysDeny)),
];

/// The enabled admission plugins of a server. Plugins of other crates run only if the server was created with them
/// ([`crate::ApiServer::with_extensions`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    enabled: BTreeSet<Plugin>,
    /// Enabled plugins of other crates.
    external: BTreeSet<&'static str>,
}

/// An admission plugin that is unknown or cannot be enabled in this server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// kube-apiserver has no plugin of this name.
    #[error("enable-admission-plugins plugin {0:?} is unknown")]
    Unknown(String),
    /// kube-apiserver has the plugin, but this server does not implement it.
    #[error("admission plugin {0:?} is not implemented by this server; remove it from the enabled plugins")]
    Missing(String),
}

impl Default for Admission {
    /// The defaults of kube-apiserver except StorageObjectInUseProtection: this server has no controller that removes the finalizers of
    /// that plugin.
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

    /// All plugins of kube-apiserver in the order in which they run, and whether each is enabled by default.
    pub fn names() -> impl Iterator<Item = (&'static str, bool)> {
        PLUGINS.iter().map(|entry| (entry.name, entry.enabled))
    }

    /// Enables the plugin that has this name in `--enable-admission-plugins`.
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

    /// Disables the plugin that has this name in `--disable-admission-plugins`.
    pub fn disable(&mut self, name: &str) -> Result<(), PluginError> {
        let entry = PluginEntry::find(name)?;
        if let Some(plugin) = entry.plugin() {
            self.enabled.remove(&plugin);
        }
        self.external.remove(entry.name);
        Ok(())
    }

    /// Enables a plugin, for chained calls. Debug builds panic if the server does not support the plugin.
    #[must_use]
    pub fn with_plugin(mut self, name: &str) -> Self {
        let known = self.enable(name);
        debug_assert!(known.is_ok(), "{name} is not an admission plugin");
        self
    }

    pub(crate) fn has(&self, plugin: Plugin) -> bool {
        self.enabled.contains(&plugin)
    }

    /// Whether a plugin of another crate is enabled. Plugins that kube-apiserver does not have are always enabled.
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
