//! Tests of the configuration file: parsed fields and error texts.

use super::*;

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn parse(rest: &str, scoring: bool) -> Result<Configuration, String> {
    let read = Configuration::parse(&format!("{HEAD}{rest}"), Release::DEFAULT, scoring);
    read.map_err(|error| error.to_string())
}

/// Parses a configuration that contains only these arguments of VolumeBinding.
fn arguments(args: &str, scoring: bool) -> Result<Profile, String> {
    let rest = format!("profiles: [{{pluginConfig: [{{name: VolumeBinding, args: {args}}}]}}]\n");
    parse(&rest, scoring).map(|read| read.profiles[0].clone())
}

#[test]
fn unset_fields_have_the_defaults_of_kube_scheduler() {
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
fn all_supported_fields_are_parsed() {
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

/// kube-scheduler's own test table, with the error texts of 1.36.
#[test]
fn invalid_arguments_return_the_errors_of_kube_scheduler() {
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
fn unknown_fields_and_versions_are_errors() {
    assert_eq!(
        arguments("{weights: {fast: 2}}", true).unwrap_err(),
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin VolumeBinding: strict decoding error: unknown field \"weights\"",
        "storage classes have no weights"
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
fn profiles_and_backoff_are_validated() {
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
        "every error is reported: {both}"
    );
}

#[test]
fn extenders_have_the_defaults_of_kube_scheduler() {
    let text = "
extenders:
- {urlPrefix: 'http://127.0.0.1:1/x/', filterVerb: filter}
- urlPrefix: http://127.0.0.1:2
  prioritizeVerb: prioritize
  bindVerb: bind
  preemptVerb: preempt
  weight: 3
  httpTimeout: 100ms
  nodeCacheCapable: true
  ignorable: true
  managedResources: [{name: example.com/disk, ignoredByScheduler: true}]
";
    let read = parse(text, false).unwrap();
    let plain = Extender {
        url_prefix: "http://127.0.0.1:1/x".to_owned(),
        filter_verb: Some("filter".to_owned()),
        prioritize_verb: None,
        bind_verb: None,
        weight: 0,
        timeout: Duration::from_secs(5),
        node_cache_capable: false,
        managed_resources: BTreeSet::new(),
        ignored_resources: BTreeSet::new(),
        ignorable: false,
    };
    let full = Extender {
        url_prefix: "http://127.0.0.1:2".to_owned(),
        filter_verb: None,
        prioritize_verb: Some("prioritize".to_owned()),
        bind_verb: Some("bind".to_owned()),
        weight: 3,
        timeout: Duration::from_millis(100),
        node_cache_capable: true,
        managed_resources: ["example.com/disk".to_owned()].into(),
        ignored_resources: ["example.com/disk".to_owned()].into(),
        ignorable: true,
    };
    assert_eq!(read.extenders, [plain, full]);
    assert_eq!(read.unused, ["extenders[1].preemptVerb"]);
}

#[test]
fn extenders_are_validated() {
    const URL: &str = "urlPrefix: 'http://127.0.0.1:1'";
    for (extenders, expected) in [
        (
            format!("[{{{URL}, prioritizeVerb: p}}]"),
            "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        ),
        (
            format!("[{{{URL}, bindVerb: a}}, {{{URL}, bindVerb: b}}]"),
            "only one extender can implement bind",
        ),
        (
            format!("[{{{URL}, managedResources: [{{name: cpu}}]}}]"),
            "extenders[0].managedResources[0].name: Invalid value: \"cpu\": is an invalid extended resource name",
        ),
        (
            format!("[{{{URL}, managedResources: [{{name: a.b/c}}, {{name: a.b/c}}]}}]"),
            "extenders[0].managedResources[1].name: Duplicate value: \"a.b/c\"",
        ),
        (format!("[{{{URL}, enableHTTPS: true}}]"), "plain HTTP only"),
        ("[{urlPrefix: 'ftp://x'}]".to_owned(), "must begin with http://"),
        (
            format!("[{{{URL}, httpTimeout: soon}}]"),
            "must be a duration such as 5s",
        ),
        (
            format!("[{{{URL}, verb: x}}]"),
            "unknown field \"extenders[0].verb\"",
        ),
        ("1".to_owned(), "extenders: Invalid value: must be a list"),
    ] {
        let error = Extender::parse_list(&extenders).unwrap_err().to_string();
        assert!(error.contains(expected), "{extenders}: {error}");
    }
}
