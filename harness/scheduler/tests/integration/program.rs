//! Tests of the program: invalid settings end the program immediately with kube-scheduler's error text.

use std::process::Command;

fn stderr_of_failure(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_capacity-scheduler"))
        .args(arguments)
        // Ensures that the program cannot connect to a cluster if it accepts the settings.
        .env("KUBECONFIG", "/nonexistent")
        .env("HOME", "/nonexistent")
        .output()
        .unwrap();
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn invalid_settings_are_errors() {
    for (arguments, words) in [
        (
            &["--feature-gates", "CSIStorageCapacity=false"][..],
            "unrecognized feature gate: CSIStorageCapacity",
        ),
        (
            &["--feature-gates", "VolumeCapacityPriority=true"],
            "unrecognized feature gate: VolumeCapacityPriority",
        ),
        (
            &["--release", "1.24", "--feature-gates", "CSIStorageCapacity=false"],
            "feature is locked to true",
        ),
        (&["--release", "1.12"], "choose one from 1.19 to 1.37"),
        (
            &["--bug-compatible=everything"],
            "choose flag, arithmetic or choice",
        ),
        (
            &[
                "--shape",
                "0=11",
                "--feature-gates",
                "StorageCapacityScoring=true",
            ],
            "not in valid range [0, 10]",
        ),
        (&["--shape", "0=1"], "unexpected field `shape`"),
        (&["--config", "/nonexistent"], "/nonexistent"),
        (&["--config", "x", "--shape", "0=1"], "cannot be used with"),
        (&["--allow-remote"], "--extender"),
        (&["--extenders", "[{}]"], "must begin with http://"),
        (&["--config", "x", "--extenders", "[]"], "cannot be used with"),
    ] {
        let error = stderr_of_failure(arguments);
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}

#[test]
fn a_shape_without_the_feature_gate_is_a_configuration_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let text = "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 1}]}}]}]
";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let error = stderr_of_failure(&["--config", file]);
    let expected = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring";
    assert!(
        error.contains("profiles[0].pluginConfig[0].args.shape") && error.contains(expected),
        "{error}"
    );
    let error = stderr_of_failure(&["--config", file, "--feature-gates", "StorageCapacityScoring=true"]);
    assert!(
        !error.contains("shape"),
        "with the gate the program tries to connect: {error}"
    );
}
