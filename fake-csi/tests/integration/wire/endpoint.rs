//! Sockets: several endpoints of one driver, stopping, and starting again.

use std::collections::BTreeMap;

use csi_proto::v1::{GetCapacityRequest, controller_client::ControllerClient};
use fake_csi::{Effect, Method, Rule};
use tonic::Code;

use super::{World, connect, pool, socket, volume, with_topology};

#[tokio::test]
async fn endpoints_share_the_state_of_the_driver() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    let running = world.on_node("n1", "a").await;
    let mut there = ControllerClient::new(connect(socket(&running)).await);
    there
        .create_volume(with_topology(volume("v", 30), &["a"], &["a"]))
        .await
        .unwrap();
    assert_eq!(world.last_event().node.as_deref(), Some("n1"));
    assert_eq!(
        world.get_capacity(None, &[]).await.unwrap().available_capacity,
        70
    );
}

#[tokio::test]
async fn stopping_fails_calls_in_flight_and_restarting_keeps_volumes() {
    let world = World::new().await;
    world.driver.set_pool(pool("a", 100, None));
    world.create(volume("v", 30)).await.unwrap();
    let hang = Rule {
        method: Method::GetCapacity,
        segment: None,
        parameters: BTreeMap::new(),
        skip: 0,
        times: Some(1),
        effect: Effect::Hang,
    };
    world.driver.add_rule(hang).unwrap();

    let World {
        driver,
        record,
        running,
        mut controller,
        directory,
    } = world;
    let socket = socket(&running).to_owned();
    let hanging = tokio::spawn(async move { controller.get_capacity(GetCapacityRequest::default()).await });
    while driver.in_flight() == 0 {
        tokio::task::yield_now().await;
    }
    running.stop().await;
    assert_eq!(hanging.await.unwrap().unwrap_err().code(), Code::Unavailable);
    assert!(!socket.exists());
    driver.wait_until_idle().await;

    let again = driver.listen(&socket, None).await.unwrap();
    let mut client = ControllerClient::new(connect(&socket).await);
    let response = client
        .get_capacity(GetCapacityRequest::default())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(response.available_capacity, 70);
    assert!(!record.0.lock().is_empty());
    drop(again);
    assert!(!socket.exists(), "dropping removes the file at once");
    drop(directory);
}

#[tokio::test]
async fn stale_socket_is_replaced_and_any_other_file_is_not() {
    let world = World::new().await;
    let dead = world.directory.path().join("dead");
    drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
    assert!(world.driver.listen(&dead, None).await.is_ok());

    let file = world.directory.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    assert!(world.driver.listen(&file, None).await.is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

#[tokio::test]
async fn socket_in_use_is_not_replaced() {
    let world = World::new().await;
    let error = world
        .driver
        .listen(socket(&world.running), None)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    assert!(
        world.get_capacity(None, &[]).await.is_ok(),
        "the owner still serves"
    );
}

#[tokio::test]
async fn too_long_socket_path_is_reported() {
    let world = World::new().await;
    let folder = world.directory.path();
    let at_length = |length: usize| folder.join("s".repeat(length - folder.as_os_str().len() - 1));
    assert!(world.driver.listen(&at_length(107), None).await.is_ok());
    let refused = world.driver.listen(&at_length(108), None).await.unwrap_err();
    assert!(
        refused.to_string().contains("108 bytes, but the maximum is 107"),
        "{refused}"
    );
}
