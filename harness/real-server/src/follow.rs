//! The task that follows the objects of a case: records each change, and runs the controllers on the changed object.

use std::sync::Arc;

use harness::journal::Change;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::attribution::{Key, ObservedChange};
use crate::case::Case;
use crate::controllers;
use crate::watch_hub::HubEvent;

pub(crate) fn spawn_follow_task(case: &Arc<Case>) {
    let events = case.subscribe();
    let task = tokio::spawn(case.clone().follow(events));
    case.set_follow_task(task);
}

impl Case {
    async fn follow(self: Arc<Self>, mut events: mpsc::Receiver<HubEvent>) {
        while let Some(event) = events.recv().await {
            match event {
                HubEvent::Change(change, resource, mut object) => {
                    self.names.to_case_names(&mut object);
                    self.process(ObservedChange {
                        change,
                        resource,
                        object,
                    })
                    .await;
                }
                HubEvent::All(resource, objects) => self.process_list(&resource, objects).await,
            }
        }
    }

    async fn process(self: &Arc<Self>, observed: ObservedChange) {
        let key = Key::of(&observed.resource, &observed.object);
        let (change, object) = (observed.change, observed.object.clone());
        self.attribution.record(observed).await;
        if !self.has_ended() {
            controllers::run_controllers(self, key, change, object);
        }
    }

    /// Records the differences between a new list and the recorded objects. Called after watch events were lost.
    async fn process_list(self: &Arc<Self>, resource: &Arc<str>, objects: Vec<Value>) {
        let mut listed = Vec::new();
        for mut object in objects {
            self.names.to_case_names(&mut object);
            let key = Key::of(resource, &object);
            let change = match self.attribution.object(&key) {
                Some(_) => Change::Modified,
                None => Change::Added,
            };
            listed.push(key);
            let resource = resource.clone();
            self.process(ObservedChange {
                change,
                resource,
                object,
            })
            .await;
        }
        for (key, object) in self.attribution.objects() {
            if key.resource == *resource && !listed.contains(&key) {
                self.process(ObservedChange {
                    change: Change::Deleted,
                    resource: resource.clone(),
                    object: (*object).clone(),
                })
                .await;
            }
        }
    }
}
