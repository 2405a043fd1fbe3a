//! Tests field and enum numbers against bytes that were encoded by hand from the CSI specification. Does not know how calls use the
//! messages.

use std::fmt::Debug;

use csi_proto::v1::{
    self, CapacityRange, CreateVolumeRequest, CreateVolumeResponse, GetCapacityRequest, GetCapacityResponse,
    GetPluginInfoResponse, NodeGetInfoResponse, ProbeResponse, Topology, TopologyRequirement, Volume,
    VolumeCapability, controller_service_capability, plugin_capability, volume_capability,
};
use prost::Message;

/// Encodes a length-delimited protobuf field (wire type 2) with a field number below 16 and content shorter than 128 bytes.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![
        number << 3 | 2,
        u8::try_from(content.len()).expect("the content is shorter than 128 bytes"),
    ];
    bytes.extend_from_slice(content);
    bytes
}

/// Encodes an integer protobuf field (wire type 0) with a field number below 16 and a value below 128.
fn int(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

/// Encodes an entry of a protobuf map field: the key is field 1, the value is field 2.
fn entry(number: u8, key: &str, value: &str) -> Vec<u8> {
    field(
        number,
        &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat(),
    )
}

/// Checks both directions: the message encodes to these bytes, and the bytes decode to the message.
fn check<M: Message + Default + PartialEq + Debug>(message: &M, bytes: &[Vec<u8>]) {
    let bytes = bytes.concat();
    assert_eq!(message.encode_to_vec(), bytes);
    assert_eq!(M::decode(bytes.as_slice()).as_ref(), Ok(message));
}

fn topology(key: &str, value: &str) -> Topology {
    Topology {
        segments: [(key.to_owned(), value.to_owned())].into(),
    }
}

fn mounted() -> VolumeCapability {
    VolumeCapability {
        access_type: Some(volume_capability::AccessType::Mount(
            volume_capability::MountVolume {
                fs_type: "ext4".to_owned(),
                ..Default::default()
            },
        )),
        access_mode: Some(volume_capability::AccessMode {
            mode: volume_capability::access_mode::Mode::MultiNodeMultiWriter.into(),
        }),
    }
}

fn mounted_bytes() -> Vec<u8> {
    [field(2, &field(1, b"ext4")), field(3, &int(1, 5))].concat()
}

#[test]
fn get_capacity_request_has_the_field_numbers_of_the_specification() {
    check(
        &GetCapacityRequest {
            volume_capabilities: vec![mounted()],
            parameters: [("kind".to_owned(), "fast".to_owned())].into(),
            accessible_topology: Some(topology("zone", "a")),
        },
        &[
            field(1, &mounted_bytes()),
            entry(2, "kind", "fast"),
            field(3, &entry(1, "zone", "a")),
        ],
    );
}

#[test]
fn get_capacity_response_distinguishes_unset_sizes_from_zero() {
    check(
        &GetCapacityResponse {
            available_capacity: 7,
            ..Default::default()
        },
        &[int(1, 7)],
    );
    check(
        &GetCapacityResponse {
            available_capacity: 7,
            maximum_volume_size: Some(0),
            minimum_volume_size: Some(3),
        },
        &[int(1, 7), field(2, &[]), field(3, &int(1, 3))],
    );
}

#[test]
fn create_volume_request_has_the_field_numbers_of_the_specification() {
    check(
        &CreateVolumeRequest {
            name: "pvc-1".to_owned(),
            capacity_range: Some(CapacityRange {
                required_bytes: 5,
                limit_bytes: 6,
            }),
            volume_capabilities: vec![mounted()],
            parameters: [("kind".to_owned(), "fast".to_owned())].into(),
            accessibility_requirements: Some(TopologyRequirement {
                requisite: vec![topology("zone", "a")],
                preferred: vec![topology("zone", "b")],
            }),
            ..Default::default()
        },
        &[
            field(1, b"pvc-1"),
            field(2, &[int(1, 5), int(2, 6)].concat()),
            field(3, &mounted_bytes()),
            entry(4, "kind", "fast"),
            field(
                7,
                &[field(1, &entry(1, "zone", "a")), field(2, &entry(1, "zone", "b"))].concat(),
            ),
        ],
    );
}

#[test]
fn create_volume_response_has_the_field_numbers_of_the_specification() {
    check(
        &CreateVolumeResponse {
            volume: Some(Volume {
                capacity_bytes: 9,
                volume_id: "v".to_owned(),
                volume_context: [("a".to_owned(), "b".to_owned())].into(),
                content_source: None,
                accessible_topology: vec![topology("zone", "a")],
            }),
        },
        &[field(
            1,
            &[
                int(1, 9),
                field(2, b"v"),
                entry(3, "a", "b"),
                field(5, &entry(1, "zone", "a")),
            ]
            .concat(),
        )],
    );
}

#[test]
fn identity_and_node_responses_have_the_field_numbers_of_the_specification() {
    check(
        &GetPluginInfoResponse {
            name: "d".to_owned(),
            vendor_version: "1".to_owned(),
            manifest: [("k".to_owned(), "v".to_owned())].into(),
        },
        &[field(1, b"d"), field(2, b"1"), entry(3, "k", "v")],
    );
    check(&ProbeResponse { ready: Some(true) }, &[field(1, &int(1, 1))]);
    check(
        &NodeGetInfoResponse {
            node_id: "n1".to_owned(),
            max_volumes_per_node: 4,
            accessible_topology: Some(topology("zone", "a")),
        },
        &[field(1, b"n1"), int(2, 4), field(3, &entry(1, "zone", "a"))],
    );
}

#[test]
fn capabilities_have_the_field_numbers_of_the_specification() {
    check(
        &v1::PluginCapability {
            r#type: Some(plugin_capability::Type::Service(plugin_capability::Service {
                r#type: plugin_capability::service::Type::VolumeAccessibilityConstraints.into(),
            })),
        },
        &[field(1, &int(1, 2))],
    );
    check(
        &v1::ControllerServiceCapability {
            r#type: Some(controller_service_capability::Type::Rpc(
                controller_service_capability::Rpc {
                    r#type: controller_service_capability::rpc::Type::GetCapacity.into(),
                },
            )),
        },
        &[field(1, &int(1, 4))],
    );
}

#[test]
fn expand_and_publish_messages_have_the_field_numbers_of_the_specification() {
    check(
        &v1::ControllerExpandVolumeRequest {
            volume_id: "v".to_owned(),
            capacity_range: Some(CapacityRange {
                required_bytes: 5,
                limit_bytes: 0,
            }),
            secrets: [("k".to_owned(), "s".to_owned())].into(),
            volume_capability: Some(mounted()),
        },
        &[
            field(1, b"v"),
            field(2, &int(1, 5)),
            entry(3, "k", "s"),
            field(4, &mounted_bytes()),
        ],
    );
    check(
        &v1::ControllerExpandVolumeResponse {
            capacity_bytes: 7,
            node_expansion_required: true,
        },
        &[int(1, 7), int(2, 1)],
    );
    check(
        &v1::NodePublishVolumeRequest {
            volume_id: "v".to_owned(),
            publish_context: [("a".to_owned(), "b".to_owned())].into(),
            staging_target_path: "/s".to_owned(),
            target_path: "/t".to_owned(),
            volume_capability: Some(mounted()),
            readonly: true,
            secrets: [("k".to_owned(), "s".to_owned())].into(),
            volume_context: [("c".to_owned(), "d".to_owned())].into(),
        },
        &[
            field(1, b"v"),
            entry(2, "a", "b"),
            field(3, b"/s"),
            field(4, b"/t"),
            field(5, &mounted_bytes()),
            int(6, 1),
            entry(7, "k", "s"),
            entry(8, "c", "d"),
        ],
    );
    check(
        &v1::NodeUnpublishVolumeRequest {
            volume_id: "v".to_owned(),
            target_path: "/t".to_owned(),
        },
        &[field(1, b"v"), field(2, b"/t")],
    );
}
