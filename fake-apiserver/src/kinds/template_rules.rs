//! The rules for workloads as far as they are about pods: the template, and the selector that has to match it.
//!
//! Owns one table of workloads. What a pod must be is in `pod`; rules for strategies, schedules and the like are not here.

use super::pod;
use crate::machinery::faults::Faults;
use crate::machinery::selector::LabelSelector;
use crate::machinery::{json, metadata};
use serde_json::{Value, json};

/// A workload, as its texts name it, and where its parts are.
pub(super) struct Workload {
    name: &'static str,
    /// Where the members of its spec are.
    pub(super) spec: &'static [&'static str],
    selects: Selects,
    restarts: Restarts,
}

/// What the selector must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Selects {
    /// There is none, or it is none of the writer's business.
    Nothing,
    /// Labels and nothing else.
    ByLabels,
    /// A selector; the text calls the workload so where it is empty.
    BySelector(&'static str),
    /// A selector that may be empty: jobs get theirs from the server.
    ByAny,
}

/// Which pods may be started again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Restarts {
    /// All of them, or none of the rule's business.
    Always,
    OnFailure,
}

const SPEC: &[&str] = &["spec"];

const REPLICAS: Workload = Workload {
    name: "ReplicaSet",
    spec: SPEC,
    selects: Selects::BySelector("deployment"),
    restarts: Restarts::Always,
};

/// Deployments are judged as the replica sets that they make.
pub(super) static REPLICA_SET: Workload = REPLICAS;

pub(super) static DAEMON_SET: Workload = Workload {
    name: "DaemonSet",
    selects: Selects::BySelector("daemonset"),
    ..REPLICAS
};

pub(super) static STATEFUL_SET: Workload = Workload {
    name: "StatefulSet",
    selects: Selects::BySelector("statefulset"),
    ..REPLICAS
};

pub(super) static REPLICATION_CONTROLLER: Workload = Workload {
    name: "ReplicationController",
    selects: Selects::ByLabels,
    ..REPLICAS
};

pub(super) static JOB: Workload = Workload {
    name: "Job",
    selects: Selects::ByAny,
    restarts: Restarts::OnFailure,
    ..REPLICAS
};

pub(super) static CRON_JOB: Workload = Workload {
    name: "CronJob",
    spec: &["spec", "jobTemplate", "spec"],
    selects: Selects::Nothing,
    restarts: Restarts::OnFailure,
};

impl Workload {
    /// The rules for a new workload and a changed one.
    pub(super) fn validate(&self, object: &Value, faults: &mut Faults) {
        let spec = self.spec.iter().fold(object, |inside, name| &inside[*name]);
        let at = self.spec.join(".");
        for number in ["replicas", "minReadySeconds"] {
            if let Some(negative) = spec[number].as_i64().filter(|number| *number < 0) {
                let text = "must be greater than or equal to 0";
                faults.invalid(format!("{at}.{number}"), negative, text);
            }
        }
        let selector = &spec["selector"];
        self.selector(selector, &format!("{at}.selector"), faults);
        let template = self.template(spec);
        self.matches(selector, &template, &at, faults);
        let at = format!("{at}.template");
        pod_template(&template, &at, faults);
        self.restarts(&template, &at, faults);
    }

    fn selector(&self, selector: &Value, at: &str, faults: &mut Faults) {
        let is_empty = |name: &str| selector[name].as_object().is_none_or(serde_json::Map::is_empty);
        match self.selects {
            Selects::ByLabels if json::pairs(selector).next().is_none() => faults.required(at, ""),
            Selects::BySelector(_) if selector.is_null() => faults.required(at, ""),
            Selects::BySelector(name)
                if is_empty("matchLabels") && json::list(&selector["matchExpressions"]).is_empty() =>
            {
                faults.invalid(at, json!({}), &format!("empty selector is invalid for {name}"));
            }
            _ => {}
        }
    }

    /// The template with what the server adds to it.
    fn template(&self, spec: &Value) -> Value {
        let mut template = spec["template"].clone();
        if template.is_null() {
            template = json!({});
            pod::template_default(&mut template);
        }
        let claims = json::list(&spec["volumeClaimTemplates"]);
        if claims.is_empty() {
            return template;
        }
        // Containers may mount the claims that every pod gets.
        let names: Vec<&str> = claims.iter().map(|claim| metadata::text(claim, "name")).collect();
        let mut volumes: Vec<Value> = names
            .iter()
            .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
            .collect();
        let own = json::list(&template["spec"]["volumes"]).iter();
        volumes.extend(
            own.filter(|volume| !names.contains(&json::string(volume, "name")))
                .cloned(),
        );
        json::assign(&mut template["spec"], "volumes", volumes.into());
        template
    }

    fn matches(&self, selector: &Value, template: &Value, at: &str, faults: &mut Faults) {
        let selector = match self.selects {
            Selects::Nothing => return,
            Selects::ByLabels => LabelSelector::from_object(&json!({"matchLabels": selector})),
            Selects::BySelector(_) | Selects::ByAny => LabelSelector::from_object(selector),
        };
        if selector.is_some_and(|selector| !selector.is_empty() && !selector.matches(template)) {
            let labels = template["metadata"]["labels"].clone();
            let text = "`selector` does not match template `labels`";
            faults.invalid(format!("{at}.template.metadata.labels"), labels, text);
        }
    }

    fn restarts(&self, template: &Value, at: &str, faults: &mut Faults) {
        let field = format!("{at}.spec.restartPolicy");
        let policy = json::string(&template["spec"], "restartPolicy");
        match self.restarts {
            Restarts::Always => {
                faults.one_of(&field, policy, &["Always"]);
                if !template["spec"]["activeDeadlineSeconds"].is_null() {
                    let text = format!("activeDeadlineSeconds in {} is not Supported", self.name);
                    faults.forbidden(format!("{at}.spec.activeDeadlineSeconds"), &text);
                }
            }
            Restarts::OnFailure if ["", "Always"].contains(&policy) => {
                faults.required(field, "valid values: \"OnFailure\", \"Never\"");
            }
            Restarts::OnFailure => faults.one_of(&field, policy, &["OnFailure", "Never"]),
        }
    }
}

/// The rules for a template for pods.
pub(super) fn pod_template(template: &Value, at: &str, faults: &mut Faults) {
    metadata::labels(&template["metadata"]["labels"], &format!("{at}.labels"), faults);
    pod::spec_rules(&template["spec"], "", &format!("{at}.spec"), faults);
    if !json::list(&template["spec"]["ephemeralContainers"]).is_empty() {
        let text = "ephemeral containers not allowed in pod template";
        faults.forbidden(format!("{at}.spec.ephemeralContainers"), text);
    }
}

/// What may change of a stateful set.
pub(super) fn stateful_set_update(new: &Value, old: &Value, faults: &mut Faults) {
    let mut allowed = new["spec"].clone();
    for name in [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ] {
        json::assign(&mut allowed, name, old["spec"][name].clone());
    }
    if allowed != old["spec"] {
        let text = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
            'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are \
            forbidden";
        faults.forbidden("spec", text);
    }
}

/// A selector stays what it is.
pub(super) fn selector_update(new: &Value, old: &Value, faults: &mut Faults) {
    faults.unchanged(
        "spec.selector",
        &new["spec"]["selector"],
        &old["spec"]["selector"],
    );
}
