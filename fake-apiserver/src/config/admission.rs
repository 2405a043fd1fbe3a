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
struct Row {
    name: &'static str,
    /// Enabled by default in kube-apiserver.
    on: bool,
    here: Here,
}

/// How this server supports a plugin.
enum Here {
    /// Implemented in this crate.
    Does(Plugin),
    /// Implemented by other crates ([`crate::extension::AdmissionPlugin`]).
    Other,
    /// Accepted without effect: it has nothing to do here, or its work is always done elsewhere.
    Idle,
    /// Not implemented; enabling it is an error.
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
    // New objects need an existing namespace that is not terminating; some namespaces cannot be deleted.
    on("NamespaceLifecycle", Does(Plugin::NamespaceLifecycle)),
    off("NamespaceExists", Idle),
    off("LimitPodHardAntiAffinityTopology", Missing),
    // Pods get the defaults of limit ranges; pods and PVCs are checked against their limits.
    on("LimitRanger", Other),
    // Pods get an existing service account and a volume with its token.
    on("ServiceAccount", Does(Plugin::ServiceAccount)),
    off("NodeRestriction", Idle),
    // New nodes are tainted until they are ready.
    on("TaintNodesByCondition", Does(Plugin::TaintNodesByCondition)),
    // Pods get `imagePullPolicy: Always`.
    off("AlwaysPullImages", Other),
    off("ImagePolicyWebhook", Missing),
    // Pods must satisfy the Pod Security Standard of their namespace's labels.
    on("PodSecurity", Other),
    off("PodNodeSelector", Missing),
    // Pods get the priority of their priority class.
    on("Priority", Does(Plugin::Priority)),
    // Pods tolerate not-ready and unreachable nodes for five minutes.
    on("DefaultTolerationSeconds", Does(Plugin::DefaultTolerationSeconds)),
    off("PodTolerationRestriction", Missing),
    off("EventRateLimit", Missing),
    off("ExtendedResourceToleration", Missing),
    // PVCs without a storage class get the default one.
    on("DefaultStorageClass", Does(Plugin::DefaultStorageClass)),
    // PVCs and PVs get a finalizer that protects them while they are in use.
    on(
        "StorageObjectInUseProtection",
        Does(Plugin::StorageObjectInUseProtection),
    ),
    on("PodGroupProtection", Idle),
    off("OwnerReferencesPermissionEnforcement", Missing),
    // PVCs can be expanded only once bound, and if their storage class allows it.
    on(
        "PersistentVolumeClaimResize",
        Does(Plugin::PersistentVolumeClaimResize),
    ),
    // Pods get the overhead, node selector and tolerations of their runtime class.
    on("RuntimeClass", Other),
    on("CertificateApproval", Idle),
    on("CertificateSigning", Idle),
    on("ClusterTrustBundleAttest", Idle),
    on("CertificateSubjectRestriction", Idle),
    // Ingresses without a class get the default ingress class.
    on("DefaultIngressClass", Other),
    // Services must not have external IPs.
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
    // Enforces the resource quotas of a namespace.
    on("ResourceQuota", Other),
    // Refuses every write.
    off("AlwaysDeny", Does(Plugin::AlwaysDeny)),
];

/// The enabled admission plugins, by their names on the command line of kube-apiserver. Plugins of other crates run only in a
/// server that was created with them ([`crate::ApiServer::with_plugins`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    on: BTreeSet<Plugin>,
    /// Enabled plugins of other crates.
    others: BTreeSet<&'static str>,
}

/// An unknown admission plugin, or one that cannot be enabled here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlugin {
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
        let mut all = Self::of_kubernetes();
        all.on.remove(&Plugin::StorageObjectInUseProtection);
        all
    }
}

impl Admission {
    /// The plugins that kube-apiserver enables by default.
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

    /// All plugins of kube-apiserver in the order in which they run, each with whether it is enabled by default.
    pub fn names() -> impl Iterator<Item = (&'static str, bool)> {
        PLUGINS.iter().map(|row| (row.name, row.on))
    }

    /// Enables a plugin.
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

    /// Disables a plugin.
    pub fn disable(&mut self, name: &str) -> Result<(), NoPlugin> {
        let row = Row::find(name)?;
        if let Some(plugin) = row.plugin() {
            self.on.remove(&plugin);
        }
        self.others.remove(row.name);
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
        self.on.contains(&plugin)
    }

    /// Whether a plugin of another crate is enabled. Plugins unknown to kube-apiserver always are.
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
