//! The admission plugins AlwaysPullImages, DefaultIngressClass and DenyServiceExternalIPs.

use fake_apiserver::Status;
use fake_apiserver::extension::{AdmissionPlugin, Attributes, Part, Transaction, json, metadata};
use serde_json::Value;

use crate::forbidden;

/// Sets `imagePullPolicy: Always` for every container, so that a pod cannot use a private image in the node's cache without credentials.
pub(crate) struct AlwaysPullImages;

impl AdmissionPlugin for AlwaysPullImages {
    fn name(&self) -> &'static str {
        "AlwaysPullImages"
    }

    fn admit(
        &self,
        _: &mut dyn Transaction,
        request: &Attributes<'_>,
        pod: &mut Value,
    ) -> Result<(), Status> {
        if request.kind.is_resource("", "pods") {
            for list in ["/spec/containers", "/spec/initContainers"] {
                for container in json::entries(pod, list) {
                    container["imagePullPolicy"] = "Always".into();
                }
            }
        }
        Ok(())
    }
}

const IS_DEFAULT_CLASS: &str = "ingressclass.kubernetes.io/is-default-class";
/// The annotation that named the IngressClass before the field `ingressClassName` existed.
const INGRESS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// Sets the newest default IngressClass for Ingresses that name no IngressClass.
pub(crate) struct DefaultIngressClass;

impl AdmissionPlugin for DefaultIngressClass {
    fn name(&self) -> &'static str {
        "DefaultIngressClass"
    }

    fn admit(
        &self,
        txn: &mut dyn Transaction,
        request: &Attributes<'_>,
        ingress: &mut Value,
    ) -> Result<(), Status> {
        let has_class = || {
            !ingress["spec"]["ingressClassName"].is_null()
                || ingress["metadata"]["annotations"]
                    .get(INGRESS_ANNOTATION)
                    .is_some()
        };
        if !request.kind.is_resource("networking.k8s.io", "ingresses") || has_class() {
            return Ok(());
        }
        let kind = txn.kind("networking.k8s.io", "ingressclasses");
        let classes = kind.map_or_else(Vec::new, |kind| txn.objects(&kind, None));
        let classes = classes.iter().map(|class| class.value());
        if let Some(name) = metadata::newest_default(classes, IS_DEFAULT_CLASS) {
            ingress["spec"]["ingressClassName"] = name.into();
        }
        Ok(())
    }
}

/// Rejects services that add external IPs; an update may retain external IPs of the old service.
pub(crate) struct DenyServiceExternalIps;

impl AdmissionPlugin for DenyServiceExternalIps {
    fn name(&self) -> &'static str {
        "DenyServiceExternalIPs"
    }

    fn validate(
        &self,
        _: &mut dyn Transaction,
        request: &Attributes<'_>,
        service: &Value,
    ) -> Result<(), Status> {
        if !request.kind.is_resource("", "services") || request.part != Part::Main {
            return Ok(());
        }
        let addresses = |service: &Value| -> Vec<String> {
            let list = json::texts(&service["spec"]["externalIPs"]);
            list.into_iter().map(str::to_owned).collect()
        };
        let known = request.old.map(addresses).unwrap_or_default();
        match addresses(service).iter().all(|address| known.contains(address)) {
            true => Ok(()),
            false => Err(forbidden(
                request.kind,
                service,
                "Use of external IPs is denied by admission control",
            )),
        }
    }
}
