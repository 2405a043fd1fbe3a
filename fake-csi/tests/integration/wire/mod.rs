//! Tests of the driver as its clients see it: a tonic client on a real Unix socket, and the observer's events. Each module has one topic;
//! no test uses driver internals.

mod capacity;
mod copies;
mod devices;
mod endpoint;
mod expand;
mod foreign_clients;
mod forward;
mod identity;
mod node;
mod rules;
mod versions;
mod volumes;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use csi_proto::v1::{
    CapacityRange, CreateVolumeRequest, DeleteVolumeRequest, GetCapacityRequest, GetCapacityResponse,
    Topology, TopologyRequirement, Volume, VolumeCapability,
    controller_client::ControllerClient,
    volume_capability,
    volume_capability::{AccessMode, AccessType, MountVolume, access_mode::Mode},
};
use fake_csi::{
    CostFactor, DriverSpec, Event, FakeDriver, NodeIdentity, Observer, Pool, Refusal, Running, Segment,
};
use parking_lot::Mutex;
use tonic::{
    Status,
    transport::{Channel, Endpoint},
};

const GIB: u64 = 1 << 30;

/// A driver with two zones and one controller-only endpoint, and the events that it reported.
struct World {
    driver: FakeDriver,
    record: Arc<Record>,
    running: Running,
    controller: ControllerClient<Channel>,
    directory: tempfile::TempDir,
}

#[derive(Default)]
struct Record(Mutex<Vec<Event>>, Mutex<Vec<Refusal>>);

impl Observer for Record {
    fn observe(&self, event: Event) {
        self.0.lock().push(event);
    }

    fn refused(&self, refusal: Refusal) {
        self.1.lock().push(refusal);
    }
}

fn socket(running: &Running) -> &Path {
    running.socket().expect("the endpoint has a socket")
}

impl World {
    async fn new() -> World {
        World::of(spec()).await
    }

    async fn of(spec: DriverSpec) -> World {
        let directory = tempfile::Builder::new().tempdir_in("/tmp").expect("tempdir");
        let record = Arc::new(Record::default());
        let driver = FakeDriver::new(spec, Some(record.clone()));
        let running = driver
            .listen(&directory.path().join("csi"), None)
            .await
            .expect("the socket can be bound");
        let controller = ControllerClient::new(connect(socket(&running)).await);
        World {
            driver,
            record,
            running,
            controller,
            directory,
        }
    }

    fn events(&self) -> Vec<Event> {
        self.record.0.lock().clone()
    }

    fn last_event(&self) -> Event {
        self.events().pop().expect("an observed event")
    }

    async fn on_node(&self, node: &str, zone: &str) -> Running {
        let identity = NodeIdentity {
            node_id: node.to_owned(),
            segment: self::zone(zone),
        };
        let socket = self.directory.path().join(node);
        self.driver
            .listen(&socket, Some(identity))
            .await
            .expect("the socket can be bound")
    }

    async fn get_capacity(
        &self,
        segment: Option<Segment>,
        parameters: &[(&str, &str)],
    ) -> Result<GetCapacityResponse, Status> {
        let request = GetCapacityRequest {
            volume_capabilities: Vec::new(),
            parameters: pairs(parameters),
            accessible_topology: segment.map(|segments| Topology { segments }),
        };
        self.controller
            .clone()
            .get_capacity(request)
            .await
            .map(tonic::Response::into_inner)
    }

    async fn create(&self, request: CreateVolumeRequest) -> Result<Volume, Status> {
        let answer = self.controller.clone().create_volume(request).await?;
        Ok(answer.into_inner().volume.expect("volume is set"))
    }

    async fn delete(&self, id: &str) -> Result<(), Status> {
        let request = DeleteVolumeRequest {
            volume_id: id.to_owned(),
            ..Default::default()
        };
        self.controller.clone().delete_volume(request).await.map(|_| ())
    }
}

fn spec() -> DriverSpec {
    DriverSpec {
        topology_keys: vec!["zone".to_owned()],
        ..DriverSpec::new("disk.example.com")
    }
}

async fn connect(socket: &Path) -> Channel {
    let address = format!("unix:{}", socket.display());
    Endpoint::from_shared(address)
        .expect("the socket path is a valid address")
        .connect()
        .await
        .expect("the driver accepts connections")
}

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn zone(name: &str) -> Segment {
    pairs(&[("zone", name)])
}

fn pool(name: &str, capacity: u64, largest: Option<u64>) -> Pool {
    Pool::linear(zone(name), capacity, largest)
}

fn mirrored() -> CostFactor {
    CostFactor {
        parameter: "kind".to_owned(),
        value: "mirrored".to_owned(),
        numerator: 2,
        denominator: 1,
    }
}

fn mounted() -> VolumeCapability {
    VolumeCapability {
        access_type: Some(AccessType::Mount(MountVolume::default())),
        access_mode: Some(AccessMode {
            mode: Mode::SingleNodeWriter.into(),
        }),
    }
}

fn block() -> VolumeCapability {
    VolumeCapability {
        access_type: Some(AccessType::Block(volume_capability::BlockVolume {})),
        access_mode: Some(AccessMode {
            mode: Mode::SingleNodeWriter.into(),
        }),
    }
}

/// A CreateVolume request for a mounted volume of `required` bytes, without accessibility requirements.
fn volume(name: &str, required: u64) -> CreateVolumeRequest {
    CreateVolumeRequest {
        name: name.to_owned(),
        capacity_range: Some(CapacityRange {
            required_bytes: signed(required),
            limit_bytes: 0,
        }),
        volume_capabilities: vec![mounted()],
        ..Default::default()
    }
}

fn with_topology(
    request: CreateVolumeRequest,
    requisite: &[&str],
    preferred: &[&str],
) -> CreateVolumeRequest {
    let terms = |zones: &[&str]| {
        zones
            .iter()
            .map(|name| Topology { segments: zone(name) })
            .collect()
    };
    let requirement = TopologyRequirement {
        requisite: terms(requisite),
        preferred: terms(preferred),
    };
    CreateVolumeRequest {
        accessibility_requirements: Some(requirement),
        ..request
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).expect("sizes of tests are small")
}
