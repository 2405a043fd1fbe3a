//! Publishes capacity objects for the driver at a socket, in the cluster of the kubeconfig, until Ctrl-C: `cargo run -p capacity-publisher
//! --example publish -- /run/csi/socket`.

use capacity_publisher::{Options, run};
use kube::Client;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let socket = std::env::args_os()
        .nth(1)
        .ok_or("the socket of a CSI driver is missing")?;
    let options = Options {
        csi_address: socket.into(),
        ..Options::default()
    };
    let interrupted = async {
        // If the signal handler cannot be installed, the publisher exits at once.
        let _ = tokio::signal::ctrl_c().await;
    };
    run(options, Client::try_default().await?, interrupted).await?;
    Ok(())
}
