//! The labels of a namespace, and the standards that they name.

use fake_apiserver::extension::Faults;
use serde_json::Value;
use std::fmt;

/// How strict a standard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Everything is allowed.
    Privileged,
    /// What is known to give a pod more than others is not.
    Baseline,
    /// Pods say that they do without.
    Restricted,
}

const LEVELS: [(Level, &str); 3] = [
    (Level::Privileged, "privileged"),
    (Level::Baseline, "baseline"),
    (Level::Restricted, "restricted"),
];

/// A standard as a release of Kubernetes knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standard {
    pub(super) level: Level,
    /// The minor release; none for the newest.
    pub(super) version: Option<u64>,
}

impl fmt::Display for Standard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = LEVELS.iter().find(|(level, _)| *level == self.level);
        out.write_str(name.map_or("", |(_, name)| name))?;
        match self.version {
            Some(minor) => write!(out, ":v1.{minor}"),
            None => out.write_str(":latest"),
        }
    }
}

/// What a namespace asks of its pods.
pub(super) struct Policy {
    /// What pods must keep to.
    pub(super) enforce: Standard,
    /// What a client is warned of that its pods do not keep to.
    pub(super) warn: Standard,
}

impl Policy {
    /// What labels say, and which of them say nothing.
    pub(super) fn of(labels: &Value) -> (Self, Faults) {
        let mut labels = Labels {
            labels,
            faults: Faults::default(),
        };
        let named = labels.level("enforce");
        let enforce = Standard {
            level: named.or(Level::Privileged, Level::Restricted),
            version: labels.version("enforce").flatten(),
        };
        // These are judged like the others, and there is no log that they could be about.
        labels.level("audit");
        labels.version("audit");
        // Without a level of its own, a client is warned of what the namespace asks for.
        let (level, version) = match (labels.level("warn"), named) {
            (Named::Nothing, Named::Level(level)) => (level, enforce.version),
            (own, _) => (own.or(Level::Privileged, Level::Privileged), None),
        };
        let warn = Standard {
            level,
            version: labels.version("warn").unwrap_or(version),
        };
        (Self { enforce, warn }, labels.faults)
    }
}

/// What a label for a level says.
#[derive(Clone, Copy)]
enum Named {
    /// It is not there.
    Nothing,
    /// What it names is no level.
    NoLevel,
    Level(Level),
}

impl Named {
    /// The level, or one for a label that is not there, or one for a label that names none.
    fn or(self, nothing: Level, no_level: Level) -> Level {
        match self {
            Self::Nothing => nothing,
            Self::NoLevel => no_level,
            Self::Level(level) => level,
        }
    }
}

/// The labels of a namespace, with what is wrong with those that were looked at.
struct Labels<'a> {
    labels: &'a Value,
    faults: Faults,
}

impl Labels<'_> {
    fn level(&mut self, mode: &str) -> Named {
        let Some(value) = self.labels.get(key(mode)).and_then(Value::as_str) else {
            return Named::Nothing;
        };
        if let Some((level, _)) = LEVELS.iter().find(|(_, name)| *name == value) {
            return Named::Level(*level);
        }
        self.refuse(mode, value, "must be one of privileged, baseline, restricted");
        Named::NoLevel
    }

    /// The release that a label names; none where that is the newest, or no release.
    fn version(&mut self, mode: &str) -> Option<Option<u64>> {
        let mode = format!("{mode}-version");
        let value = self.labels.get(key(&mode))?.as_str().unwrap_or_default();
        if value == "latest" {
            return Some(None);
        }
        let minor = value.strip_prefix("v1.").filter(|minor| is_number(minor));
        let minor = minor.and_then(|minor| minor.parse().ok());
        if minor.is_none() {
            self.refuse(&mode, value, "must be \"latest\" or \"v1.x\"");
        }
        Some(minor)
    }

    fn refuse(&mut self, label: &str, value: &str, why: &str) {
        self.faults
            .invalid(format!("metadata.labels[{}]", key(label)), value, why);
    }
}

/// Whether a text is a number as releases write it: digits, and no zero before others.
fn is_number(text: &str) -> bool {
    text == "0" || !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn key(label: &str) -> String {
    format!("pod-security.kubernetes.io/{label}")
}
