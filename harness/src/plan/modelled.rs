//! Rejects `expect: specification` in cases that use something that the specification does not cover.

use capacity_types::capacity_api::RESOURCE;
use fake_apiserver::{Effect as FaultEffect, Rule};
use fake_csi::Storage;
use serde_json::Value;

use super::{Action, NAMESPACE, Plan, Target};
use crate::expectation::Predicate;
use crate::scenario::{ExtenderSpec, Role, SchedulerSpec};

/// Fields of a pod's spec that kube-scheduler uses and the specification does not cover.
const POD_FIELDS: [&str; 10] = [
    "/affinity/podAffinity",
    "/affinity/podAntiAffinity",
    "/containers/0/ports/0/hostPort",
    "/containers/0/resources/limits",
    "/containers/0/resources/requests",
    "/priorityClassName",
    "/resourceClaims",
    "/schedulerName",
    "/schedulingGates",
    "/topologySpreadConstraints",
];

/// Suffix of the names of StorageClass parameters that refer to Kubernetes Secrets.
const SECRET: &str = "-secret-name";

/// Checks that the specification covers everything in a case with `expect: specification`. The error contains the index of the step and
/// the unsupported part.
pub(super) fn check(plan: &Plan) -> Result<(), (usize, String)> {
    let mut faults: Vec<&String> = Vec::new();
    let (mut publisher_runs, mut deleted) = (true, None);
    for (at, step) in plan.steps.iter().enumerate() {
        for (action, _) in &step.actions {
            match action {
                Action::Stop(Role::Publisher) => publisher_runs = false,
                Action::Start(Role::Publisher) => publisher_runs = true,
                Action::Delete(target) => {
                    deleted = deleted.or(unsupported_deletion(plan, target, publisher_runs));
                }
                Action::Fault { id, rule, .. } if is_endless(rule) => faults.push(id),
                Action::RemoveFault(id) => faults.retain(|fault| *fault != id),
                _ => {}
            }
        }
        if !step.expects_specification() {
            continue;
        }
        let fault = faults.first();
        let fault = fault.map(|id| format!("programs affected by a fault without an end (`{id}`)"));
        let in_plan = || deleted.map(str::to_owned).or_else(|| unsupported_part(plan));
        if let Some(what) = fault.or_else(in_plan) {
            let message = format!("the specification has no rule for {what}; write a list of expectations");
            return Err((at, message));
        }
    }
    Ok(())
}

/// A part of the case that the specification does not cover. None if the specification covers everything.
fn unsupported_part(plan: &Plan) -> Option<String> {
    let in_case = [
        (plan.roles.contains(&Role::Driver)).then_some("a driver under test"),
        plan.extenders.iter().find_map(unsupported_extender),
        (!plan.grants.is_empty()).then_some("programs with restricted permissions (`grants`)"),
        unsupported_scheduler(&plan.scheduler),
        plan.driver
            .pools
            .iter()
            .find_map(|(_, storage)| unsupported_storage(storage)),
    ];
    let in_case = in_case.into_iter().flatten().next().map(str::to_owned);
    in_case
        .or_else(|| plan.objects.iter().find_map(unsupported_object))
        .or_else(|| plan.actions().find_map(unsupported_action))
}

fn unsupported_extender(spec: &ExtenderSpec) -> Option<&'static str> {
    match spec {
        ExtenderSpec { reserves: true, .. } => Some("an extender with `reserves`"),
        ExtenderSpec {
            by_capacity: true, ..
        } => Some("an extender with `byCapacity`"),
        ExtenderSpec { binds: true, .. } => Some("an extender with `binds`"),
        _ => None,
    }
}

fn unsupported_scheduler(spec: &SchedulerSpec) -> Option<&'static str> {
    match spec {
        SchedulerSpec { bug_compatible, .. } if !bug_compatible.is_empty() => {
            Some("a scheduler with `bugCompatible`")
        }
        _ => None,
    }
}

fn unsupported_storage(storage: &Storage) -> Option<&'static str> {
    let Storage::Devices(devices) = storage else {
        return None;
    };
    let has_group = devices.values().any(|device| device.group);
    has_group.then_some("devices that are divided into several volumes (`group`)")
}

fn unsupported_action(action: &Action) -> Option<String> {
    let what = match action {
        Action::Create(object) => return unsupported_object(object),
        Action::Attempt(inner) => return unsupported_action(inner),
        Action::SetPool(_, Some(storage)) => unsupported_storage(storage),
        Action::RestartScheduler(spec) => unsupported_scheduler(spec),
        Action::RestartPublisher(_) => Some("a publisher that starts with other settings"),
        Action::Reserve(_) | Action::Unreserve(_) => Some("reserved devices"),
        _ => None,
    };
    what.map(str::to_owned)
}

/// An effect of deleting an object in the publisher's namespace that the specification does not cover. None if there is no such effect.
fn unsupported_deletion(plan: &Plan, target: &Target, publisher_runs: bool) -> Option<&'static str> {
    let Target::Named {
        resource,
        namespace,
        name,
    } = target
    else {
        return None;
    };
    let is_namespace = resource == "namespaces" && name == NAMESPACE;
    let is_inside = namespace.as_deref() == Some(NAMESPACE);
    match resource.as_str() {
        RESOURCE => None,
        "leases" if is_inside => (plan.publisher.replicas > Some(1))
            .then_some("a Lease that is deleted while several replicas compete for it"),
        _ if is_inside || is_namespace => {
            publisher_runs.then_some("a publisher that runs while its namespace or an owner is deleted")
        }
        _ => None,
    }
}

fn unsupported_object(object: &Value) -> Option<String> {
    match object["kind"].as_str() {
        Some("Pod") => {
            let is_set = |field: &&&str| object["spec"].pointer(field).is_some();
            let field = POD_FIELDS.iter().find(is_set)?;
            Some(format!("`spec{}` of a pod", field.replace('/', ".")))
        }
        Some("StorageClass") => {
            let mut parameters = object["parameters"].as_object().into_iter().flatten();
            let (name, _) = parameters.find(|(name, _)| name.ends_with(SECRET))?;
            Some(format!("secrets of a class (`{name}`)"))
        }
        Some("PersistentVolumeClaim") if object["spec"]["dataSource"]["kind"] == "VolumeSnapshot" => {
            Some("a volume from a snapshot".to_owned())
        }
        Some("Node") if object["status"]["allocatable"]["pods"] != "110" => {
            Some("the pod limit of a node (`allocatable`)".to_owned())
        }
        _ => None,
    }
}

/// Whether a fault rule blocks programs until the case removes the rule.
fn is_endless(rule: &Rule) -> bool {
    let blocks = match rule.effect {
        FaultEffect::Status { .. } | FaultEffect::Disconnect | FaultEffect::LoseAnswer => true,
        FaultEffect::HoldWatch { milliseconds } => milliseconds.is_none(),
        FaultEffect::Stale { consistent, .. } => consistent,
        FaultEffect::Delay { .. } | FaultEffect::EndWatch { .. } | FaultEffect::Compact { .. } => false,
    };
    blocks && rule.times.is_none() && rule.chance.is_none()
}

impl super::Step {
    /// Whether this step expects `specification`.
    pub fn expects_specification(&self) -> bool {
        let mut expectations = self.expect.iter();
        expectations.any(|expect| matches!(expect.predicate, Predicate::Specification))
    }
}

impl Plan {
    /// Whether any step expects `specification`.
    pub fn expects_specification(&self) -> bool {
        self.steps.iter().any(super::Step::expects_specification)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::plan::resolve;
    use crate::scenario::parse;

    fn error(cluster: &Value, actions: &Value) -> Option<String> {
        let expect = json!({"never": {"write": "delete nodes"}, "why": "w"});
        let text = json!({
            "id": "a/b", "title": "t", "cluster": cluster,
            "steps": [{"id": "s", "do": actions, "expect": [expect]}, {"id": "t", "expect": "specification"}],
        });
        let cases = parse("f.yaml", &text.to_string()).expect("valid case");
        resolve(&cases[0]).err().map(|error| error.to_string())
    }

    #[test]
    fn parts_that_the_specification_does_not_model_are_rejected_by_name() {
        let none = json!([]);
        let devices = json!({"n1": {"devices": {"sda": {"size": "1Gi", "group": true}}}});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
            "spec": {"schedulerName": "other", "containers": [{"name": "c", "image": "i"}]}});
        let fault = json!({"fault": {"id": "down", "api": "create csistoragecapacities", "status": 500}});
        let owner = json!({"delete": {"object": {"resource": "pods", "namespace": "csi", "name": "publisher-5d4-x7x"}}});
        for (cluster, actions, words) in [
            (json!({"roles": ["driver"]}), none.clone(), "a driver under test"),
            (
                json!({"extenders": [{"name": "e", "reserves": true}]}),
                none.clone(),
                "an extender with `reserves`",
            ),
            (json!({"grants": {"publisher": []}}), none.clone(), "`grants`"),
            (
                json!({"scheduler": {"bugCompatible": ["flag"]}}),
                none.clone(),
                "`bugCompatible`",
            ),
            (
                json!({"classes": [{"name": "fast", "parameters": {"csi.storage.k8s.io/provisioner-secret-name": "s"}}]}),
                none.clone(),
                "secrets of a class",
            ),
            (
                json!({"nodes": ["n1"], "backend": devices}),
                none.clone(),
                "`group`",
            ),
            (json!({"nodes": ["n1"]}), json!([{"backend": devices}]), "`group`"),
            (
                json!({"objects": [pod]}),
                none.clone(),
                "`spec.schedulerName` of a pod",
            ),
            (
                json!({}),
                json!([{"attempt": {"object": pod}}]),
                "`spec.schedulerName` of a pod",
            ),
            (
                json!({"nodes": [{"name": "n1", "allocatable": {"pods": "1"}}]}),
                none,
                "`allocatable`",
            ),
            (
                json!({}),
                json!([{"publisher": {"zeroCapacityObjects": true}}]),
                "a publisher that starts with other settings",
            ),
            (json!({}), json!([fault]), "a fault without an end (`down`)"),
            (json!({}), json!([owner]), "owner"),
        ] {
            let error = error(&cluster, &actions).expect("unsupported part");
            assert!(error.contains(words) && error.contains("write a list"), "{error}");
            assert!(error.starts_with("f.yaml:1:"), "{error}");
        }
        let over = json!([fault, {"removeFault": "down"}]);
        assert_eq!(error(&json!({"nodes": ["n1"]}), &over), None);
    }
}
