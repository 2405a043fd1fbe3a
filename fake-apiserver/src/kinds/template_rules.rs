//! The rules for workloads: the template, the selector that has to match it, and what comes before and behind these.
//!
//! Owns one table of workloads. What a pod must be is in `pod`; rules for strategies are in `strategy_rules`, for jobs in `job_rules`.

use super::strategy_rules::{self, numbers};
use super::{internal_form, job_rules, pod, selectors};
use crate::machinery::faults::Faults;
use crate::machinery::selector::LabelSelector;
use crate::machinery::{json, metadata};
use serde_json::{Value, json};
use std::collections::HashSet;

/// A workload, as its texts name it, and where its parts are.
pub(super) struct Workload {
    name: &'static str,
    /// Where the members of its spec are.
    pub(super) spec: &'static [&'static str],
    selects: Selects,
    restarts: Restarts,
    /// Whether it names its pods, and their hosts, itself.
    names_pods: bool,
    /// What is judged before selector and template.
    before: Rule,
    /// What is judged behind them.
    after: Rule,
}

/// Judges members of a spec, which stands at that place.
type Rule = fn(&Value, &str, &mut Faults);

/// What the selector must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Selects {
    /// There is none, or it is none of the writer's business.
    Nothing,
    /// Labels and nothing else.
    ByLabels,
    /// A selector; the text calls the workload so where it is empty, and says that where it cannot be read.
    BySelector(&'static str, &'static str),
    /// The same, and where there is none, that is told as one that does not match.
    ByAny(&'static str),
    /// A selector that may be empty, and is judged last: jobs get theirs from the server.
    ByOwn,
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
    selects: Selects::BySelector("deployment", "invalid label selector"),
    restarts: Restarts::Always,
    names_pods: false,
    before: |spec, at, faults| numbers(spec, &["replicas", "minReadySeconds"], at, faults),
    after: |_, _, _| {},
};

pub(super) const REPLICA_SET: Workload = REPLICAS;

/// Deployments are judged as the replica sets that they make, and speak of these.
pub(super) const DEPLOYMENT: Workload = Workload {
    before: |spec, at, faults| numbers(spec, &["replicas"], at, faults),
    after: strategy_rules::deployment,
    ..REPLICAS
};

pub(super) const DAEMON_SET: Workload = Workload {
    name: "DaemonSet",
    selects: Selects::ByAny("daemonset"),
    before: |_, _, _| {},
    after: strategy_rules::daemon_set,
    ..REPLICAS
};

pub(super) const STATEFUL_SET: Workload = Workload {
    name: "StatefulSet",
    selects: Selects::BySelector("statefulset", ""),
    names_pods: true,
    before: strategy_rules::stateful_set,
    ..REPLICAS
};

pub(super) const NEW_STATEFUL_SET: Workload = Workload {
    before: strategy_rules::new_stateful_set,
    ..STATEFUL_SET
};

pub(super) const REPLICATION_CONTROLLER: Workload = Workload {
    name: "ReplicationController",
    selects: Selects::ByLabels,
    before: |spec, at, faults| numbers(spec, &["minReadySeconds", "replicas"], at, faults),
    ..REPLICAS
};

pub(super) const JOB: Workload = Workload {
    name: "Job",
    selects: Selects::ByOwn,
    restarts: Restarts::OnFailure,
    before: job_rules::spec,
    ..REPLICAS
};

pub(super) const CRON_JOB: Workload = Workload {
    name: "CronJob",
    spec: &["spec", "jobTemplate", "spec"],
    selects: Selects::Nothing,
    ..JOB
};

impl Workload {
    /// The rules for a new workload and a changed one.
    pub(super) fn validate(&self, object: &Value, faults: &mut Faults) {
        let spec = self.spec.iter().fold(object, |inside, name| &inside[*name]);
        let at = self.spec.join(".");
        (self.before)(spec, &at, faults);
        let (selector, selector_at) = (&spec["selector"], format!("{at}.selector"));
        if spec["template"].is_null() && matches!(self.selects, Selects::ByLabels) {
            self.selector(selector, &selector_at, faults);
            faults.required(format!("{at}.template"), "");
            return (self.after)(spec, &at, faults);
        }
        let template = self.template(spec);
        let template_at = format!("{at}.template");
        let is_last = self.selects == Selects::ByOwn;
        if !is_last {
            let is_read = self.selector(selector, &selector_at, faults);
            if !is_read && let Selects::BySelector(_, why) = self.selects {
                // The real server looks no further at pods that nobody can select.
                faults.invalid_as(
                    selector_at,
                    &internal_form::shown("*LabelSelector", selector),
                    why,
                );
                if self.names_pods {
                    self.restarts(spec, &template, &template_at, faults);
                }
                return (self.after)(spec, &at, faults);
            }
            if is_read {
                self.matches(selector, &template, &at, faults);
            }
        }
        pod_template(&template, &template_at, faults);
        if self.names_pods {
            // The real server judges them for the second time.
            template_metadata(&template, &template_at, faults);
        }
        self.restarts(spec, &template, &template_at, faults);
        if is_last && self.selector(selector, &selector_at, faults) {
            self.matches(selector, &template, &at, faults);
        }
        (self.after)(spec, &at, faults);
    }

    /// The rules for the selector; returns whether it can be read.
    fn selector(&self, selector: &Value, at: &str, faults: &mut Faults) -> bool {
        let mut found = Faults::default();
        if matches!(
            self.selects,
            Selects::BySelector(..) | Selects::ByAny(_) | Selects::ByOwn
        ) {
            selectors::labels(selector, at, &mut found);
        }
        let is_read = found.is_empty();
        faults.below("", found);
        let is_empty = |name: &str| selector[name].as_object().is_none_or(serde_json::Map::is_empty);
        match self.selects {
            Selects::ByLabels if json::pairs(selector).next().is_none() => faults.required(at, ""),
            Selects::BySelector(..) | Selects::ByOwn if selector.is_null() => faults.required(at, ""),
            Selects::BySelector(name, _) | Selects::ByAny(name)
                if !selector.is_null()
                    && is_empty("matchLabels")
                    && json::list(&selector["matchExpressions"]).is_empty() =>
            {
                faults.invalid(at, json!({}), &format!("empty selector is invalid for {name}"));
            }
            _ => {}
        }
        is_read
    }

    /// The template with what the server adds to it.
    fn template(&self, spec: &Value) -> Value {
        let mut template = spec["template"].clone();
        if template.is_null() {
            template = json!({});
            pod::template_default(&mut template);
        }
        if self.names_pods {
            for name in ["subdomain", "hostname"] {
                json::assign(&mut template["spec"], name, Value::Null);
            }
        }
        let claims = json::list(&spec["volumeClaimTemplates"]);
        if claims.is_empty() {
            return template;
        }
        // Containers may mount the claims that every pod gets.
        let mut seen = HashSet::new();
        let names = claims.iter().map(|claim| metadata::text(claim, "name"));
        let names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
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
        // An empty selector selects all.
        let fits = |selector: &Value| {
            let selector = LabelSelector::from_object(selector);
            selector.is_none_or(|selector| selector.is_empty() || selector.matches(template))
        };
        let is_matched = match self.selects {
            Selects::Nothing => true,
            Selects::ByLabels => fits(&json!({"matchLabels": selector})),
            // No selector selects nothing.
            _ => !selector.is_null() && fits(selector),
        };
        if !is_matched {
            let labels = template["metadata"]["labels"].clone();
            let text = "`selector` does not match template `labels`";
            faults.invalid(format!("{at}.template.metadata.labels"), labels, text);
        }
    }

    fn restarts(&self, spec: &Value, template: &Value, at: &str, faults: &mut Faults) {
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
            Restarts::OnFailure if policy == "OnFailure" && !spec["podFailurePolicy"].is_null() => {
                let why = "only \"Never\" is supported when podFailurePolicy is specified";
                faults.invalid(field, policy, why);
            }
            Restarts::OnFailure => faults.one_of(&field, policy, &["OnFailure", "Never"]),
        }
    }
}

/// The rules for a template for pods.
pub(super) fn pod_template(template: &Value, at: &str, faults: &mut Faults) {
    template_metadata(template, at, faults);
    pod::spec_rules(&template["spec"], "", &format!("{at}.spec"), faults);
    pod::annotations::validate_fields(template, &format!("{at}.spec"), faults);
    if !json::list(&template["spec"]["ephemeralContainers"]).is_empty() {
        let text = "ephemeral containers not allowed in pod template";
        faults.forbidden(format!("{at}.spec.ephemeralContainers"), text);
    }
}

fn template_metadata(template: &Value, at: &str, faults: &mut Faults) {
    metadata::labels(&template["metadata"]["labels"], &format!("{at}.labels"), faults);
    let annotations = format!("{at}.annotations");
    metadata::annotations(&template["metadata"]["annotations"], &annotations, faults);
    pod::annotations::validate(template, &annotations, faults);
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
    let (new, old) = (&new["spec"]["selector"], &old["spec"]["selector"]);
    internal_form::unchanged("*LabelSelector", "spec.selector", new, old, faults);
}
