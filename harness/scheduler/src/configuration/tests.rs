//! The configuration file: what is read, and what is refused in whose words.

use super::*;

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn parse(rest: &str, scoring: bool) -> Result<Configuration, String> {
    let read = Configuration::parse(&format!("{HEAD}{rest}"), Release::DEFAULT, scoring);
    read.map_err(|error| error.to_string())
}

/// The arguments of VolumeBinding, alone.
fn arguments(args: &str, scoring: bool) -> Result<Profile, String> {
    let rest = format!("profiles: [{{pluginConfig: [{{name: VolumeBinding, args: {args}}}]}}]\n");
    parse(&rest, scoring).map(|read| read.profiles[0].clone())
}

#[test]
fn what_is_unset_has_the_defaults_of_kube_scheduler() {
    let read = parse("", false).unwrap();
    assert_eq!(
        (read.initial_backoff.as_secs(), read.max_backoff.as_secs()),
        (1, 10)
    );
    let [only] = read.profiles.as_slice() else {
        panic!("{read:?}")
    };
    assert_eq!(only.scheduler_name, "default-scheduler");
    assert_eq!((only.bind_timeout.as_secs(), &only.shape), (600, &None));
}

#[test]
fn everything_that_counts_is_read() {
    let text = "
clientConnection: {kubeconfig: /tmp/k}
leaderElection: {leaderElect: false}
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
profiles:
- schedulerName: a
  plugins: {}
  pluginConfig:
  - {name: NodeResourcesFit, args: {}}
  - name: VolumeBinding
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: VolumeBindingArgs
      bindTimeoutSeconds: 0
      shape: [{utilization: 0, score: 3}, {utilization: 100}]
- schedulerName: b
";
    let read = parse(text, true).unwrap();
    assert_eq!(read.kubeconfig.as_deref(), Some("/tmp/k"));
    assert_eq!(
        (read.initial_backoff.as_secs(), read.max_backoff.as_secs()),
        (2, 20)
    );
    let point = |utilization, score| ShapePoint { utilization, score };
    assert_eq!(read.profiles[0].bind_timeout, Duration::ZERO);
    assert_eq!(read.profiles[0].shape, Some(vec![point(0, 3), point(100, 0)]));
    assert_eq!(read.profiles[1].scheduler_name, "b");
    assert_eq!(
        read.unused,
        [
            "leaderElection",
            "profiles[0].plugins",
            "profiles[0].pluginConfig[0]"
        ]
    );
}

/// The rows of kube-scheduler's own table, with the texts that 1.36 printed.
#[test]
fn arguments_are_validated_in_the_words_of_kube_scheduler() {
    const PATH: &str = "profiles[0].pluginConfig[0].args.";
    for (args, scoring, expected) in [
        ("{bindTimeoutSeconds: 0}", false, None),
        ("{bindTimeoutSeconds: 10}", false, None),
        (
            "{bindTimeoutSeconds: -1}",
            false,
            Some(
                "bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
            ),
        ),
        (
            "{shape: []}",
            false,
            Some(
                "shape: Invalid value: []: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
            ),
        ),
        ("{shape: []}", true, None),
        ("{shape: [{utilization: 1, score: 1}]}", true, None),
        (
            "{shape: [{utilization: 1, score: 1}, {utilization: 1, score: 2}]}",
            true,
            Some("shape[1].utilization: Invalid value: 1: values must be sorted in increasing order"),
        ),
        (
            "{shape: [{utilization: 0, score: 1}, {utilization: 101, score: 2}]}",
            true,
            Some("shape[1].utilization: Invalid value: 101: not in valid range [0, 100]"),
        ),
        (
            "{shape: [{utilization: 0, score: 11}]}",
            true,
            Some("shape[0].score: Invalid value: 11: not in valid range [0, 10]"),
        ),
    ] {
        let found = arguments(args, scoring).err();
        assert_eq!(found, expected.map(|text| format!("{PATH}{text}")), "{args}");
    }
}

#[test]
fn unknown_fields_and_versions_are_refused() {
    assert_eq!(
        arguments("{weights: {fast: 2}}", true).unwrap_err(),
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin VolumeBinding: strict decoding error: unknown field \"weights\"",
        "there are no weights per storage class"
    );
    assert_eq!(
        parse("profile: []", true).unwrap_err(),
        "strict decoding error: unknown field \"profile\""
    );
    for (version, release, reads) in [
        ("v1", "1.24", false),
        ("v1", "1.25", true),
        ("v1beta1", "1.21", true),
        ("v1beta1", "1.23", false),
        ("v1beta3", "1.28", true),
        ("v2", "1.36", false),
    ] {
        let text =
            format!("apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n");
        let read = Configuration::parse(&text, release.parse().unwrap(), false);
        assert_eq!(read.is_ok(), reads, "{version} in {release}");
    }
}

#[test]
fn profiles_and_back_off_are_validated() {
    for (text, expected) in [
        (
            "podInitialBackoffSeconds: 0",
            "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
        ),
        (
            "podInitialBackoffSeconds: 11",
            "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
        ),
        (
            "profiles: [{schedulerName: a}, {}]",
            "profiles[1].schedulerName: Required value",
        ),
        (
            "profiles: [{schedulerName: a}, {schedulerName: a}]",
            "profiles[1].schedulerName: Duplicate value: \"a\"",
        ),
        (
            "podMaxBackoffSeconds: soon",
            "podMaxBackoffSeconds: Invalid value: must be a whole number",
        ),
    ] {
        assert_eq!(parse(text, false).unwrap_err(), expected, "{text}");
    }
    let both = parse("podInitialBackoffSeconds: 0\nprofile: []", false).unwrap_err();
    assert!(
        both.starts_with('[') && both.contains(", podInitial"),
        "every mistake is told: {both}"
    );
}
