//! What can be chosen about a publisher: the flags of the program, equally settable in process. Flags are named like those of
//! external-provisioner where they mean the same. Acts on nothing.

use std::{path::PathBuf, time::Duration};

use k8s_openapi::jiff::SignedDuration;

use crate::{Defect, queue::Pace};

/// All choices. [`Options::default`] has the defaults of the flags, except that objects get no owner.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Unix socket of the CSI driver.
    #[arg(long, value_name = "PATH", default_value = "/run/csi/socket")]
    pub csi_address: PathBuf,

    /// Publish CSIStorageCapacity objects.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub enable_capacity: bool,

    /// Time between two refreshes of every object.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1m")]
    pub capacity_poll_interval: Duration,

    /// Owner of the objects: -1 none, 0 the pod named by POD_NAME, n its n-th controlling owner.
    #[arg(
        long,
        value_name = "LEVEL",
        allow_negative_numbers = true,
        default_value_t = 1
    )]
    pub capacity_ownerref_level: i32,

    /// Publish for storage classes with immediate binding too.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub capacity_for_immediate_binding: bool,

    /// What to do where KEP-1472 leaves a choice.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Profile::Kep)]
    pub profile: Profile,

    /// Publish zero capacity as an object with "0" [default: as the profile says].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub publish_zero: Option<bool>,

    /// How many objects are looked after at once.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub capacity_threads: usize,

    /// How many claims, and how many volumes, are looked after at once.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    pub worker_threads: usize,

    /// Distributed mode: look after the node named by NODE_NAME only.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub node_deployment: bool,

    /// Ask for volumes that are reachable from the selected node, instead of preferring them.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub strict_topology: bool,

    /// Tell the driver the segments of the cluster for volumes with immediate binding.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = true)]
    pub immediate_topology: bool,

    /// Wait after the first failure; each further one doubles it.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1s")]
    pub retry_interval_start: Duration,

    /// Longest wait after a failure.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    pub retry_interval_max: Duration,

    /// Time that one CSI call may take.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10s")]
    pub timeout: Duration,

    /// Volumes are named after their claim's uid, with this before it.
    #[arg(long, value_name = "PREFIX", default_value = "pvc")]
    pub volume_name_prefix: String,

    /// Namespace of the objects; needed for publishing.
    #[arg(long, value_name = "NAME", env = "NAMESPACE")]
    pub namespace: Option<String>,

    /// The pod of this program; needed for an owner.
    #[arg(long, value_name = "NAME", env = "POD_NAME")]
    pub pod_name: Option<String>,

    /// The node of this program; needed in distributed mode.
    #[arg(long, value_name = "NAME", env = "NODE_NAME")]
    pub node_name: Option<String>,

    /// A deliberate defect, for testing tests.
    #[arg(long, value_name = "NAME", hide = true)]
    pub defect: Option<Defect>,
}

/// What to do where KEP-1472 leaves a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// As the text of the KEP has it first: no object where there is no capacity.
    #[default]
    Kep,
    /// As external-provisioner does: zero capacity is an object with "0".
    Upstream,
}

/// Options contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// An option needs another one.
    #[error("{option} needs {needed}; set it in the environment or as a flag")]
    Missing {
        /// The option that was chosen.
        option: &'static str,
        /// What it needs.
        needed: &'static str,
    },
    /// A number makes no sense.
    #[error("{option} is out of range; {hint}")]
    Range {
        /// The option.
        option: &'static str,
        /// What to choose instead.
        hint: &'static str,
    },
}

impl Default for Options {
    fn default() -> Options {
        Options {
            csi_address: PathBuf::from("/run/csi/socket"),
            enable_capacity: false,
            capacity_poll_interval: Duration::from_secs(60),
            capacity_ownerref_level: -1,
            capacity_for_immediate_binding: false,
            profile: Profile::Kep,
            publish_zero: None,
            capacity_threads: 1,
            worker_threads: 100,
            node_deployment: false,
            strict_topology: false,
            immediate_topology: true,
            retry_interval_start: Duration::from_secs(1),
            retry_interval_max: Duration::from_secs(300),
            timeout: Duration::from_secs(10),
            volume_name_prefix: "pvc".to_owned(),
            namespace: None,
            pod_name: None,
            node_name: None,
            defect: None,
        }
    }
}

impl Options {
    /// Checks everything that can be wrong before the first request.
    pub fn check(&self) -> Result<(), OptionsError> {
        let owned = self.enable_capacity && self.capacity_ownerref_level >= 0;
        let needs = [
            (
                self.enable_capacity,
                &self.namespace,
                "--enable-capacity",
                "NAMESPACE",
            ),
            (owned, &self.pod_name, "--capacity-ownerref-level", "POD_NAME"),
            (
                self.node_deployment,
                &self.node_name,
                "--node-deployment",
                "NODE_NAME",
            ),
        ];
        for (chosen, value, option, needed) in needs {
            if chosen && value.as_ref().is_none_or(String::is_empty) {
                return Err(OptionsError::Missing { option, needed });
            }
        }
        let ranges = [
            (
                self.capacity_ownerref_level < -1,
                "--capacity-ownerref-level",
                "choose -1 or more",
            ),
            (
                self.capacity_threads == 0,
                "--capacity-threads",
                "choose 1 or more",
            ),
            (self.worker_threads == 0, "--worker-threads", "choose 1 or more"),
            (
                self.capacity_poll_interval.is_zero(),
                "--capacity-poll-interval",
                "choose more than 0",
            ),
            (self.timeout.is_zero(), "--timeout", "choose more than 0"),
            (
                self.retry_interval_start.is_zero(),
                "--retry-interval-start",
                "choose more than 0",
            ),
            (
                self.retry_interval_max < self.retry_interval_start,
                "--retry-interval-max",
                "choose at least --retry-interval-start",
            ),
        ];
        ranges
            .into_iter()
            .find(|(wrong, ..)| *wrong)
            .map_or(Ok(()), |(_, option, hint)| {
                Err(OptionsError::Range { option, hint })
            })
    }

    pub(crate) fn pace(&self) -> Pace {
        Pace {
            start: self.retry_interval_start,
            max: self.retry_interval_max,
        }
    }

    pub(crate) fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    /// Whether zero capacity is an object with "0"; otherwise there is no object then.
    pub(crate) fn publishes_zero(&self) -> bool {
        self.publish_zero.unwrap_or(self.profile == Profile::Upstream)
    }

    /// The node that this instance is alone responsible for, in distributed mode.
    pub(crate) fn own_node(&self) -> Option<&str> {
        self.node_name.as_deref().filter(|_| self.node_deployment)
    }
}

/// Reads durations as they are written elsewhere in Kubernetes: `500ms`, `10s`, `1m30s`.
fn duration(text: &str) -> Result<Duration, String> {
    let parsed: Result<SignedDuration, _> = text.parse();
    let duration = parsed.ok().and_then(|signed| Duration::try_from(signed).ok());
    duration.ok_or_else(|| format!("{text:?} is no duration; write it like 500ms, 10s or 1m30s"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        options: Options,
    }

    fn parse(flags: &[&str]) -> Options {
        Program::parse_from([&["program"], flags].concat()).options
    }

    #[test]
    fn the_defaults_are_those_of_the_flags_but_for_the_owner() {
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
    fn flags_are_written_like_upstream() {
        let options = parse(&[
            "--enable-capacity",
            "--strict-topology=true",
            "--immediate-topology=false",
            "--capacity-poll-interval=1m30s",
            "--capacity-ownerref-level=-1",
            "--timeout",
            "500ms",
            "--defect=publisher-never-refreshes",
        ]);
        assert!(options.enable_capacity && options.strict_topology && !options.immediate_topology);
        assert_eq!(options.capacity_poll_interval, Duration::from_secs(90));
        assert_eq!(
            (options.capacity_ownerref_level, options.timeout),
            (-1, Duration::from_millis(500))
        );
        assert_eq!(options.defect, Some(Defect::NeverRefreshes));
    }

    #[test]
    fn what_is_missing_is_named() {
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
    fn what_makes_no_sense_is_refused() {
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
        assert!(duration("soon").is_err() && duration("-1s").is_err());
    }
}
