//! DefaultStorageClass and DefaultIngressClass: what names no class gets the default one.

use crate::kinds::{INGRESS_CLASS, Kind, STORAGE_CLASS};
use crate::machinery::metadata;
use crate::store::Txn;
use serde_json::Value;
use std::cmp::Reverse;

/// The older way to name a claim's class.
pub(super) const STORAGE_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// How objects of a kind name their class.
struct Named {
    classes: &'static Kind,
    /// Marks the classes that those get that name none.
    is_default: &'static str,
    field: &'static str,
    /// The older way to name the class.
    annotation: &'static str,
}

static STORAGE: Named = Named {
    classes: &STORAGE_CLASS,
    is_default: "storageclass.kubernetes.io/is-default-class",
    field: "storageClassName",
    annotation: STORAGE_ANNOTATION,
};

static INGRESS: Named = Named {
    classes: &INGRESS_CLASS,
    is_default: "ingressclass.kubernetes.io/is-default-class",
    field: "ingressClassName",
    annotation: "kubernetes.io/ingress.class",
};

pub(super) fn storage(txn: &Txn<'_>, claim: &mut Value) {
    complete(txn, &STORAGE, claim);
}

pub(super) fn ingress(txn: &Txn<'_>, ingress: &mut Value) {
    complete(txn, &INGRESS, ingress);
}

/// The newest default class, if there are several.
fn complete(txn: &Txn<'_>, of: &Named, object: &mut Value) {
    let named =
        !object["spec"][of.field].is_null() || object["metadata"]["annotations"].get(of.annotation).is_some();
    if named {
        return;
    }
    let classes = txn.snapshot(of.classes).objects;
    let defaults = classes
        .values()
        .filter(|class| class.value()["metadata"]["annotations"][of.is_default] == "true");
    let newest = defaults.min_by_key(|class| {
        let text = |field: &str| metadata::text(class.value(), field).to_owned();
        (Reverse(text("creationTimestamp")), text("name"))
    });
    if let Some(class) = newest {
        object["spec"][of.field] = metadata::text(class.value(), "name").into();
    }
}
