//! Validation of the options before the first request.

use std::time::Duration;

use super::{Options, RecognizeBy};

/// Why the options are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// An option requires another option, which is missing.
    #[error("{option} requires {needed}; set it in the environment or as a flag")]
    Missing {
        /// The option that was given.
        option: &'static str,
        /// The required option that is missing.
        needed: &'static str,
    },
    /// Two options exclude each other.
    #[error("{option} and {other} exclude each other; remove one")]
    Both {
        /// The first of the two given options.
        option: &'static str,
        /// The second of the two given options.
        other: &'static str,
    },
    /// The value of an option is out of range.
    #[error("{option} is out of range; {hint}")]
    Range {
        /// Name of the option.
        option: &'static str,
        /// Which values are allowed, as an instruction to the user.
        hint: &'static str,
    },
}

const POSITIVE: &str = "choose more than 0";
const COUNT: &str = "choose 1 or more";

impl Options {
    /// Validates everything that can be validated before the first request.
    pub fn check(&self) -> Result<(), OptionsError> {
        self.check_required()?;
        let exclusive = [
            (
                self.http.http_endpoint.is_some() && self.http.metrics_address.is_some(),
                "--http-endpoint",
                "--metrics-address",
            ),
            (
                self.cleaner.clean_orphans && self.enable_capacity,
                "--clean-orphans",
                "--enable-capacity",
            ),
            (
                self.cleaner.clean_orphans && self.node_deployment,
                "--clean-orphans",
                "--node-deployment",
            ),
        ];
        if let Some((_, option, other)) = exclusive.into_iter().find(|(both, ..)| *both) {
            return Err(OptionsError::Both { option, other });
        }
        let invalid = self
            .range_checks()
            .into_iter()
            .chain(self.election_checks())
            .find(|(is_invalid, ..)| *is_invalid);
        invalid.map_or(Ok(()), |(_, option, hint)| {
            Err(OptionsError::Range { option, hint })
        })
    }

    fn check_required(&self) -> Result<(), OptionsError> {
        let owned = self.enable_capacity && self.capacity_ownerref_level >= 0;
        let cleans = self.cleaner.clean_orphans;
        let unowned = self.enable_capacity && self.capacity_ownerref_level < 0;
        if unowned && self.recognize_by == RecognizeBy::Owner {
            return Err(OptionsError::Missing {
                option: "--recognize-by=owner",
                needed: "--capacity-ownerref-level of 0 or more",
            });
        }
        let required = [
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
            (cleans, &self.namespace, "--clean-orphans", "NAMESPACE"),
            (
                cleans,
                &self.cleaner.driver_name,
                "--clean-orphans",
                "--driver-name",
            ),
        ];
        for (chosen, value, option, needed) in required {
            if chosen && value.as_ref().is_none_or(String::is_empty) {
                return Err(OptionsError::Missing { option, needed });
            }
        }
        Ok(())
    }

    fn range_checks(&self) -> [(bool, &'static str, &'static str); 12] {
        [
            (
                self.capacity_ownerref_level < -1,
                "--capacity-ownerref-level",
                "choose -1 or more",
            ),
            (self.capacity_threads == 0, "--capacity-threads", COUNT),
            (self.worker_threads == 0, "--worker-threads", COUNT),
            (
                self.kube_api_capacity_burst == 0,
                "--kube-api-capacity-burst",
                COUNT,
            ),
            (self.get_capacity_burst == 0, "--get-capacity-burst", COUNT),
            (
                self.capacity_poll_interval.is_zero(),
                "--capacity-poll-interval",
                POSITIVE,
            ),
            (self.timeout.is_zero(), "--timeout", POSITIVE),
            (
                self.retry_interval_start.is_zero(),
                "--retry-interval-start",
                POSITIVE,
            ),
            (
                self.node_deployment_base_delay.is_zero(),
                "--node-deployment-base-delay",
                POSITIVE,
            ),
            (
                self.node_deployment_max_delay < self.node_deployment_base_delay,
                "--node-deployment-max-delay",
                "choose at least --node-deployment-base-delay",
            ),
            (
                self.retry_interval_max < self.retry_interval_start,
                "--retry-interval-max",
                "choose at least --retry-interval-start",
            ),
            (self.cleaner.orphan_after.is_zero(), "--orphan-after", POSITIVE),
        ]
    }

    /// For each option of leader election: whether its value is invalid, the flag, and a hint. Lease durations are whole seconds. A leader
    /// must stop before another instance may acquire the Lease.
    fn election_checks(&self) -> [(bool, &'static str, &'static str); 3] {
        let election = &self.election;
        [
            (
                election.lease_duration < Duration::from_secs(1),
                "--leader-election-lease-duration",
                "choose 1s or more",
            ),
            (
                election.renew_deadline >= election.lease_duration,
                "--leader-election-renew-deadline",
                "choose less than --leader-election-lease-duration",
            ),
            (
                election.retry_period.is_zero() || election.retry_period >= election.renew_deadline,
                "--leader-election-retry-period",
                "choose more than 0 and less than --leader-election-renew-deadline",
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, options::values};

    type Change = fn(&mut Options);

    fn checked(change: Change) -> Result<(), OptionsError> {
        let mut options = Options::default();
        change(&mut options);
        options.check()
    }

    #[test]
    fn each_invalid_value_is_an_error_that_names_its_option() {
        let invalid: [(Change, &str); 16] = [
            (|it| it.capacity_ownerref_level = -2, "--capacity-ownerref-level"),
            (|it| it.capacity_threads = 0, "--capacity-threads"),
            (|it| it.worker_threads = 0, "--worker-threads"),
            (|it| it.kube_api_capacity_burst = 0, "--kube-api-capacity-burst"),
            (|it| it.get_capacity_burst = 0, "--get-capacity-burst"),
            (
                |it| it.capacity_poll_interval = Duration::ZERO,
                "--capacity-poll-interval",
            ),
            (|it| it.timeout = Duration::ZERO, "--timeout"),
            (
                |it| it.retry_interval_start = Duration::ZERO,
                "--retry-interval-start",
            ),
            (
                |it| it.node_deployment_base_delay = Duration::ZERO,
                "--node-deployment-base-delay",
            ),
            (
                |it| it.node_deployment_max_delay = Duration::from_secs(1),
                "--node-deployment-max-delay",
            ),
            (
                |it| it.retry_interval_max = Duration::from_millis(1),
                "--retry-interval-max",
            ),
            (|it| it.cleaner.orphan_after = Duration::ZERO, "--orphan-after"),
            (
                |it| it.election.lease_duration = Duration::from_millis(999),
                "--leader-election-lease-duration",
            ),
            (
                |it| it.election.renew_deadline = it.election.lease_duration,
                "--leader-election-renew-deadline",
            ),
            (
                |it| it.election.retry_period = it.election.renew_deadline,
                "--leader-election-retry-period",
            ),
            (
                |it| it.election.retry_period = Duration::ZERO,
                "--leader-election-retry-period",
            ),
        ];
        for (change, name) in invalid {
            let change: Change = change;
            let mut options = Options::default();
            options.election.enabled = true;
            change(&mut options);
            let error = options.check().expect_err(name).to_string();
            assert!(error.contains(name), "{name}: {error}");
        }
    }

    #[test]
    fn minimum_values_are_accepted() {
        let valid: [Change; 5] = [
            |it| it.capacity_ownerref_level = -1,
            |it| it.node_deployment_max_delay = it.node_deployment_base_delay,
            |it| it.retry_interval_max = it.retry_interval_start,
            |it| {
                it.election.enabled = true;
                it.election.lease_duration = Duration::from_secs(1);
                it.election.renew_deadline = Duration::from_millis(999);
                it.election.retry_period = Duration::from_millis(998);
            },
            |it| it.capacity_threads = 1,
        ];
        for change in valid {
            assert_eq!(checked(change), Ok(()));
        }
    }

    #[test]
    fn the_profile_sets_the_defaults_of_unset_options() {
        let of = |profile| Options {
            profile,
            ..Options::default()
        };
        let (kep, upstream) = (of(Profile::Kep), of(Profile::Upstream));
        assert!(!kep.publishes_zero() && upstream.publishes_zero());
        assert!(kep.get_capacity_qps() > 0.0);
        assert_eq!(upstream.get_capacity_qps().to_bits(), 0.0_f64.to_bits());
        assert_eq!(kep.unregistration_grace(), Duration::from_secs(10));
        assert_eq!(upstream.unregistration_grace(), Duration::ZERO);
    }

    #[test]
    fn a_process_is_named_after_its_pod_else_its_node_else_its_host() {
        let mut options = Options {
            pod_name: Some("publisher-0".to_owned()),
            node_name: Some("n1".to_owned()),
            ..Options::default()
        };
        assert_eq!(options.instance_name(), "publisher-0");
        options.pod_name = None;
        assert_eq!(options.instance_name(), "n1");
        options.node_name = None;
        assert!(
            !options.instance_name().is_empty() && options.instance_name() == options.instance_name().trim()
        );
        options.node_name = Some(" ".to_owned());
        assert_eq!(options.instance_name(), "localhost");
    }

    #[test]
    fn values_out_of_range_are_not_parsed() {
        assert_eq!(values::parse_rate("0"), Ok(0.0));
        assert_eq!(values::parse_rate("2.5"), Ok(2.5));
        for invalid in ["-1", "inf", "NaN", "many"] {
            assert!(values::parse_rate(invalid).is_err(), "{invalid}");
        }
        assert_eq!(values::parse_fraction("1"), Ok(1.0));
        assert!(values::parse_fraction("1.1").is_err() && values::parse_fraction("-0.1").is_err());
        assert_eq!(values::parse_duration("0"), Ok(Duration::ZERO));
        let labels = values::parse_labels("team:storage,tier:gold")
            .unwrap_or_default()
            .0;
        assert_eq!(labels.get("tier").map(String::as_str), Some("gold"));
        assert!(values::parse_labels("team").is_err());
    }
}
