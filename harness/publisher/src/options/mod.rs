//! The options of a publisher, set by flags or in process. Flags whose meaning equals that of an external-provisioner flag have the same
//! name.

mod check;
mod gates;
mod ignored_flags;
mod sections;
mod values;

use std::{path::PathBuf, time::Duration};

pub use check::OptionsError;
pub use gates::FeatureGates;
use gates::feature_gates;
pub use ignored_flags::without_ignored_flags;
pub use sections::{CleanerOptions, HttpOptions, LeaderElectionOptions};
pub use values::{OnCapacityError, Profile, RecognizeBy};
use values::{parse_duration, parse_fraction, parse_rate};

use capacity_client::ExponentialBackoff;
use k8s_openapi::jiff::Timestamp;

use crate::{Dialect, rng::SharedRng};

/// Sufficient for 3000 refreshes within the default poll interval of one minute.
const GET_CAPACITY_QPS: f64 = 50.0;

/// All options. The values of [`Options::default`] are the defaults of the flags, except that objects get no owner.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Path of the CSI driver's Unix socket.
    #[arg(long, value_name = "PATH", default_value = "/run/csi/socket")]
    pub csi_address: PathBuf,

    /// Timeout of a CSI call.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "10s")]
    pub timeout: Duration,

    /// Defaults where KEP-1472 allows several behaviours.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Profile::Kep)]
    pub profile: Profile,

    /// Publish CSIStorageCapacity objects.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub enable_capacity: bool,

    /// Interval at which the capacity of every object is refreshed.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "1m")]
    pub capacity_poll_interval: Duration,

    /// Maximum fraction of the interval by which a refresh may be earlier, to spread the calls of many publishers.
    #[arg(long, value_name = "FRACTION", value_parser = parse_fraction, default_value = "0.1")]
    pub capacity_poll_jitter: f64,

    /// Number of objects processed concurrently.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub capacity_threads: usize,

    /// Owner of the objects: -1 none, 0 the pod named by POD_NAME, n its n-th controlling owner.
    #[arg(
        long,
        value_name = "LEVEL",
        allow_negative_numbers = true,
        default_value_t = 1
    )]
    pub capacity_ownerref_level: i32,

    /// How the publisher recognizes its objects: by labels, or by owner as external-provisioner 2.0.0 did.
    #[arg(long, value_enum, value_name = "CHOICE", default_value_t = RecognizeBy::Labels)]
    pub recognize_by: RecognizeBy,

    /// Publish for all storage classes, including those with Immediate binding.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub capacity_for_immediate_binding: bool,

    /// Publish zero capacity as an object with capacity "0" [default: only with the profile upstream].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub publish_zero: Option<bool>,

    /// What to do with a published object when GetCapacity fails for the object.
    #[arg(long, value_enum, value_name = "CHOICE", default_value_t = OnCapacityError::Keep)]
    pub on_capacity_error: OnCapacityError,

    /// How long to retain the objects of a node after the driver unregistered there, since the driver may only be restarting [default: 10s;
    /// none with the profile upstream].
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub unregistration_grace: Option<Duration>,

    /// API requests per second for publishing; 0 disables the limit.
    #[arg(long, value_name = "RATE", value_parser = parse_rate, default_value = "1")]
    pub kube_api_capacity_qps: f64,

    /// Burst of API requests for publishing.
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    pub kube_api_capacity_burst: u32,

    /// GetCapacity calls per second, to protect the storage backend in a large cluster (KEP-1472, "scalability"); 0 disables the limit
    /// [default: 50; none with the profile upstream].
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub get_capacity_qps: Option<f64>,

    /// Burst of GetCapacity calls.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    pub get_capacity_burst: u32,

    /// Number of PVCs, and of PersistentVolumes, processed concurrently.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    pub worker_threads: usize,

    /// Distributed mode: publish and provision for the node named by NODE_NAME only.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub node_deployment: bool,

    /// Distributed mode: select this instance's node for PVCs with Immediate binding if the node has enough capacity.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = true)]
    pub node_deployment_immediate_binding: bool,

    /// Base delay until an instance selects its node for a PVC with Immediate binding; doubles per attempt, less a random part of the base.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "20s")]
    pub node_deployment_base_delay: Duration,

    /// Maximum delay before an instance selects its node for a PVC with Immediate binding.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "60s")]
    pub node_deployment_max_delay: Duration,

    /// Require the topology segment of the selected node for a volume, instead of preferring it.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub strict_topology: bool,

    /// Send the segments of the cluster to the driver for volumes with Immediate binding.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = true)]
    pub immediate_topology: bool,

    /// Backoff after the first failure; doubles with each further failure.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "1s")]
    pub retry_interval_start: Duration,

    /// Maximum backoff after a failure.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "5m")]
    pub retry_interval_max: Duration,

    /// Prefix of volume names; the PVC's UID follows.
    #[arg(long, value_name = "PREFIX", default_value = "pvc")]
    pub volume_name_prefix: String,

    /// Number of characters of the UID in volume names, without dashes; -1 uses the whole UID.
    #[arg(
        long,
        value_name = "COUNT",
        allow_negative_numbers = true,
        default_value_t = -1
    )]
    pub volume_name_uuid_length: i32,

    /// Filesystem of volumes whose storage class sets none.
    #[arg(long, value_name = "NAME", default_value = "")]
    pub default_fstype: String,

    /// Pass the names of PVC and PersistentVolume to the driver in the CreateVolume parameters.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub extra_create_metadata: bool,

    /// Mark volumes as read-only if ReadOnlyMany is the only access mode of the PVC.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub controller_publish_readonly: bool,

    /// Feature gates, such as Topology=false; the names are external-provisioner's.
    #[arg(long, value_name = "NAME=BOOL,…", value_parser = feature_gates, default_value = "", hide_default_value = true)]
    pub feature_gates: FeatureGates,

    /// Namespace of the CSIStorageCapacity objects; required for publishing.
    #[arg(long, value_name = "NAME", env = "NAMESPACE")]
    pub namespace: Option<String>,

    /// Name of this process's pod; required if objects have an owner.
    #[arg(long, value_name = "NAME", env = "POD_NAME")]
    pub pod_name: Option<String>,

    /// Name of this process's node; required in distributed mode.
    #[arg(long, value_name = "NAME", env = "NODE_NAME")]
    pub node_name: Option<String>,

    /// Leader election: one instance works, all other instances wait.
    #[command(flatten)]
    pub election: LeaderElectionOptions,

    /// The HTTP endpoint for metrics and health.
    #[command(flatten)]
    pub http: HttpOptions,

    /// The cleaner, which deletes orphaned objects of distributed instances.
    #[command(flatten)]
    pub cleaner: CleanerOptions,

    /// Wall clock for timestamps in Events, Leases and identities.
    #[arg(skip = Timestamp::now as fn() -> Timestamp)]
    pub clock: fn() -> Timestamp,

    /// The random number generator.
    #[arg(skip)]
    pub rng: SharedRng,

    /// The form of requests and objects where KEP-1472 and the CSI specification allow several.
    #[arg(skip)]
    pub dialect: Dialect,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            csi_address: PathBuf::from("/run/csi/socket"),
            timeout: Duration::from_secs(10),
            profile: Profile::Kep,
            enable_capacity: false,
            capacity_poll_interval: Duration::from_secs(60),
            capacity_poll_jitter: 0.1,
            capacity_threads: 1,
            capacity_ownerref_level: -1,
            recognize_by: RecognizeBy::Labels,
            capacity_for_immediate_binding: false,
            publish_zero: None,
            on_capacity_error: OnCapacityError::Keep,
            unregistration_grace: None,
            kube_api_capacity_qps: 1.0,
            kube_api_capacity_burst: 5,
            get_capacity_qps: None,
            get_capacity_burst: 100,
            worker_threads: 100,
            node_deployment: false,
            node_deployment_immediate_binding: true,
            node_deployment_base_delay: Duration::from_secs(20),
            node_deployment_max_delay: Duration::from_secs(60),
            strict_topology: false,
            immediate_topology: true,
            retry_interval_start: Duration::from_secs(1),
            retry_interval_max: Duration::from_secs(300),
            volume_name_prefix: "pvc".to_owned(),
            volume_name_uuid_length: -1,
            default_fstype: String::new(),
            extra_create_metadata: false,
            controller_publish_readonly: false,
            feature_gates: FeatureGates::default(),
            namespace: None,
            pod_name: None,
            node_name: None,
            election: LeaderElectionOptions::default(),
            http: HttpOptions::default(),
            cleaner: CleanerOptions::default(),
            clock: Timestamp::now,
            rng: SharedRng::default(),
            dialect: Dialect::default(),
        }
    }
}

impl Options {
    pub(crate) fn backoff(&self) -> ExponentialBackoff {
        ExponentialBackoff {
            start: self.retry_interval_start,
            max: self.retry_interval_max,
        }
    }

    /// Whether zero capacity is published as an object with capacity "0". If false, there is no object.
    pub(crate) fn publishes_zero(&self) -> bool {
        self.publish_zero.unwrap_or(self.profile == Profile::Upstream)
    }

    /// Maximum GetCapacity calls per second; 0: unlimited.
    pub(crate) fn get_capacity_qps(&self) -> f64 {
        let by_profile = match self.profile {
            Profile::Kep => GET_CAPACITY_QPS,
            Profile::Upstream => 0.0,
        };
        self.get_capacity_qps.unwrap_or(by_profile)
    }

    /// How long a segment is retained after the driver on its last node unregistered.
    pub(crate) fn unregistration_grace(&self) -> Duration {
        let by_profile = match self.profile {
            Profile::Kep => Duration::from_secs(10),
            Profile::Upstream => Duration::ZERO,
        };
        self.unregistration_grace.unwrap_or(by_profile)
    }

    /// The only node of this instance in distributed mode. `None` in central mode.
    pub(crate) fn own_node(&self) -> Option<&str> {
        self.node_name.as_deref().filter(|_| self.node_deployment)
    }

    /// A readable name that distinguishes this process from others of the same driver: its pod, else its node, else its host.
    pub(crate) fn instance_name(&self) -> String {
        let configured = self.pod_name.as_deref().or(self.node_name.as_deref());
        let hostname = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let name = configured.map(str::to_owned).or_else(hostname);
        name.map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "localhost".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{values::*, *};

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        options: Options,
    }

    fn parse(flags: &[&str]) -> Options {
        Program::parse_from([&["program"], flags].concat()).options
    }

    #[test]
    fn defaults_equal_those_of_the_flags_except_for_the_owner() {
        let mut from_flags = parse(&[]);
        assert_eq!(from_flags.capacity_ownerref_level, 1);
        from_flags.capacity_ownerref_level = -1;
        let defaults = Options {
            namespace: from_flags.namespace.clone(),
            pod_name: from_flags.pod_name.clone(),
            node_name: from_flags.node_name.clone(),
            ..Options::default()
        };
        assert_eq!(format!("{from_flags:?}"), format!("{defaults:?}"));
    }

    #[test]
    fn flags_are_parsed_as_upstream() {
        let options = parse(&[
            "--enable-capacity",
            "--strict-topology=true",
            "--immediate-topology=false",
            "--capacity-poll-interval=1m30s",
            "--capacity-ownerref-level=-1",
            "--timeout",
            "500ms",
        ]);
        assert!(options.enable_capacity && options.strict_topology && !options.immediate_topology);
        assert_eq!(options.capacity_poll_interval, Duration::from_secs(90));
        assert_eq!(
            (options.capacity_ownerref_level, options.timeout),
            (-1, Duration::from_millis(500))
        );
    }

    #[test]
    fn a_missing_option_is_an_error_that_names_it() {
        let options = Options {
            enable_capacity: true,
            ..Options::default()
        };
        assert!(options.check().unwrap_err().to_string().contains("NAMESPACE"));
        let options = Options {
            namespace: Some("default".to_owned()),
            ..options
        };
        assert_eq!(options.check(), Ok(()));
        let owned = Options {
            capacity_ownerref_level: 0,
            ..options.clone()
        };
        assert!(owned.check().unwrap_err().to_string().contains("POD_NAME"));
        let distributed = Options {
            node_deployment: true,
            ..options
        };
        assert!(distributed.check().unwrap_err().to_string().contains("NODE_NAME"));
    }

    #[test]
    fn values_out_of_range_are_errors() {
        for options in [
            Options {
                capacity_threads: 0,
                ..Options::default()
            },
            Options {
                capacity_ownerref_level: -2,
                ..Options::default()
            },
            Options {
                retry_interval_max: Duration::from_millis(1),
                ..Options::default()
            },
        ] {
            assert!(matches!(options.check(), Err(OptionsError::Range { .. })));
        }
        assert!(parse_duration("soon").is_err() && parse_duration("-1s").is_err());
    }
}
