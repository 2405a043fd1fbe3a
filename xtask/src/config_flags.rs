//! The flags with which kubectl selects a cluster, and the client for that cluster.

use std::error::Error;
use std::path::PathBuf;

use capacity_diagnose::inventory::InventoryError;
use clap::Args;
use kube::Client;
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig};

use crate::Exit;

/// An error of any type. The type only decides the exit code.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// The cluster to use. Without flags: the cluster that kubectl would use.
#[derive(Args)]
#[group(id = "config_flags", multiple = true)]
pub(crate) struct ConfigFlags {
    /// Path of the kubeconfig [default: KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context]
    #[arg(long)]
    context: Option<String>,
    /// Cluster of the kubeconfig [default: the cluster of the context]
    #[arg(long)]
    cluster: Option<String>,
    /// User of the kubeconfig [default: the user of the context]
    #[arg(long)]
    user: Option<String>,
}

impl ConfigFlags {
    /// A client for the cluster, with the namespace of the context.
    pub(crate) async fn client(&self) -> Result<Client, BoxError> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
        };
        let is_selected = [&self.context, &self.cluster, &self.user]
            .into_iter()
            .any(Option::is_some);
        let config = match &self.kubeconfig {
            Some(file) => {
                let kubeconfig = Kubeconfig::read_from(file)
                    .map_err(|error| format!("{error}; name a kubeconfig that can be read"))?;
                kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?
            }
            None if is_selected => kube::Config::from_kubeconfig(&options).await?,
            None => kube::Config::infer().await.map_err(|error| no_cluster(&error))?,
        };
        Ok(Client::try_from(config)?)
    }
}

/// The exit code for an error. An unreachable cluster and a denied request are errors of the environment, not of usage.
pub(crate) fn exit_of(error: &BoxError) -> Exit {
    match error.downcast_ref() {
        Some(InventoryError::List { .. }) => Exit::Environment,
        _ => Exit::Usage,
    }
}

/// The error for a missing kubeconfig, outside of a pod.
fn no_cluster(error: &InferConfigError) -> BoxError {
    format!("no cluster is configured: {error}; set KUBECONFIG, or name a file with --kubeconfig").into()
}
