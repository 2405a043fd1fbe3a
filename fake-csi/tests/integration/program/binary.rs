//! Flags, files, exit codes and signals of the program `fake-csi`.

use std::{
    os::unix::net::{UnixListener, UnixStream},
    process::Command,
};

use csi_proto::v1::{
    GetPluginInfoRequest, NodeGetInfoRequest, identity_client::IdentityClient, node_client::NodeClient,
};

use super::{FailedStart, Program, connect, get_capacity, pairs};

const FULL: &str = "\
driver: {name: full.example.com, topologyKeys: [zone], csiVersion: 1.3}
sockets:
  - {path: $DIR/controller}
  - {path: $DIR/n1, node: {id: n1, segment: {zone: a}}}
pools:
  - {segment: {zone: a}, capacity: 10Gi, maximum: 4Gi}
  - {segment: {zone: b}, filesystem: {size: 100, used: 30}}
  - {segment: {zone: c}, devices: {d1: {size: 5}, d2: {size: 7}}}
rules:
  - {method: GetCapacity, segment: {zone: b}, times: 1, code: UNAVAILABLE, message: not yet}
";

fn refused(file: Option<&str>, flags: &[&str]) -> FailedStart {
    match Program::start(file, flags) {
        Ok(_) => panic!("started with {file:?} {flags:?}"),
        Err(refused) => refused,
    }
}

#[tokio::test]
async fn file_configures_driver_pools_rules_and_sockets() {
    let program = Program::start(Some(FULL), &[]).ok().expect("the program starts");
    let channel = connect(&program.path("controller")).await;
    let info = IdentityClient::new(channel.clone())
        .get_plugin_info(GetPluginInfoRequest {})
        .await
        .unwrap();
    assert_eq!(info.into_inner().name, "full.example.com");
    assert_eq!(
        get_capacity(&channel, &[("zone", "a")]).await.unwrap(),
        (10 << 30, None),
        "CSI 1.3 has no maximum_volume_size"
    );
    assert_eq!(
        get_capacity(&channel, &[("zone", "b")])
            .await
            .unwrap_err()
            .message(),
        "not yet"
    );
    assert_eq!(get_capacity(&channel, &[("zone", "b")]).await.unwrap().0, 70);
    assert_eq!(get_capacity(&channel, &[("zone", "c")]).await.unwrap().0, 12);

    let node = NodeClient::new(connect(&program.path("n1")).await)
        .node_get_info(NodeGetInfoRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        (node.node_id.as_str(), node.accessible_topology.unwrap().segments),
        ("n1", pairs(&[("zone", "a")]))
    );
}

#[tokio::test]
async fn flags_alone_configure_one_pool_on_one_node() {
    let flags = [
        "--socket",
        "$DIR/csi",
        "--node",
        "n1",
        "--segment",
        "zone=a,rack=7",
        "--capacity",
        "10Gi",
        "--name",
        "x.example.com",
    ];
    let program = Program::start(None, &flags).ok().expect("the program starts");
    assert_eq!(
        program.lines,
        [format!("csi unix:{} node n1", program.path("csi").display())]
    );
    let channel = connect(&program.path("csi")).await;
    assert_eq!(
        get_capacity(&channel, &[("zone", "a"), ("rack", "7")])
            .await
            .unwrap(),
        (10 << 30, None)
    );
    let node = NodeClient::new(channel)
        .node_get_info(NodeGetInfoRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        node.accessible_topology.unwrap().segments,
        pairs(&[("zone", "a"), ("rack", "7")])
    );
}

#[tokio::test]
async fn sigterm_and_sigint_stop_the_program_cleanly_with_a_client_connected() {
    for name in ["TERM", "INT"] {
        let mut program = Program::start(None, &["--socket", "$DIR/csi", "--control", "127.0.0.1:0"])
            .ok()
            .expect("the program starts");
        let _client = connect(&program.path("csi")).await;
        program.signal(name);
        assert_eq!(program.wait().code(), Some(0), "{name}");
        assert!(!program.path("csi").exists(), "{name} does not remove the socket");
    }
}

#[test]
fn invalid_file_is_reported_with_line_and_column() {
    for (what, from, to, position, message) in [
        (
            "unknown key",
            "maximum: 4Gi",
            "biggest: 4Gi",
            ":6:42: ",
            "biggest",
        ),
        ("wrong size", "10Gi", "10GB", ":6:", "10GB"),
        (
            "two layouts",
            "filesystem:",
            "capacity: 1, filesystem:",
            ":7:",
            "exactly one of",
        ),
        (
            "nothing",
            "maximum: 4Gi",
            "maximum: 4Gi}\n  - {segment: {zone: x}",
            ":7:",
            "exactly one of",
        ),
        (
            "device",
            "d2: {size: 7}",
            "d2: {size: -7}",
            ":8:",
            "is not a size",
        ),
        ("method", "GetCapacity", "GetCapacities", ":10:", "GetCapacities"),
        ("code", "UNAVAILABLE", "SOMETHING", ":10:", "an unknown gRPC code"),
        (
            "version",
            "1.3",
            "0.3",
            ":1:",
            "no release of the CSI specification",
        ),
        (
            "same pool",
            "zone: b}, filesystem",
            "zone: a}, filesystem",
            ":7:",
            "same segment and parameters",
        ),
        ("same socket", "$DIR/n1", "$DIR/controller", ":4:", "used twice"),
        ("not YAML", "pools:", "pools: }", ":", "driver.yaml:"),
    ] {
        let text = FULL.replace(from, to);
        assert_ne!(text, FULL, "{what} changes nothing");
        let FailedStart { code, stderr } = refused(Some(&text), &[]);
        assert_eq!(code, Some(2), "{what}: {stderr}");
        assert!(
            stderr.contains(&format!("driver.yaml{position}")),
            "{what}: {stderr}"
        );
        assert!(stderr.contains(message), "{what}: {stderr}");
    }
}

#[test]
fn invalid_flags_exit_with_code_2() {
    for flags in [
        &[][..],
        &["/nowhere.yaml"],
        &["--socket", "$DIR/csi", "--capacity", "lots"],
        &["--socket", "$DIR/csi", "--csi-version", "2.0"],
        &["--socket", "$DIR/csi", "--node", "n", "--segment", "zone"],
        &["--socket", "$DIR/csi", "--control", "somewhere"],
        &["--socket", "$DIR/csi", "--allow-remote"],
    ] {
        assert_eq!(refused(None, flags).code, Some(2), "{flags:?}");
    }
    let socketless = refused(Some("driver: {name: x}"), &[]);
    assert_eq!(socketless.code, Some(2));
    assert!(
        socketless.stderr.contains("has no socket"),
        "{}",
        socketless.stderr
    );
    let late = refused(
        Some("driver: {name: x}\nrules: [{method: Probe, available: 1}]"),
        &["--socket", "$DIR/csi"],
    );
    assert_eq!(late.code, Some(2));
    assert!(
        late.stderr.contains("`available` does not apply to Probe"),
        "{}",
        late.stderr
    );
}

#[test]
fn environment_errors_exit_with_code_3() {
    let long = format!("$DIR/{}", "x".repeat(120));
    let deep = refused(None, &["--socket", &long]);
    assert_eq!(deep.code, Some(3));
    assert!(deep.stderr.contains("the maximum is 107"), "{}", deep.stderr);
    let remote = refused(None, &["--socket", "$DIR/csi", "--control", "0.0.0.0:0"]);
    assert_eq!(remote.code, Some(3));
    assert!(
        remote.stderr.contains("not a loopback address"),
        "{}",
        remote.stderr
    );

    let folder = super::folder();
    let path = folder.path().join("used");
    let _owner = UnixListener::bind(&path).unwrap();
    let used = refused(None, &["--socket", &path.display().to_string()]);
    assert_eq!(used.code, Some(3));
    assert!(UnixStream::connect(&path).is_ok(), "the owner keeps its socket");
}

#[test]
fn help_contains_every_flag_and_a_valid_example_file() {
    let run = Command::new(env!("CARGO_BIN_EXE_fake-csi"))
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.status.code(), Some(0));
    for flag in [
        "--socket",
        "--node",
        "--segment",
        "--capacity",
        "--name",
        "--csi-version",
        "--control",
        "--allow-remote",
    ] {
        assert!(help.contains(flag), "{flag}");
    }
    let example: String = help
        .split("Example file:\n")
        .nth(1)
        .unwrap()
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line)))
        .collect();
    let example = example.replace("/tmp/csi.sock", "$DIR/csi");
    assert!(Program::start(Some(&example), &[]).is_ok(), "{example}");
}

#[test]
fn example_file_of_the_readme_is_valid() {
    let readme = include_str!("../../../README.md");
    let example = readme
        .split("```yaml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let program = Program::start(Some(&example.replace("/tmp/", "$DIR/")), &[])
        .ok()
        .expect("the program starts");
    assert_eq!(program.lines.len(), 2, "the file has two sockets");
}
