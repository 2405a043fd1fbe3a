//! IPAddress objects of Services. They are created and deleted together with the Service.

use super::kubernetes_service::{self, write};
use crate::kinds::IP_ADDRESS;
use crate::machinery::{json, metadata};
use crate::store::{FollowUp, Txn};
use crate::verbs::addresses;
use serde_json::Value;
use std::collections::HashSet;

/// Updates IPAddress objects after the change of a service.
pub(super) fn settle(txn: &mut Txn<'_>, old: Option<&Value>, new: Option<&Value>) {
    let (before, after) = (ips(old), ips(new));
    for ip in before.difference(&after) {
        if let Some(address) = txn.get(&IP_ADDRESS, ip) {
            txn.remove(&IP_ADDRESS, ip);
            txn.enqueue_work(FollowUp::deleted(address.value()));
        }
    }
    let Some(new) = new else { return };
    let (namespace, name) = (metadata::text(new, "namespace"), metadata::text(new, "name"));
    for ip in after.difference(&before) {
        if txn.get(&IP_ADDRESS, ip).is_none() {
            let object = addresses::address(ip, namespace, name);
            write(txn, &IP_ADDRESS, ("", ip), kubernetes_service::SERVER, object);
        }
    }
}

/// The cluster IPs of a service.
fn ips(service: Option<&Value>) -> HashSet<&str> {
    let ips = service.map(|service| json::texts(&service["spec"]["clusterIPs"]));
    let ips = ips.into_iter().flatten();
    ips.filter(|ip| *ip != "None").collect()
}
