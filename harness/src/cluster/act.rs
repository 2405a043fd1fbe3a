//! Executes the actions of a step. The journal records each action before its execution.

use std::slice::SliceIndex;

use capacity_types::capacity_api::RESOURCE;
use fake_apiserver::ResourceRef;
use serde_json::{Value, json};

use super::Cluster;
use super::object_ref::object_ref;
use crate::api_server::StatusError;
use crate::journal::{ActionFact, Observation};
use crate::plan::{Action, NAMESPACE, Plan, Target, objects, poll_interval};
use crate::scenario::{ReplaceSpec, Role};
use crate::start_error::StartError;

impl Cluster {
    /// Executes the fault actions (API server and driver) at the beginning of a case, so that their rules apply before the programs under
    /// test start. Returns the number of executed actions.
    pub(crate) async fn install_initial_faults(&mut self, plan: &Plan) -> Result<usize, StartError> {
        let actions = plan.steps.first().map_or(&[][..], |step| &step.actions);
        let is_fault = |(action, _): &&(Action, String)| {
            matches!(action, Action::Fault { .. } | Action::DriverFault { .. })
        };
        let count = actions.iter().take_while(is_fault).count();
        self.execute_actions(plan, 0, 0..count).await?;
        Ok(count)
    }

    /// Executes some or all actions of one step, in order.
    pub(crate) async fn execute_actions(
        &mut self,
        plan: &Plan,
        step: usize,
        part: impl SliceIndex<[(Action, String)], Output = [(Action, String)]>,
    ) -> Result<(), StartError> {
        for (action, text) in &plan.steps[step].actions[part] {
            self.wait_for_watchers(action).await;
            self.journal
                .append(Observation::Action(ActionFact { text: text.clone() }));
            self.update_state();
            self.perform(plan, action)
                .await
                .map_err(|problem| match problem {
                    ActionError::Refused(message) => StartError::Refused {
                        source_file: plan.source.clone(),
                        step: plan.steps[step].id.clone(),
                        action: text.clone(),
                        message,
                    },
                    ActionError::Other(error) => error,
                })?;
        }
        self.collect_pods().await;
        Ok(())
    }

    /// Waits, before an action that may depend on earlier changes, until the programs under test have received the watch events of the
    /// earlier changes.
    async fn wait_for_watchers(&mut self, next: &Action) {
        let resource = next.resource();
        let depends = |changed: &String| match (resource.as_deref(), next) {
            // A watch delivers the events of one resource in order, so no wait is needed.
            (Some(resource), _) if resource == changed => false,
            // A new PVC does not affect existing pods, so undelivered pod events do not matter.
            (Some("persistentvolumeclaims"), Action::Create(_)) => changed != "pods",
            _ => true,
        };
        if self.undelivered.iter().any(depends) {
            self.wait_until_delivered().await;
            self.undelivered.clear();
        }
        self.undelivered.extend(resource);
    }

    /// Executes an action that is not part of a step. The error is the message of the failed API request or CSI call.
    pub(crate) async fn execute(&mut self, plan: &Plan, action: &Action, text: &str) -> Result<(), String> {
        self.journal.append(Observation::Action(ActionFact {
            text: text.to_owned(),
        }));
        self.update_state();
        let result = self.perform(plan, action).await;
        self.collect_pods().await;
        result.map_err(|problem| match problem {
            ActionError::Refused(message) => message,
            ActionError::Other(error) => error.to_string(),
        })
    }

    /// Applies new facts of the journal to `state`, which actions of the harness read.
    pub(super) fn update_state(&mut self) {
        for fact in self.journal.since(self.state_seq) {
            self.state_seq = fact.seq + 1;
            self.state.apply(&fact);
        }
    }

    async fn perform(&mut self, plan: &Plan, action: &Action) -> Result<(), ActionError> {
        match action {
            Action::SetPool(segment, storage) => {
                match storage {
                    Some(storage) => self.set_pool(segment, storage),
                    None => self.driver.remove_pool(segment),
                }
                let stored = self.set_driver_storage(plan, segment, storage.as_ref());
                stored.await.map_err(ActionError::Refused)?;
            }
            Action::Create(object) => {
                self.prepare_programs_for(plan, object).await?;
                let object = self.with_storage(object).map_err(ActionError::Refused)?;
                self.create(&object).await?;
            }
            Action::Merge(target, merge) => self.patch_targets(plan, target, merge).await?,
            Action::Replace(spec) => self.replace(spec).await?,
            Action::Apply(spec) => drop(self.local.apply(spec).await?),
            Action::Delete(target) => self.delete(plan, target).await?,
            Action::DriverUp(node, segment) if plan.is_distributed() => {
                self.prepare_node(plan, node).await?;
                self.collect_pods().await;
                self.create_owners(plan, vec![node.clone()]).await?;
                self.open_endpoint(Some((node, segment))).await?;
                if self.active.contains(&Role::Publisher) {
                    self.start_publisher(Some(node))?;
                }
            }
            Action::DriverDown(node) if plan.is_distributed() => {
                self.fleet
                    .stop_client(&Role::Publisher.client_name(Some(node)))
                    .await;
                self.endpoints.remove(&Some(node.clone()));
                self.sockets_of_driver.remove(node);
                self.fleet
                    .stop_client(&Role::Driver.client_name(Some(node)))
                    .await;
            }
            // A central driver serves all nodes from one endpoint, which is open already. Only the node's API objects are created.
            Action::DriverUp(node, _) => self.prepare_node(plan, node).await?,
            Action::DriverDown(_) => {}
            Action::Registration(node, keys) => {
                let drivers = objects::registration(&plan.driver.name, node, keys.as_deref());
                let merge = json!({"spec": {"drivers": drivers}});
                self.local
                    .patch_merge(&object_ref("csinodes", None, node), merge)
                    .await?;
            }
            Action::CsiCall(call) => self.call(plan, call).await?,
            Action::Discover(resource) => self.discover(resource).await,
            Action::Mount(pod) => self.mount(&plan.driver.name, pod).await?,
            Action::DriverFault { id, rule } => {
                let scripted = self.driver.add_rule(rule.clone());
                let rule = scripted.map_err(|error| ActionError::Refused(error.to_string()))?;
                self.scripts.extend(id.clone().map(|id| (id, rule)));
            }
            Action::RemoveDriverFault(id) => {
                if let Some(rule) = self.scripts.remove(id) {
                    self.driver.remove_rule(rule);
                }
            }
            Action::Reserve(reservation) => {
                let reserved = self.driver.reserve(reservation);
                reserved.map_err(|error| ActionError::Refused(error.to_string()))?;
            }
            // The reservation may have ended already, so a failed cancellation is ignored.
            Action::Unreserve(name) => drop(self.driver.cancel_reservation(name)),
            Action::Stop(Role::Driver) => self.stop_driver().await,
            Action::Start(Role::Driver) => self.start_driver_again().await?,
            Action::Stop(role) => {
                self.active.retain(|active| active != role);
                self.fleet.stop(*role).await;
            }
            Action::Start(role) => {
                self.start_again(plan, *role).await?;
            }
            Action::RestartPublisher(settings) => {
                self.fleet.stop(Role::Publisher).await;
                self.settings.publisher = *settings;
                self.settings.refresh = poll_interval(*settings, self.refresh);
                self.start_again(plan, Role::Publisher).await?;
            }
            Action::RestartScheduler(settings) => {
                self.fleet.stop(Role::Scheduler).await;
                self.settings.scheduler = settings.clone();
                self.start_again(plan, Role::Scheduler).await?;
            }
            Action::Fault { id, rule, kills } => {
                let installed = self.api.add_fault_rule(rule.clone());
                let rule = installed.map_err(ActionError::Refused)?;
                if *kills {
                    self.fleet.killer.add_rule(rule.0);
                }
                self.faults.insert(id.clone(), rule);
            }
            Action::Release(release, gates) => {
                self.api
                    .set_release(*release, gates)
                    .map_err(ActionError::Refused)?;
            }
            Action::Attempt(action) => match Box::pin(self.perform(plan, action)).await {
                Ok(()) | Err(ActionError::Refused(_)) => {}
                Err(other) => return Err(other),
            },
            Action::RemoveFault(id) => {
                if let Some(rule) = self.faults.remove(id) {
                    self.api.remove_fault_rule(rule);
                }
            }
        }
        Ok(())
    }

    /// Starts the programs of a stopped role and waits until they run. Before the publisher, creates its deleted pods and their owners.
    async fn start_again(&mut self, plan: &Plan, role: Role) -> Result<(), ActionError> {
        if role == Role::Publisher {
            let nodes = self.endpoints.keys().flatten().cloned().collect();
            self.create_owners(plan, nodes).await?;
        }
        let from = self.journal.len();
        self.start_role(role)?;
        self.wait_until_started(from).await;
        Ok(())
    }

    async fn patch_targets(&self, plan: &Plan, target: &Target, merge: &Value) -> Result<(), ActionError> {
        for reference in self.targets(plan, target)? {
            self.local.patch_merge(&reference, merge.clone()).await?;
        }
        Ok(())
    }

    async fn replace(&self, spec: &ReplaceSpec) -> Result<(), ActionError> {
        let mut object = spec.object.clone();
        let version = match &spec.resource_version {
            Some(version) => Some(version.clone()).filter(|version| !version.is_empty()),
            None => {
                let Some(reference) = ResourceRef::of(&object) else {
                    return Err(ActionError::Refused(
                        "the API server does not know the kind of the object".to_owned(),
                    ));
                };
                let found = self.local.get(&reference).await?;
                found["metadata"]["resourceVersion"].as_str().map(str::to_owned)
            }
        };
        if let Some(version) = version {
            object["metadata"]["resourceVersion"] = version.into();
        }
        self.local.update(object).await?;
        Ok(())
    }

    async fn delete(&mut self, plan: &Plan, target: &Target) -> Result<(), ActionError> {
        if let Target::Named { resource, name, .. } = target
            && resource == "nodes"
            && plan.is_distributed()
        {
            self.deleted_nodes.push(name.clone());
        }
        self.has_deleted_owner |= matches!(
            target,
            Target::Named { namespace, name, .. } if name == NAMESPACE || namespace.as_deref() == Some(NAMESPACE)
        );
        for reference in self.targets(plan, target)? {
            self.local.delete(&reference).await?;
        }
        Ok(())
    }

    /// References to the objects that an action targets: by name, by labels, or by StorageClass and segment.
    fn targets(&self, plan: &Plan, target: &Target) -> Result<Vec<ResourceRef>, ActionError> {
        match target {
            Target::Named {
                resource,
                namespace,
                name,
            } => Ok(vec![object_ref(resource, namespace.as_deref(), name)]),
            Target::Labelled(labelled) => {
                let objects = self.state.objects(&labelled.resource);
                let matching = objects.filter(|((namespace, _), object)| {
                    labelled.selects(namespace.as_deref().unwrap_or_default(), object)
                });
                let references = matching
                    .map(|((namespace, name), _)| object_ref(&labelled.resource, namespace.as_deref(), name));
                Ok(references.collect())
            }
            Target::Capacity { class, segment } => {
                let is_match = |object: &Value| {
                    object["storageClassName"] == class.as_str()
                        && plan.segments.format_topology(object.get("nodeTopology")) == *segment
                };
                let found: Vec<_> = self
                    .state
                    .objects(RESOURCE)
                    .filter(|(_, object)| is_match(object))
                    .map(|((namespace, name), _)| object_ref(RESOURCE, namespace.as_deref(), name))
                    .collect();
                if found.is_empty() {
                    let text = format!(
                        "no CSIStorageCapacity object exists for class {class} and segment {segment}"
                    );
                    return Err(ActionError::Refused(text));
                }
                Ok(found)
            }
        }
    }
}

/// Error of an action: a rejected request or call, or an error that ends the run.
pub(super) enum ActionError {
    /// The API server or the driver rejected the action, or the object of the action does not exist.
    Refused(String),
    Other(StartError),
}

impl From<StatusError> for ActionError {
    fn from(error: StatusError) -> Self {
        ActionError::Refused(error.to_string())
    }
}

impl From<StartError> for ActionError {
    fn from(error: StartError) -> Self {
        ActionError::Other(error)
    }
}
