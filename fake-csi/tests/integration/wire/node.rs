//! NodePublishVolume and NodeUnpublishVolume: paths are created and removed, and a volume in use is not deleted.

use std::path::Path;

use csi_proto::v1::{
    NodePublishVolumeRequest, NodeUnpublishVolumeRequest, VolumeCapability, node_client::NodeClient,
};
use fake_csi::{Method, Running};
use tonic::{Code, transport::Channel};

use super::{World, block, connect, mounted, pool, socket, volume, with_topology};

struct OnNode {
    world: World,
    _running: Running,
    node: NodeClient<Channel>,
}

impl OnNode {
    async fn new() -> OnNode {
        let world = World::new().await;
        world.driver.set_pool(pool("a", 100, None));
        world.driver.set_pool(pool("b", 100, None));
        let running = world.on_node("n1", "a").await;
        let node = NodeClient::new(connect(socket(&running)).await);
        OnNode {
            world,
            _running: running,
            node,
        }
    }

    async fn publish(&self, volume: &str, path: &Path, way: Option<VolumeCapability>) -> Result<(), Code> {
        let request = NodePublishVolumeRequest {
            volume_id: volume.to_owned(),
            target_path: path.display().to_string(),
            volume_capability: way,
            ..Default::default()
        };
        let answer = self.node.clone().node_publish_volume(request).await;
        answer.map(drop).map_err(|status| status.code())
    }

    async fn unpublish(&self, volume: &str, path: &Path) -> Result<(), Code> {
        let request = NodeUnpublishVolumeRequest {
            volume_id: volume.to_owned(),
            target_path: path.display().to_string(),
        };
        let answer = self.node.clone().node_unpublish_volume(request).await;
        answer.map(drop).map_err(|status| status.code())
    }
}

#[tokio::test]
async fn mounted_volume_is_a_folder_and_block_volume_a_file() {
    let here = OnNode::new().await;
    for (name, way, is_folder) in [("mounted", mounted(), true), ("raw", block(), false)] {
        let mut request = volume(name, 10);
        request.volume_capabilities = vec![way.clone()];
        let made = here.world.create(request).await.unwrap();
        let path = here.world.directory.path().join(name);
        assert_eq!(
            here.publish(&made.volume_id, &path, Some(way.clone())).await,
            Ok(())
        );
        assert_eq!(path.is_dir(), is_folder);
        assert_eq!(
            here.publish(&made.volume_id, &path, Some(way)).await,
            Ok(()),
            "again"
        );
        let event = here.world.last_event();
        assert_eq!(
            (event.method, event.target_path),
            (Method::NodePublishVolume, Some(path.display().to_string()))
        );
        assert_eq!(
            here.world.delete(&made.volume_id).await.unwrap_err().code(),
            Code::FailedPrecondition,
            "in use"
        );

        assert_eq!(here.unpublish(&made.volume_id, &path).await, Ok(()));
        assert!(!path.exists());
        assert_eq!(here.unpublish(&made.volume_id, &path).await, Ok(()), "again");
        assert!(here.world.delete(&made.volume_id).await.is_ok());
    }
}

#[tokio::test]
async fn invalid_requests_fail_with_the_specified_code() {
    let here = OnNode::new().await;
    let made = here
        .world
        .create(with_topology(volume("v", 1), &["a"], &["a"]))
        .await
        .unwrap()
        .volume_id;
    let away = here
        .world
        .create(with_topology(volume("w", 1), &["b"], &["b"]))
        .await
        .unwrap()
        .volume_id;
    let path = here.world.directory.path().join("path");
    for (what, volume, path, way, code) in [
        (
            "no volume",
            "",
            path.as_path(),
            Some(mounted()),
            Code::InvalidArgument,
        ),
        (
            "no path",
            &made,
            Path::new(""),
            Some(mounted()),
            Code::InvalidArgument,
        ),
        ("no way", &made, &path, None, Code::InvalidArgument),
        (
            "relative path",
            &made,
            Path::new("path"),
            Some(mounted()),
            Code::InvalidArgument,
        ),
        (
            "long path",
            &made,
            Path::new(&"/x".repeat(3000)),
            Some(mounted()),
            Code::InvalidArgument,
        ),
        ("unknown volume", "other", &path, Some(mounted()), Code::NotFound),
        (
            "made for other uses",
            &made,
            &path,
            Some(block()),
            Code::InvalidArgument,
        ),
        (
            "on another node",
            &away,
            &path,
            Some(mounted()),
            Code::FailedPrecondition,
        ),
        (
            "no parent",
            &made,
            &path.join("deep"),
            Some(mounted()),
            Code::Internal,
        ),
    ] {
        assert_eq!(here.publish(volume, path, way).await, Err(code), "{what}");
    }
    assert_eq!(here.unpublish("", &path).await, Err(Code::InvalidArgument));
    assert_eq!(
        here.unpublish(&made, Path::new("")).await,
        Err(Code::InvalidArgument)
    );
    assert!(!path.exists());
}

#[tokio::test]
async fn foreign_files_at_the_target_path_are_not_removed() {
    let here = OnNode::new().await;
    let made = here
        .world
        .create(with_topology(volume("v", 1), &["a"], &["a"]))
        .await
        .unwrap()
        .volume_id;
    let other = here
        .world
        .create(with_topology(volume("w", 1), &["a"], &["a"]))
        .await
        .unwrap()
        .volume_id;
    let path = here.world.directory.path().join("path");
    std::fs::write(&path, "precious").unwrap();
    assert_eq!(
        here.publish(&made, &path, Some(mounted())).await,
        Err(Code::Internal)
    );
    assert_eq!(here.unpublish(&made, &path).await, Ok(()), "not published there");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");

    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(
        here.publish(&made, &path, Some(mounted())).await,
        Ok(()),
        "an existing empty folder is accepted"
    );
    assert_eq!(
        here.publish(&other, &path, Some(mounted())).await,
        Err(Code::AlreadyExists)
    );
    std::fs::write(path.join("data"), "precious").unwrap();
    assert_eq!(here.unpublish(&made, &path).await, Err(Code::Internal));
    assert_eq!(std::fs::read_to_string(path.join("data")).unwrap(), "precious");
}
