//! Admission plugins that read other objects. `config::admission` has the names of the enabled ones; other crates can
//! add plugins (`plugin::AdmissionPlugin`).
//!
//! Plugins that need only the object itself are hooks of its kind.

use super::call::Target;
use super::token_volume;
use crate::config::admission::Plugin;
use crate::kinds::{Kind, NAMESPACE, PRIORITY_CLASS, Part, SERVICE_ACCOUNT, STORAGE_CLASS};
use crate::machinery::error_list::Cause;
use crate::machinery::quantity::Quantity;
use crate::machinery::status::Status;
use crate::machinery::{json, metadata, names};
use crate::plugin::Attributes;
use crate::store::Txn;
use serde_json::Value;

/// The deprecated annotation with the StorageClass of a PVC, older than `storageClassName`.
const STORAGE_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const IS_DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// Mutating admission of a new object, before validation.
pub(super) fn admit(txn: &mut Txn<'_>, target: &Target, object: &mut Value) -> Result<(), Status> {
    let kind = &target.kind;
    check_namespace(txn, kind, object)?;
    match (kind.group, kind.plural) {
        ("", "pods") => {
            if is_enabled(txn, Plugin::ServiceAccount) {
                set_service_account(txn, kind, object)?;
            }
            if is_enabled(txn, Plugin::Priority) {
                set_priority(txn, kind, object)?;
            }
        }
        ("", "persistentvolumeclaims") if is_enabled(txn, Plugin::DefaultStorageClass) => {
            set_default_storage_class(txn, object);
        }
        _ => {}
    }
    for plugin in txn.plugins().iter() {
        plugin.admit(txn, &attributes(target, None), object)?;
    }
    Ok(())
}

/// Validating admission of a valid new or changed object.
pub(super) fn validate(
    txn: &mut Txn<'_>,
    target: &Target,
    new: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let kind = &target.kind;
    if (kind.group, kind.plural) == ("", "persistentvolumeclaims")
        && is_enabled(txn, Plugin::PersistentVolumeClaimResize)
    {
        check_resize(txn, target, new, old)?;
    }
    for plugin in txn.plugins().iter() {
        plugin.validate(txn, &attributes(target, old), new)?;
    }
    Ok(())
}

fn attributes<'r>(target: &'r Target, old: Option<&'r Value>) -> Attributes<'r> {
    Attributes {
        kind: &target.kind,
        part: target.part,
        old,
    }
}

fn is_enabled(txn: &Txn<'_>, plugin: Plugin) -> bool {
    txn.options().admission.has(plugin)
}

/// DefaultStorageClass: a PVC without a class gets the newest default class.
fn set_default_storage_class(txn: &Txn<'_>, claim: &mut Value) {
    let has_class = !claim["spec"]["storageClassName"].is_null()
        || claim["metadata"]["annotations"].get(STORAGE_ANNOTATION).is_some();
    if has_class {
        return;
    }
    let classes = txn.snapshot(&STORAGE_CLASS).objects;
    let classes = classes.values().map(|class| class.value());
    if let Some(name) = metadata::newest_default(classes, IS_DEFAULT_CLASS) {
        claim["spec"]["storageClassName"] = name.into();
    }
}

/// NamespaceLifecycle: a new object requires an existing namespace that is not terminating.
pub(super) fn check_namespace(txn: &Txn<'_>, kind: &Kind, object: &Value) -> Result<(), Status> {
    let namespace = metadata::text(object, "namespace");
    if namespace.is_empty() || !is_enabled(txn, Plugin::NamespaceLifecycle) {
        return Ok(());
    }
    let Some(found) = txn.get(&NAMESPACE, namespace) else {
        return Err(Status::not_found(NAMESPACE.group_resource(), namespace));
    };
    if !metadata::is_deleting(found.value()) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(kind.group_resource(), metadata::text(object, "name"), &why);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            reason: "NamespaceTerminating",
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
    }
    Err(status)
}

/// PersistentVolumeClaimResize: a PVC can grow only if it is bound and its StorageClass allows expansion.
fn check_resize(txn: &Txn<'_>, target: &Target, new: &Value, old: Option<&Value>) -> Result<(), Status> {
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
    let refuse = |why: &str| {
        Err(Status::forbidden(
            target.kind.group_resource(),
            target.name(),
            why,
        ))
    };
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

/// Priority: a pod gets the priority of its PriorityClass, else of the default PriorityClass, else 0.
fn set_priority(txn: &Txn<'_>, kind: &Kind, pod: &mut Value) -> Result<(), Status> {
    let refuse =
        |pod: &Value, why: &str| Status::forbidden(kind.group_resource(), metadata::text(pod, "name"), why);
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

/// ServiceAccount: a pod requires its service account and gets a volume with a token. Disabled if the options say that the cluster has no
/// kubelets: then service accounts are neither created nor used.
fn set_service_account(txn: &mut Txn<'_>, kind: &Kind, pod: &mut Value) -> Result<(), Status> {
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
        let messages = names::path_segment(account);
        let why = match messages.is_empty() {
            true => format!("serviceaccount {account:?} not found"),
            false => format!("invalid resource name {account:?}: [{}]", messages.join(" ")),
        };
        let why = format!("error looking up service account {namespace}/{account}: {why}");
        return Err(Status::forbidden(
            kind.group_resource(),
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
    let wanted = [&pod["spec"], found.value()].map(|object| object["automountServiceAccountToken"].as_bool());
    if wanted.into_iter().flatten().next().unwrap_or(true) {
        token_volume::add_token_volume(txn, pod);
    }
    Ok(())
}
