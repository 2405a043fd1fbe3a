//! A driver that stores its pools in API objects: `example-driver driver --socket PATH --node NAME --permit ADDRESS`.
//!
//! Before it serves CSI, it needs permission from a second process, `example-driver permit --at ADDRESS`, and then waits for the VolumePool
//! object with the name of the node, which defines the storage of the node. Serves CSI with the scripted driver of `fake-csi`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use fake_csi::{DriverSpec, FakeDriver, NodeIdentity, Pool};
use futures::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::{WatchStreamExt, watcher};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

const NAME: &str = "pools.example.org";
const KEY: &str = "topology.pools.example.org/node";
const PERMIT: &[u8] = b"start\n";

type Outcome = Result<(), Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let subcommand = arguments.next().unwrap_or_default();
    let flags: Vec<String> = arguments.collect();
    let flag = |name: &str| {
        let mut pairs = flags.chunks(2).filter(|pair| pair[0] == name);
        let value = pairs.next().and_then(|pair| pair.get(1));
        value
            .cloned()
            .ok_or_else(|| format!("{name} is missing; pass {name} VALUE"))
    };
    let mut term = signal(SignalKind::terminate())?;
    let running = async {
        match subcommand.as_str() {
            "permit" => permit(&flag("--at")?).await,
            "driver" => serve(&flag("--socket")?, &flag("--node")?, &flag("--permit")?).await,
            _ => Err("unknown subcommand; use `driver` or `permit`".into()),
        }
    };
    tokio::select! {
        ended = running => ended,
        _ = term.recv() => Ok(()),
    }
}

/// Listens at an address, and sends the permission to start to every client.
async fn permit(at: &str) -> Outcome {
    let listener = TcpListener::bind(at).await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        // A readiness probe may close the connection without reading.
        let _ = stream.write_all(PERMIT).await;
    }
}

/// Serves CSI with the storage that the VolumePool object of the node defines.
async fn serve(socket: &str, node: &str, permit: &str) -> Outcome {
    let mut reply = Vec::new();
    TcpStream::connect(permit).await?.read_to_end(&mut reply).await?;
    if reply != PERMIT {
        return Err(format!("{permit} did not grant the permission to start").into());
    }
    let driver = FakeDriver::new(
        DriverSpec {
            topology_keys: vec![KEY.to_owned()],
            ..DriverSpec::new(NAME)
        },
        None,
    );
    let kind = GroupVersionKind::gvk("pools.example.org", "v1", "VolumePool");
    let client = kube::Client::try_default().await?;
    let pools = Api::<DynamicObject>::all_with(client, &ApiResource::from_gvk(&kind));
    let mut changes = std::pin::pin!(
        watcher(pools, watcher::Config::default())
            .default_backoff()
            .applied_objects()
    );
    let on = |node: &str| BTreeMap::from([(KEY.to_owned(), node.to_owned())]);
    let mut serving = None;
    while let Some(change) = changes.next().await {
        // Ignored: the watcher restarts the watch after an error.
        let Ok(pool) = change else {
            continue;
        };
        let bytes = |field: &str| pool.data["status"][field].as_u64();
        let (Some(of), Some(capacity)) = (&pool.metadata.name, bytes("capacity")) else {
            continue;
        };
        driver.set_pool(Pool::linear(on(of), capacity, bytes("largest")));
        if serving.is_none() && of == node {
            let identity = NodeIdentity {
                node_id: node.to_owned(),
                segment: on(node),
            };
            serving = Some(driver.listen(Path::new(socket), Some(identity)).await?);
        }
    }
    Err("the watch of the VolumePool objects has ended".into())
}
