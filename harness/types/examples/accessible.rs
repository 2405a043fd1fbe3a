//! Checks whether a node has access to the storage of a CSIStorageCapacity object, and whether a volume of the requested size fits: `cargo
//! run -p capacity-types --example accessible`.

use std::io::Write;

use capacity_types::{ByteConversion, LabelSelector, Labels, NodeTopology, Quantity};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = Labels::from([("topology.example.com/zone".to_owned(), "a".to_owned())]);
    let topology = NodeTopology::new(Some(LabelSelector::compile(&node, [])));
    let (capacity, request): (Quantity, Quantity) = ("10Gi".parse()?, "10G".parse()?);
    let is_large_enough = capacity.bytes(ByteConversion::Exact) >= request.bytes(ByteConversion::Exact);
    writeln!(
        std::io::stdout(),
        "accessible: {}, large enough: {is_large_enough}",
        topology.admits(&node)
    )?;
    Ok(())
}
