//! Admission as far as it looks at other objects, in the order of the plugins. `config::admission` says which are on.
//!
//! What admission does to an object by itself is in the kind's hooks.

mod certificates;
mod default_classes;
mod limits;
mod pod_security;
mod quota;
mod refusal;
mod runtime_class;

use self::default_classes::STORAGE_ANNOTATION;
use self::refusal::forbidden;
use super::call::Target;
use super::token_volume;
use crate::config::admission::Plugin;
use crate::kinds::{Kind, NAMESPACE, PRIORITY_CLASS, Part, SERVICE_ACCOUNT, STORAGE_CLASS, Subresource};
use crate::machinery::faults::Cause;
use crate::machinery::quantity::Quantity;
use crate::machinery::status::Status;
use crate::machinery::{json, metadata, names};
use crate::store::Txn;
use serde_json::Value;

/// Completes a new object, or refuses it. What it must be is checked later: see `confirm`.
pub(super) fn admit(txn: &mut Txn<'_>, kind: &Kind, object: &mut Value) -> Result<(), Status> {
    in_namespace(txn, kind, object)?;
    for plugin in kind.admission {
        if !has(txn, *plugin) {
            continue;
        }
        match plugin {
            Plugin::LimitRanger => limits::complete(txn, kind, object),
            Plugin::ServiceAccount => service_account(txn, kind, object)?,
            Plugin::AlwaysPullImages => always_pull(object),
            Plugin::Priority => priority(txn, kind, object)?,
            Plugin::DefaultStorageClass => default_classes::storage(txn, object),
            Plugin::DefaultIngressClass => default_classes::ingress(txn, object),
            Plugin::RuntimeClass => runtime_class::complete(txn, kind, object)?,
            _ => {}
        }
    }
    Ok(())
}

/// Refuses a new or changed object that is beyond the bounds that other objects set.
pub(super) fn confirm(
    txn: &mut Txn<'_>,
    target: &Target,
    new: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let kind = &target.kind;
    let is_pod = kind.plural == "pods" && kind.group.is_empty();
    let is_resized = target.part == Part::Sub(Subresource::Resize);
    let is_approval = target.part == Part::Sub(Subresource::Approval);
    for plugin in kind.admission {
        if !has(txn, *plugin) {
            continue;
        }
        match plugin {
            // The containers of a pod stay as they are, unless it is resized.
            Plugin::LimitRanger if is_resized || target.part == Part::Main && !(is_pod && old.is_some()) => {
                limits::check(txn, kind, new)?;
            }
            Plugin::PodSecurity => pod_security::check(txn, target, new, old)?,
            Plugin::RuntimeClass if old.is_none() => runtime_class::check(txn, kind, new)?,
            Plugin::PersistentVolumeClaimResize => resize(txn, target, new, old)?,
            Plugin::DenyServiceExternalIps => deny_external_addresses(kind, new, old)?,
            Plugin::CertificateApproval if is_approval => certificates::approval(txn, kind, new)?,
            Plugin::CertificateSigning if target.part == Part::Status => {
                certificates::signing(txn, kind, new, old)?;
            }
            Plugin::CertificateSubjectRestriction if old.is_none() => certificates::subject(kind, new)?,
            _ => {}
        }
    }
    Ok(())
}

/// Refuses what is beyond a quota: the last question, after webhooks and policies.
pub(super) fn count(txn: &Txn<'_>, target: &Target, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    let counts = matches!(target.part, Part::Main | Part::Sub(Subresource::Resize));
    match has(txn, Plugin::ResourceQuota) && counts {
        true => quota::check(txn, &target.kind, new, old),
        false => Ok(()),
    }
}

fn has(txn: &Txn<'_>, plugin: Plugin) -> bool {
    txn.options().admission.has(plugin)
}

/// AlwaysPullImages: whoever runs a pod has the right to its images.
fn always_pull(pod: &mut Value) {
    for list in ["/spec/containers", "/spec/initContainers"] {
        for container in json::entries(pod, list) {
            container["imagePullPolicy"] = "Always".into();
        }
    }
}

/// DenyServiceExternalIPs: addresses from outside do not come, and those that are there may go.
fn deny_external_addresses(kind: &Kind, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    let addresses = |service: &Value| -> Vec<String> {
        let list = json::texts(&service["spec"]["externalIPs"]);
        list.into_iter().map(str::to_owned).collect()
    };
    let known = old.map(addresses).unwrap_or_default();
    if addresses(new).iter().all(|address| known.contains(address)) {
        return Ok(());
    }
    Err(forbidden(
        kind,
        new,
        "Use of external IPs is denied by admission control",
    ))
}

/// NamespaceLifecycle: a new object needs a namespace that exists and stays.
pub(super) fn in_namespace(txn: &Txn<'_>, kind: &Kind, object: &Value) -> Result<(), Status> {
    let namespace = metadata::text(object, "namespace");
    if namespace.is_empty() || !has(txn, Plugin::NamespaceLifecycle) {
        return Ok(());
    }
    let Some(found) = txn.get(&NAMESPACE, namespace) else {
        return Err(Status::not_found(NAMESPACE.resource(), namespace));
    };
    if !metadata::is_deleting(found.value()) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(kind.resource(), metadata::text(object, "name"), &why);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            reason: "NamespaceTerminating",
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
    }
    Err(status)
}

/// PersistentVolumeClaimResize: a claim grows only once it is bound, and if its class lets it.
fn resize(txn: &Txn<'_>, target: &Target, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    let Some(old) = old.filter(|_| target.part == Part::Main) else {
        return Ok(());
    };
    let size = |claim: &Value| {
        let text = claim["spec"]["resources"]["requests"]["storage"].as_str();
        text.and_then(|text| text.parse::<Quantity>().ok())
    };
    if size(new) <= size(old) {
        return Ok(());
    }
    let refuse = |why: &str| Err(Status::forbidden(target.kind.resource(), target.name(), why));
    if old["status"]["phase"] != "Bound" {
        return refuse("Only bound persistent volume claims can be expanded");
    }
    let class = |claim: &Value| {
        let annotated = claim["metadata"]["annotations"][STORAGE_ANNOTATION].as_str();
        let class = annotated.or(claim["spec"]["storageClassName"].as_str());
        class.unwrap_or_default().to_owned()
    };
    let name = class(new);
    let found = txn.get(&STORAGE_CLASS, &name).filter(|_| name == class(old));
    if found.is_some_and(|class| class.value()["allowVolumeExpansion"] == true) {
        return Ok(());
    }
    refuse(
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support \
         resize",
    )
}

/// A pod has the priority of its class, or of the default one, or none.
fn priority(txn: &Txn<'_>, kind: &Kind, pod: &mut Value) -> Result<(), Status> {
    let refuse =
        |pod: &Value, why: &str| Status::forbidden(kind.resource(), metadata::text(pod, "name"), why);
    let name = pod["spec"]["priorityClassName"].as_str().unwrap_or_default();
    let class = if name.is_empty() {
        let classes = txn.snapshot(&PRIORITY_CLASS).objects;
        let defaults = classes
            .values()
            .filter(|class| class.value()["globalDefault"] == true);
        defaults
            .min_by_key(|class| class.value()["value"].as_i64())
            .cloned()
    } else {
        let found = txn.get(&PRIORITY_CLASS, name);
        Some(found.ok_or_else(|| refuse(pod, &format!("no PriorityClass with name {name} was found")))?)
    };
    let class = class.as_ref().map(|class| class.value());
    let value = class
        .and_then(|class| class["value"].as_i64())
        .unwrap_or_default();
    if let Some(given) = pod["spec"]["priority"].as_i64().filter(|given| *given != value) {
        let why = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {value} from the given PriorityClass name"
        );
        return Err(refuse(pod, &why));
    }
    let policy = class.map_or("PreemptLowerPriority", |class| {
        class["preemptionPolicy"].as_str().unwrap_or_default()
    });
    if let Some(given) = pod["spec"]["preemptionPolicy"]
        .as_str()
        .filter(|given| *given != policy)
    {
        let why = format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission \
             controller computed {policy} from the given PriorityClass name"
        );
        return Err(refuse(pod, &why));
    }
    let spec = json::member(pod, "spec");
    spec.insert("priority".to_owned(), value.into());
    if let Some(class) = class {
        spec.insert(
            "priorityClassName".to_owned(),
            metadata::text(class, "name").into(),
        );
        spec.entry("preemptionPolicy")
            .or_insert_with(|| class["preemptionPolicy"].clone());
    }
    Ok(())
}

/// A pod needs its service account, and gets a volume with a token of it. Where there are no kubelets there is nobody
/// to make accounts, nor to use them.
fn service_account(txn: &mut Txn<'_>, kind: &Kind, pod: &mut Value) -> Result<(), Status> {
    if txn.options().kubelet_less {
        return Ok(());
    }
    let namespace = metadata::text(pod, "namespace");
    let account = pod["spec"]["serviceAccountName"]
        .as_str()
        .filter(|name| !name.is_empty());
    let account = account.unwrap_or("default");
    let key = SERVICE_ACCOUNT.key(Some(namespace), account);
    let Some(found) = txn.get(&SERVICE_ACCOUNT, &key) else {
        let complaints = names::path_segment(account);
        let why = match complaints.is_empty() {
            true => format!("serviceaccount {account:?} not found"),
            false => format!("invalid resource name {account:?}: [{}]", complaints.join(" ")),
        };
        let why = format!("error looking up service account {namespace}/{account}: {why}");
        return Err(Status::forbidden(
            kind.resource(),
            metadata::text(pod, "name"),
            &why,
        ));
    };
    let spec = json::member(pod, "spec");
    for name in ["serviceAccount", "serviceAccountName"] {
        spec.insert(name.to_owned(), metadata::text(found.value(), "name").into());
    }
    if let Some(secrets) = found.value().get("imagePullSecrets")
        && spec.get("imagePullSecrets").is_none()
    {
        spec.insert("imagePullSecrets".to_owned(), secrets.clone());
    }
    let wanted = [&pod["spec"], found.value()].map(|asked| asked["automountServiceAccountToken"].as_bool());
    if wanted.into_iter().flatten().next().unwrap_or(true) {
        token_volume::mount(txn, pod);
    }
    Ok(())
}
