//! `/healthz`, `/livez` and `/readyz`: the health checks of the server.
//!
//! Owns the checks and their output. Does not know authorization.

use super::respond::{self, CompleteResponse};
use crate::store::Store;
use crate::verbs::call::Params;
use hyper::header::X_CONTENT_TYPE_OPTIONS;
use tokio_util::sync::CancellationToken;

/// A health check: its name, the endpoints that include it, and whether it passes.
struct Check {
    name: &'static str,
    endpoints: &'static [&'static str],
    is_well: fn(&Store, &CancellationToken) -> bool,
}

const ALL: &[&str] = &["healthz", "livez", "readyz"];
const ALIVE: &[&str] = &["healthz", "livez"];
const READY: &[&str] = &["readyz"];

/// A check that kube-apiserver performs during startup only; here it always passes.
const fn always_passing(name: &'static str) -> Check {
    Check {
        name,
        endpoints: ALL,
        is_well: |_, _| true,
    }
}

/// All checks, with the names and in the order of kube-apiserver.
const CHECKS: &[Check] = &[
    always_passing("ping"),
    always_passing("log"),
    Check {
        endpoints: ALIVE,
        ..always_passing("loopback-serving-certificate")
    },
    Check {
        // Passes if the store can be locked and contains the initial objects.
        name: "etcd",
        endpoints: ALL,
        is_well: |store, _| store.revision() > 1,
    },
    Check {
        endpoints: READY,
        ..always_passing("etcd-readiness")
    },
    Check {
        endpoints: READY,
        ..always_passing("informer-sync")
    },
    always_passing("poststarthook/start-apiserver-admission-initializer"),
    always_passing("poststarthook/generic-apiserver-start-informers"),
    always_passing("poststarthook/priority-and-fairness-config-consumer"),
    always_passing("poststarthook/priority-and-fairness-filter"),
    always_passing("poststarthook/storage-object-count-tracker-hook"),
    always_passing("poststarthook/start-apiextensions-informers"),
    always_passing("poststarthook/start-apiextensions-controllers"),
    always_passing("poststarthook/crd-informer-synced"),
    always_passing("poststarthook/start-system-namespaces-controller"),
    always_passing("poststarthook/peer-endpoint-reconciler-controller"),
    always_passing("poststarthook/start-cluster-authentication-info-controller"),
    always_passing("poststarthook/start-kube-apiserver-identity-lease-controller"),
    always_passing("poststarthook/start-kube-apiserver-identity-lease-garbage-collector"),
    always_passing("poststarthook/storage-readiness"),
    always_passing("poststarthook/start-legacy-token-tracking-controller"),
    always_passing("poststarthook/start-service-ip-repair-controllers"),
    always_passing("poststarthook/rbac/bootstrap-roles"),
    always_passing("poststarthook/scheduling/bootstrap-system-priority-classes"),
    always_passing("poststarthook/priority-and-fairness-config-producer"),
    always_passing("poststarthook/bootstrap-controller"),
    always_passing("poststarthook/start-kubernetes-service-cidr-controller"),
    always_passing("poststarthook/start-kube-aggregator-informers"),
    always_passing("poststarthook/apiservice-status-local-available-controller"),
    always_passing("poststarthook/apiservice-status-remote-available-controller"),
    always_passing("poststarthook/apiservice-registration-controller"),
    always_passing("poststarthook/apiservice-wait-for-first-sync"),
    always_passing("poststarthook/apiservice-discovery-controller"),
    always_passing("poststarthook/kube-apiserver-autoregistration"),
    always_passing("autoregister-completion"),
    always_passing("poststarthook/apiservice-openapi-controller"),
    always_passing("poststarthook/apiservice-openapiv3-controller"),
    Check {
        name: "shutdown",
        endpoints: READY,
        is_well: |_, stop| !stop.is_cancelled(),
    },
];

/// `/healthz`, `/livez`, `/readyz` and the paths of all individual checks below them.
pub(super) fn paths() -> impl Iterator<Item = String> {
    let one = |check: &'static Check| check.endpoints.iter().map(|of| format!("/{of}/{}", check.name));
    let all = ALL.iter().map(|of| format!("/{of}"));
    all.chain(CHECKS.iter().flat_map(one))
}

/// The checks as service level indicators (`/metrics/slis`).
pub(super) fn service_level_indicators(store: &Store, stop: &CancellationToken) -> String {
    let (mut now, mut total) = (String::new(), String::new());
    for check in CHECKS {
        for of in check.endpoints {
            let labels = format!("name={:?},type={of:?}", check.name);
            let is_well = (check.is_well)(store, stop);
            let status = if is_well { "success" } else { "error" };
            now.push_str(&format!(
                "kubernetes_healthcheck{{{labels}}} {}\n",
                u8::from(is_well)
            ));
            total.push_str(&format!(
                "kubernetes_healthchecks_total{{{labels},status={status:?}}} 1\n"
            ));
        }
    }
    format!(
        "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n\
         # TYPE kubernetes_healthcheck gauge\n{now}\
         # HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.\n\
         # TYPE kubernetes_healthchecks_total counter\n{total}"
    )
}

/// Responds to `/healthz`, `/livez`, `/readyz` or the path of a check below them. `None` if the path names no check.
pub(super) fn health_response(
    endpoint: &str,
    rest: &[String],
    params: &Params,
    store: &Store,
    stop: &CancellationToken,
) -> Option<CompleteResponse> {
    let all = CHECKS.iter().filter(|check| check.endpoints.contains(&endpoint));
    let chosen: Vec<&Check> = match rest {
        [] => all.collect(),
        name => vec![all.into_iter().find(|check| check.name == name.join("/"))?],
    };
    let excluded = params.all("exclude");
    let mut lines = String::new();
    let mut failed = Vec::new();
    for check in chosen {
        let line = match (excluded.contains(&check.name), (check.is_well)(store, stop)) {
            (true, _) => format!("[+]{} excluded: ok\n", check.name),
            (false, true) => format!("[+]{} ok\n", check.name),
            (false, false) => {
                failed.push(check.name);
                format!("[-]{} failed: reason withheld\n", check.name)
            }
        };
        lines.push_str(&line);
    }
    let unknown: Vec<&str> = excluded
        .into_iter()
        .filter(|name| CHECKS.iter().all(|check| check.name != *name))
        .collect();
    if !unknown.is_empty() {
        let names: Vec<String> = unknown.iter().map(|name| format!("{name:?}")).collect();
        lines.push_str(&format!(
            "warn: some health checks cannot be excluded: no matches for {}\n",
            names.join(", ")
        ));
    }
    let plain = if !failed.is_empty() {
        respond::text(500, format!("{lines}{endpoint} check failed\n"))
    } else if params.flag("verbose").unwrap_or_default() {
        respond::text(200, format!("{lines}{endpoint} check passed\n"))
    } else {
        respond::text(200, "ok")
    };
    Some(match rest {
        [] => plain.header(X_CONTENT_TYPE_OPTIONS, respond::NO_SNIFF),
        _ => plain,
    })
}
