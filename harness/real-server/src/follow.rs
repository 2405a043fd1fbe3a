//! The task that follows the objects of a case: it records each change and runs the controllers on it.

use std::sync::Arc;

use harness::journal::Change;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::attribution::{Key, Seen};
use crate::case::Case;
use crate::controllers;
use crate::watch_hub::News;

/// Starts to follow the objects of a case.
pub(crate) fn start(case: &Arc<Case>) {
    let news = case.join();
    let task = tokio::spawn(case.clone().follow(news));
    case.keep_following(task);
}

impl Case {
    async fn follow(self: Arc<Self>, mut news: mpsc::Receiver<News>) {
        while let Some(news) = news.recv().await {
            match news {
                News::Change(change, resource, mut object) => {
                    self.names.receive(&mut object);
                    self.take(Seen {
                        change,
                        resource,
                        object,
                    })
                    .await;
                }
                News::All(resource, objects) => self.catch_up(&resource, objects).await,
            }
        }
    }

    async fn take(self: &Arc<Self>, seen: Seen) {
        let key = Key::of(&seen.resource, &seen.object);
        let (change, object) = (seen.change, seen.object.clone());
        self.attribution.see(seen).await;
        if !self.is_over() {
            controllers::react(self, key, change, object);
        }
    }

    /// Records the difference between a new list and the recorded objects, after lost events.
    async fn catch_up(self: &Arc<Self>, resource: &Arc<str>, objects: Vec<Value>) {
        let mut there = Vec::new();
        for mut object in objects {
            self.names.receive(&mut object);
            let key = Key::of(resource, &object);
            let change = match self.attribution.object(&key) {
                Some(_) => Change::Modified,
                None => Change::Added,
            };
            there.push(key);
            let resource = resource.clone();
            self.take(Seen {
                change,
                resource,
                object,
            })
            .await;
        }
        for (key, object) in self.attribution.objects() {
            if key.resource == *resource && !there.contains(&key) {
                self.take(Seen {
                    change: Change::Deleted,
                    resource: resource.clone(),
                    object: (*object).clone(),
                })
                .await;
            }
        }
    }
}
