//! The Pod Security labels of a namespace, and the standards that they select.

use fake_apiserver::extension::ErrorList;
use serde_json::Value;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

const LEVELS: [(Level, &str); 3] = [
    (Level::Privileged, "privileged"),
    (Level::Baseline, "baseline"),
    (Level::Restricted, "restricted"),
];

/// A Pod Security Standard: a level, as defined by a Kubernetes release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standard {
    pub(super) level: Level,
    /// The minor release of Kubernetes that defines the standard; None for `latest`.
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

/// The Pod Security standards that the labels of a namespace select.
pub(super) struct Policy {
    pub(super) enforce: Standard,
    pub(super) warn: Standard,
}

impl Policy {
    /// Parses the Pod Security labels of a namespace; also returns the validation errors of invalid labels.
    pub(super) fn of(labels: &Value) -> (Self, ErrorList) {
        let mut labels = Labels {
            labels,
            errors: ErrorList::default(),
        };
        let named = labels.level("enforce");
        let enforce = Standard {
            level: named.level_or(Level::Privileged, Level::Restricted),
            version: labels.version("enforce").flatten(),
        };
        // Audit labels are validated, but have no effect: there is no audit log.
        labels.level("audit");
        labels.version("audit");
        // Without a `warn` label, the enforced standard applies.
        let (level, version) = match (labels.level("warn"), named) {
            (LevelLabel::Nothing, LevelLabel::Level(level)) => (level, enforce.version),
            (own, _) => (own.level_or(Level::Privileged, Level::Privileged), None),
        };
        let warn = Standard {
            level,
            version: labels.version("warn").unwrap_or(version),
        };
        (Self { enforce, warn }, labels.errors)
    }
}

/// The value of a level label, such as `pod-security.kubernetes.io/enforce`.
#[derive(Clone, Copy)]
enum LevelLabel {
    /// The namespace lacks the label.
    Nothing,
    /// The value of the label is not a level of the Pod Security Standards.
    NoLevel,
    Level(Level),
}

impl LevelLabel {
    /// The level of the label; `nothing` if the label is absent, `no_level` if it is invalid.
    fn level_or(self, nothing: Level, no_level: Level) -> Level {
        match self {
            Self::Nothing => nothing,
            Self::NoLevel => no_level,
            Self::Level(level) => level,
        }
    }
}

/// The Pod Security labels of a namespace, and the validation errors found so far.
struct Labels<'a> {
    labels: &'a Value,
    errors: ErrorList,
}

impl Labels<'_> {
    fn level(&mut self, mode: &str) -> LevelLabel {
        let Some(value) = self.labels.get(key(mode)).and_then(Value::as_str) else {
            return LevelLabel::Nothing;
        };
        if let Some((level, _)) = LEVELS.iter().find(|(_, name)| *name == value) {
            return LevelLabel::Level(*level);
        }
        self.add_invalid_label(mode, value, "must be one of privileged, baseline, restricted");
        LevelLabel::NoLevel
    }

    /// The minor release in the version label of `mode`. None: the label is absent. `Some(None)`: `latest`, or an invalid value.
    fn version(&mut self, mode: &str) -> Option<Option<u64>> {
        let mode = format!("{mode}-version");
        let value = self.labels.get(key(&mode))?.as_str().unwrap_or_default();
        if value == "latest" {
            return Some(None);
        }
        let minor = value.strip_prefix("v1.").filter(|minor| is_minor_release(minor));
        let minor = minor.and_then(|minor| minor.parse().ok());
        if minor.is_none() {
            self.add_invalid_label(&mode, value, "must be \"latest\" or \"v1.x\"");
        }
        Some(minor)
    }

    fn add_invalid_label(&mut self, label: &str, value: &str, why: &str) {
        self.errors
            .invalid(format!("metadata.labels[{}]", key(label)), value, why);
    }
}

/// Whether a string is a minor release: digits without leading zero.
fn is_minor_release(text: &str) -> bool {
    text == "0" || !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn key(label: &str) -> String {
    format!("pod-security.kubernetes.io/{label}")
}
