//! Drivers of older releases of the CSI specification lack fields and methods of later releases.

use csi_proto::v1::{
    ControllerExpandVolumeRequest, ControllerGetCapabilitiesRequest, GetPluginCapabilitiesRequest,
    identity_client::IdentityClient,
    plugin_capability,
    volume_capability::{AccessMode, access_mode::Mode},
};
use fake_csi::{DriverSpec, SpecVersion};
use tonic::Code;

use super::{World, connect, mounted, pool, socket, spec, volume};

async fn world_of_version(version: &str) -> World {
    let world = World::of(DriverSpec {
        version: version.parse().expect("the version is a known release"),
        ..spec()
    })
    .await;
    world.driver.set_pool(pool("a", 100, Some(40)));
    world
}

#[tokio::test]
async fn volume_sizes_are_reported_from_1_4_on() {
    for (version, maximum) in [
        ("1.0", None),
        ("1.3", None),
        ("1.4", Some(40)),
        ("1.12", Some(40)),
    ] {
        let response = world_of_version(version)
            .await
            .get_capacity(None, &[])
            .await
            .unwrap();
        assert_eq!(
            (response.available_capacity, response.maximum_volume_size),
            (100, maximum),
            "{version}"
        );
    }
}

#[tokio::test]
async fn unreported_maximum_still_bounds_volumes() {
    let world = world_of_version("1.3").await;
    assert_eq!(
        world.create(volume("v", 41)).await.unwrap_err().code(),
        Code::ResourceExhausted
    );
    assert!(world.create(volume("v", 40)).await.is_ok());
}

#[tokio::test]
async fn expansion_is_supported_from_1_1_on() {
    for (version, calls, code) in [("1.0", 3, Code::Unimplemented), ("1.1", 4, Code::InvalidArgument)] {
        let world = world_of_version(version).await;
        let mut controller = world.controller.clone();
        let known = controller
            .controller_get_capabilities(ControllerGetCapabilitiesRequest {})
            .await
            .unwrap();
        assert_eq!(known.into_inner().capabilities.len(), calls, "{version}");
        let refused = controller
            .controller_expand_volume(ControllerExpandVolumeRequest::default())
            .await
            .unwrap_err();
        assert_eq!(refused.code(), code, "{version}");

        let mut identity = IdentityClient::new(connect(socket(&world.running)).await);
        let plugin = identity
            .get_plugin_capabilities(GetPluginCapabilitiesRequest {})
            .await
            .unwrap()
            .into_inner();
        let grows = |it: &csi_proto::v1::PluginCapability| {
            matches!(it.r#type, Some(plugin_capability::Type::VolumeExpansion(_)))
        };
        assert_eq!(plugin.capabilities.iter().any(grows), calls == 4, "{version}");
    }
}

#[tokio::test]
async fn single_node_access_modes_are_supported_from_1_5_on() {
    for (version, code) in [("1.4", Some(Code::InvalidArgument)), ("1.5", None)] {
        let world = world_of_version(version).await;
        let mut request = volume("v", 1);
        request.volume_capabilities[0].access_mode = Some(AccessMode {
            mode: Mode::SingleNodeSingleWriter.into(),
        });
        assert_eq!(
            world.create(request).await.err().map(|status| status.code()),
            code,
            "{version}"
        );
    }
    let mut strange = volume("v", 1);
    strange.volume_capabilities = vec![mounted()];
    strange.volume_capabilities[0].access_mode = Some(AccessMode { mode: 77 });
    let refused = world_of_version("1.12").await.create(strange).await.unwrap_err();
    assert_eq!(
        refused.code(),
        Code::InvalidArgument,
        "an access mode of no release"
    );
}

#[test]
fn only_released_versions_parse() {
    for good in ["1.0", "1.9", "1.12"] {
        assert_eq!(good.parse::<SpecVersion>().unwrap().to_string(), good);
    }
    for bad in ["", "1", "0.3", "1.13", "2.0", "1.03", "1.3.0"] {
        assert!(bad.parse::<SpecVersion>().is_err(), "{bad}");
    }
    assert!("1.4".parse::<SpecVersion>().unwrap() < SpecVersion::NEWEST);
}
