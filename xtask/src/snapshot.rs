//! One moment of a cluster, from wherever it can be read: a cluster that runs, or what `kubectl get -o yaml` printed. Only reads.

use std::path::{Path, PathBuf};

use capacity_scheduler::inventory::{self, Inventory, InventoryError};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;

/// An error of any kind.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What there was at that moment.
#[derive(Default)]
pub(crate) struct Snapshot {
    /// Every object, as it is.
    pub(crate) objects: Vec<Value>,
    /// The same as the scheduler's rules take it.
    pub(crate) inventory: Inventory,
}

impl Snapshot {
    /// Reads these files, which together are one cluster.
    pub(crate) fn of_files(files: &[PathBuf]) -> Result<Self, BoxError> {
        let mut snapshot = Self::default();
        for file in files {
            let told = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
            let text = std::fs::read_to_string(file).map_err(|error| told(&error))?;
            let objects = inventory::objects_of(&text).map_err(|error| told(&error))?;
            snapshot.take(objects).map_err(|error| told(&error))?;
        }
        Ok(snapshot)
    }

    /// Asks a cluster for everything of the kinds that decide about volumes, and for its CSINodes.
    pub(crate) async fn of_cluster(client: &Client) -> Result<Self, BoxError> {
        let mut snapshot = Self::default();
        let objects = inventory::objects_in(client, &["/apis/storage.k8s.io/v1/csinodes"]).await?;
        snapshot.take(objects)?;
        Ok(snapshot)
    }

    fn take(&mut self, objects: Vec<Value>) -> Result<(), InventoryError> {
        for object in objects {
            self.inventory.add(object.clone())?;
            self.objects.push(object);
        }
        Ok(())
    }
}

/// A client for the cluster of a kubeconfig, or for the one that kubectl would use.
pub(crate) async fn client(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Client, BoxError> {
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let config = match kubeconfig {
        Some(file) => kube::Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, &options).await?,
        None if context.is_some() => kube::Config::from_kubeconfig(&options).await?,
        None => kube::Config::infer().await?,
    };
    Ok(Client::try_from(config)?)
}
