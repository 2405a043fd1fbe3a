//! Prints the CSIStorageCapacity objects that must exist in a cluster: `cargo run -p capacity-spec --example settled`.

use std::io::Write;

use capacity_spec::world::{CapacityResponse, Change, Instance, Publisher};
use capacity_spec::{World, objects};
use capacity_types::segment;

const OBJECTS: &str = r#"[
    ["nodes", {"metadata": {"name": "n1", "labels": {"host": "n1"}}}],
    ["csinodes", {"metadata": {"name": "n1"}, "spec": {"drivers": [{"name": "disk.example.com", "topologyKeys": ["host"]}]}}],
    ["storageclasses", {"metadata": {"name": "fast"}, "provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"}]
]"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::default();
    for (resource, object) in serde_json::from_str::<Vec<(String, serde_json::Value)>>(OBJECTS)? {
        if let Some(change) = Change::of_object(&resource, object)? {
            world.apply(change);
        }
    }
    let driver = "disk.example.com".to_owned();
    let (n1, answer) = (segment::parse("host=n1")?, CapacityResponse::available(1 << 30));
    world.apply(Change::CapacityResponse(driver.clone(), n1, [].into(), answer));
    let publisher = Publisher {
        namespace: "csi".to_owned(),
        ..Publisher::default()
    };
    let instance = Instance { driver, node: None };
    world.apply(Change::Publisher(instance, Some(publisher)));
    for object in objects::settled(&world) {
        writeln!(std::io::stdout(), "{object:?}")?;
    }
    Ok(())
}
