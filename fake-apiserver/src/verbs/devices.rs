//! Who may write what of a claim for devices: administrative access, what is allocated, and what a driver tells.
//!
//! Owns these checks and their texts. Does not know the rules of a claim itself.

use super::call::Target;
use crate::access::auth::{User, account_of};
use crate::access::rbac::{Attributes, ResourceOrPath};
use crate::kinds::{NAMESPACE, Part, RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE};
use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string};
use crate::machinery::metadata;
use crate::store::Txn;
use serde_json::Value;
use std::collections::BTreeSet;

/// The release since which parts of a status have permissions of their own (`DRAResourceClaimGranularStatusAuthorization`).
const GRANULAR: u8 = 36;
/// The label of namespaces in which devices may be used that others use.
const ADMIN_LABEL: &str = "resource.kubernetes.io/admin-access";
/// What says in a user's `extra` which node a service account's token is bound to.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
/// What verbs begin with that allow a driver to tell of its devices: on its own node, and on any.
const OWN_NODE: &str = "associated-node:";
const ANY_NODE: &str = "arbitrary-node:";

/// What the user of a request may not say in a claim, or in a template of claims.
pub(super) fn check(txn: &Txn<'_>, target: &Target, old: Option<&Value>, new: &Value) -> Faults {
    let mut faults = Faults::default();
    match (target.part, old) {
        (Part::Main, None) if target.kind == RESOURCE_CLAIM => request(txn, new, "/spec", &mut faults),
        (Part::Main, None) if target.kind == RESOURCE_CLAIM_TEMPLATE => {
            request(txn, new, "/spec/spec", &mut faults);
        }
        (Part::Status, Some(old)) if target.kind == RESOURCE_CLAIM => {
            grant(txn, old, new, &mut faults);
            if txn.profile().is_since(GRANULAR)
                && let (Some(user), Some(verb)) = (&txn.user, txn.verb)
            {
                let writer = Writer {
                    txn,
                    user,
                    verb: verb.as_str(),
                };
                writer.allocate(&old["status"], &new["status"], &mut faults);
                writer.tell(
                    metadata::text(new, "namespace"),
                    &old["status"],
                    &new["status"],
                    &mut faults,
                );
            }
        }
        _ => {}
    }
    faults
}

/// Administrative access that is asked for. The real server names the field as in a claim, also where it is in a template.
fn request(txn: &Txn<'_>, object: &Value, spec: &str, faults: &mut Faults) {
    let requests = object.pointer(&format!("{spec}/devices/requests"));
    let is_for_admins = |request: &Value| request["exactly"]["adminAccess"] == true;
    if let Some(at) = requests.and_then(|requests| list(requests).iter().position(is_for_admins)) {
        for_admins(
            txn,
            object,
            &format!("spec.devices.requests[{at}].adminAccess"),
            faults,
        );
    }
}

/// Administrative access that is given, and was not before.
fn grant(txn: &Txn<'_>, old: &Value, new: &Value, faults: &mut Faults) {
    let first = |claim: &Value| {
        let results = list(&claim["status"]["allocation"]["devices"]["results"]);
        results.iter().position(|result| result["adminAccess"] == true)
    };
    if first(old).is_none()
        && let Some(at) = first(new)
    {
        let field = format!("status.allocation.devices.results[{at}].adminAccess");
        for_admins(txn, new, &field, faults);
    }
}

/// Refuses administrative access where the namespace is not for it.
fn for_admins(txn: &Txn<'_>, object: &Value, field: &str, faults: &mut Faults) {
    let namespace = txn.get(&NAMESPACE, metadata::text(object, "namespace"));
    let is_for_admins =
        |namespace: &Value| namespace["metadata"]["labels"][ADMIN_LABEL].as_str() == Some("true");
    if !namespace.is_some_and(|namespace| is_for_admins(namespace.value())) {
        let why = format!(
            "admin access to devices requires the `{ADMIN_LABEL}: true` label on the containing namespace"
        );
        faults.forbidden(field, &why);
    }
}

/// Who writes the status of a claim, and with which verb.
struct Writer<'a, 'b> {
    txn: &'a Txn<'b>,
    user: &'a User,
    verb: &'a str,
}

impl Writer<'_, '_> {
    /// Whoever allocates devices, or reserves a claim, needs the permission of a scheduler.
    fn allocate(&self, old: &Value, new: &Value, faults: &mut Faults) {
        if ["allocation", "reservedFor"]
            .iter()
            .all(|field| old[*field] == new[*field])
        {
            return;
        }
        if let Err(why) = self.may(self.verb, "binding", "", "") {
            let verb = self.verb;
            let why = format!(
                "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", \
                 verb=\"{verb}\" permission: {why}"
            );
            faults.forbidden("status.allocation", &why);
        }
    }

    /// Whoever tells of devices needs the permission of their drivers.
    fn tell(&self, namespace: &str, old: &Value, new: &Value, faults: &mut Faults) {
        if new["allocation"].is_null() {
            return;
        }
        let any = format!("{ANY_NODE}{}", self.verb);
        let verbs = match node_of(&new["allocation"]["nodeSelector"]) {
            Some(node) if self.is_on(node) => vec![format!("{OWN_NODE}{}", self.verb), any],
            _ => vec![any],
        };
        for driver in changed_drivers(list(&old["devices"]), list(&new["devices"])) {
            // One of the verbs is enough.
            let refusal = |verb: &String| self.may(verb, "driver", namespace, driver).err();
            if let Some(refusals) = verbs.iter().map(refusal).collect::<Option<Vec<_>>>() {
                let why = format!(
                    "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[{}]\" permission: {}",
                    verbs.join(" "),
                    refusals[0]
                );
                faults.forbidden("status.devices", &why);
            }
        }
    }

    /// Whether the writer is a service account whose token is bound to a node.
    fn is_on(&self, node: &str) -> bool {
        let bound = self.user.extra.get(NODE_NAME).map(Vec::as_slice);
        account_of(&self.user.name).is_some() && matches!(bound, Some([only]) if only == node)
    }

    /// The refusal of what the writer may not do to a subresource that only permissions know.
    fn may(&self, verb: &str, subresource: &str, namespace: &str, name: &str) -> Result<(), String> {
        let asked = ResourceOrPath::Resource {
            group: RESOURCE_CLAIM.group,
            resource: RESOURCE_CLAIM.plural,
            subresource,
            namespace,
            name,
        };
        let attributes = Attributes { verb, asked };
        let decision = self.txn.authorize(self.user, attributes);
        let refusal = decision.require(&attributes, self.user);
        refusal.map_err(|status| status.message)
    }
}

/// The node that an allocation is for, where it is for one.
fn node_of(selector: &Value) -> Option<&str> {
    let [term] = list(&selector["nodeSelectorTerms"]) else {
        return None;
    };
    let ([], [field]) = (list(&term["matchExpressions"]), list(&term["matchFields"])) else {
        return None;
    };
    match list(&field["values"]) {
        [node] if string(field, "key") == "metadata.name" && string(field, "operator") == "In" => {
            node.as_str()
        }
        _ => None,
    }
}

/// The drivers of devices of which something else is told, or nothing any more.
fn changed_drivers<'a>(old: &'a [Value], new: &'a [Value]) -> BTreeSet<&'a str> {
    let is_in = |device: &Value, others: &[Value]| others.contains(device);
    let gone = old.iter().filter(|device| !is_in(device, new));
    let told = new.iter().filter(|device| !is_in(device, old));
    gone.chain(told).map(|device| string(device, "driver")).collect()
}
