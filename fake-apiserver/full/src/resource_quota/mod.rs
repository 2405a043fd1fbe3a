//! The admission plugin ResourceQuota: rejects objects that exceed a quota of their namespace.
//!
//! Also updates `status.used` with every write, which kube-controller-manager's quota controller does in a real cluster.

mod usage;
mod used;

use crate::forbidden;
use fake_apiserver::Status;
use fake_apiserver::extension::{
    AdmissionPlugin, Amounts, Attributes, Kind, Object, Part, Subresource, Transaction, metadata,
};
use serde_json::Value;
use std::sync::Arc;

pub(crate) struct ResourceQuota;

impl AdmissionPlugin for ResourceQuota {
    fn name(&self) -> &'static str {
        "ResourceQuota"
    }

    fn validate(
        &self,
        txn: &mut dyn Transaction,
        request: &Attributes<'_>,
        object: &Value,
    ) -> Result<(), Status> {
        match request.part {
            Part::Main | Part::Sub(Subresource::Resize) => check(txn, request.kind, object, request.old),
            _ => Ok(()),
        }
    }

    fn on_commit(&self, txn: &mut dyn Transaction, kind: &Kind, old: Option<&Value>, new: Option<&Value>) {
        used::update_quotas(txn, kind, old, new);
    }
}

/// The ResourceQuotas of a namespace, with their resource definition; `None` if there are none.
fn quotas(txn: &dyn Transaction, namespace: &str) -> Option<(Kind, Vec<Arc<Object>>)> {
    if namespace.is_empty() {
        return None;
    }
    let kind = txn.kind("", "resourcequotas")?;
    let quotas = txn.objects(&kind, Some(namespace));
    (!quotas.is_empty()).then_some((kind, quotas))
}

fn check(txn: &dyn Transaction, kind: &Kind, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    if old.is_some_and(|old| !usage::may_grow(kind, new, old)) {
        return Ok(());
    }
    let quotas = quotas(txn, metadata::text(new, "namespace")).map(|(_, quotas)| quotas);
    for quota in quotas.into_iter().flatten() {
        check_quota(quota.value(), kind, new, old).map_err(|why| forbidden(kind, new, &why))?;
    }
    Ok(())
}

fn check_quota(quota: &Value, kind: &Kind, new: &Value, old: Option<&Value>) -> Result<(), String> {
    if !usage::matches(quota, kind, new) {
        return Ok(());
    }
    let name = metadata::text(quota, "name");
    let lacking = usage::unspecified_resources(quota, kind, new);
    if !lacking.is_empty() {
        let texts: Vec<String> = lacking
            .iter()
            .map(|(resource, containers)| format!("{resource} for: {}", containers.join(",")))
            .collect();
        return Err(format!("failed quota: {name}: must specify {}", texts.join("; ")));
    }
    let mut requested = usage::usage_under_quota(quota, kind, new);
    if let Some(old) = old {
        requested.subtract(&usage::usage_under_quota(quota, kind, old));
    }
    let requested = requested.filtered(|_, amount| !amount.is_zero() && !amount.is_negative());
    let used = Amounts::read(&quota["status"]["used"]);
    let hard = Amounts::read(&quota["status"]["hard"]);
    let mut after = used.clone();
    after.add(&requested);
    let exceeded = |resource: &str| after.get(resource) > hard.get(resource);
    let failed = requested.filtered(|resource, _| exceeded(resource));
    if failed.is_empty() {
        return Ok(());
    }
    let of_failed = |amounts: &Amounts| {
        amounts
            .filtered(|resource, _| failed.get(resource).is_some())
            .format_for_admission()
    };
    Err(format!(
        "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
        failed.format_for_admission(),
        of_failed(&used),
        of_failed(&hard)
    ))
}
