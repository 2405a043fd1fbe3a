//! Settings of the programs under test in a plan.

use std::time::Duration;

use super::Case;
use crate::scenario::{Mode, PublisherSpec, SchedulerSpec};
use crate::settings::Settings;

/// Poll interval of a publisher that must not poll: longer than any case runs.
const NO_POLLING: Duration = Duration::from_secs(3600);

/// Poll interval of a publisher with these settings: `refresh`, or one hour if the publisher does not poll.
pub(crate) fn poll_interval(publisher: PublisherSpec, refresh: Duration) -> Duration {
    if publisher.polls { refresh } else { NO_POLLING }
}

/// Checks that `ownerLevel` is an existing level of the publisher's owner chain.
pub(super) fn check_owner_level(publisher: PublisherSpec, mode: Mode) -> Result<(), String> {
    let (highest, topmost) = match mode {
        Mode::Central => (2, "Deployment"),
        Mode::Distributed => (1, "DaemonSet"),
    };
    match publisher.owner_level.filter(|level| *level > highest) {
        Some(level) => Err(format!(
            "`ownerLevel: {level}`: the {topmost} of the publisher has no owner, so that {highest} is the highest level in {} mode; lower it",
            mode.as_str()
        )),
        None => Ok(()),
    }
}

impl Case {
    /// Settings of the programs at the start of the case. Extenders are omitted, because their addresses are not known yet.
    pub(crate) fn settings(&self, refresh: Duration) -> Settings {
        Settings {
            mode: self.mode,
            refresh: poll_interval(self.publisher, refresh),
            publisher: self.publisher,
            scheduler: self.scheduler.clone(),
            extenders: None,
            driver: self.driver.name.clone(),
            orphan_after: self.orphan_after,
        }
    }

    /// Settings of the programs at the start of the case, but with these publisher settings and without poll interval.
    pub(super) fn settings_with_publisher(&self, publisher: PublisherSpec) -> Settings {
        Settings {
            publisher,
            ..self.settings(Duration::ZERO)
        }
    }

    /// Settings of the programs at the start of the case, but with these scheduler settings and without poll interval.
    pub(super) fn settings_with_scheduler(&self, scheduler: &SchedulerSpec) -> Settings {
        Settings {
            scheduler: scheduler.clone(),
            ..self.settings(Duration::ZERO)
        }
    }
}
