//! kube-scheduler's configuration file (`KubeSchedulerConfiguration` with `VolumeBindingArgs`): profiles, backoff, extenders and the
//! arguments of VolumeBinding. Fields that kube-scheduler uses and this scheduler ignores are listed as unused. Unknown fields are errors,
//! with kube-scheduler's error texts.

mod extenders;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

pub use crate::extender::Extender;
use crate::options::Options;
use crate::release::Release;
use crate::shape::{Shape, ShapePoint};

const GROUP: &str = "kubescheduler.config.k8s.io/";
const KIND: &str = "KubeSchedulerConfiguration";
const PLUGIN: &str = "VolumeBinding";

/// The top-level fields that this scheduler supports.
const USED: [&str; 7] = [
    "apiVersion",
    "kind",
    "clientConnection",
    "extenders",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "profiles",
];
/// Top-level fields of kube-scheduler that this scheduler ignores.
const UNUSED: [&str; 8] = [
    "delayCacheUntilActive",
    "enableContentionProfiling",
    "enableProfiling",
    "healthzBindAddress",
    "leaderElection",
    "metricsBindAddress",
    "parallelism",
    "percentageOfNodesToScore",
];

/// The parsed configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// `clientConnection.kubeconfig`: path of the kubeconfig.
    pub kubeconfig: Option<String>,
    /// `podInitialBackoffSeconds`.
    pub initial_backoff: Duration,
    /// `podMaxBackoffSeconds`.
    pub max_backoff: Duration,
    /// The profiles; at least one.
    pub profiles: Vec<Profile>,
    /// The extenders in call order.
    pub extenders: Vec<Extender>,
    /// Paths of fields that kube-scheduler uses and this scheduler ignores.
    pub unused: Vec<String>,
}

/// One scheduler profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// `schedulerName`.
    pub scheduler_name: String,
    /// `VolumeBindingArgs.bindTimeoutSeconds`.
    pub bind_timeout: Duration,
    /// `VolumeBindingArgs.shape`.
    pub shape: Option<Vec<ShapePoint>>,
}

/// Why a configuration file is invalid: one text per error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationError(Vec<String>);

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [only] => f.write_str(only),
            several => write!(f, "[{}]", several.join(", ")),
        }
    }
}

impl std::error::Error for ConfigurationError {}

impl Configuration {
    /// Parses a file for the scheduler of a release. `scoring`: the feature gate StorageCapacityScoring (formerly VolumeCapacityPriority)
    /// is enabled. If it is disabled, even an empty `shape` is an error (KEP-4049).
    pub fn parse(text: &str, release: Release, scoring: bool) -> Result<Self, ConfigurationError> {
        let file: Value = serde_saphyr::from_str(text).map_err(|error| {
            ConfigurationError(vec![format!("couldn't parse the configuration: {error}")])
        })?;
        let mut parser = Parser {
            scoring,
            errors: Vec::new(),
            unused: Vec::new(),
        };
        let read = parser.parse_file(&file, release);
        match read {
            Some(configuration) if parser.errors.is_empty() => Ok(Self {
                unused: parser.unused,
                ..configuration
            }),
            _ => Err(ConfigurationError(parser.errors)),
        }
    }
}

struct Parser {
    scoring: bool,
    errors: Vec<String>,
    unused: Vec<String>,
}

impl Parser {
    fn parse_file(&mut self, file: &Value, release: Release) -> Option<Configuration> {
        let text = |field: &str| file[field].as_str().unwrap_or_default();
        let version = text("apiVersion");
        let is_accepted = version
            .strip_prefix(GROUP)
            .is_some_and(|version| release.accepts_configuration(version));
        if text("kind") != KIND || !is_accepted {
            let kind = text("kind");
            self.errors.push(format!(
                "no kind \"{kind}\" is registered for version \"{version}\" in the scheme of release {release}"
            ));
            return None;
        }
        let fields = file.as_object()?;
        self.check_fields("", fields, &USED, &UNUSED);
        let default = Options::default();
        let initial = self.parse_seconds(fields, "podInitialBackoffSeconds", default.initial_backoff);
        let max = self.parse_seconds(fields, "podMaxBackoffSeconds", default.max_backoff);
        if initial < 1 {
            self.errors.push(format!(
                "podInitialBackoffSeconds: Invalid value: {initial}: must be greater than 0"
            ));
        }
        if max < initial {
            self.errors.push(format!(
                "podMaxBackoffSeconds: Invalid value: {max}: must be greater than or equal to PodInitialBackoffSeconds"
            ));
        }
        let extenders = self.extenders(&file["extenders"]);
        let profiles = self.profiles(&file["profiles"]);
        Some(Configuration {
            kubeconfig: file["clientConnection"]["kubeconfig"].as_str().map(str::to_owned),
            initial_backoff: seconds_to_duration(initial),
            max_backoff: seconds_to_duration(max),
            profiles,
            extenders,
            unused: Vec::new(),
        })
    }

    fn profiles(&mut self, source: &Value) -> Vec<Profile> {
        let default = Options::default();
        let absent = [serde_json::json!({"schedulerName": default.scheduler_name})];
        let source = source.as_array().filter(|profiles| !profiles.is_empty());
        let source = source.map_or(&absent[..], Vec::as_slice);
        let mut names = BTreeSet::new();
        let mut profiles = Vec::new();
        for (index, profile) in source.iter().enumerate() {
            let path = format!("profiles[{index}]");
            if let Some(fields) = profile.as_object() {
                self.check_fields(
                    &format!("{path}."),
                    fields,
                    &["schedulerName", "pluginConfig"],
                    &["percentageOfNodesToScore", "plugins"],
                );
            }
            let name = match (&profile["schedulerName"], source.len()) {
                (Value::Null, 1) => default.scheduler_name.as_str(),
                (name, _) => name.as_str().unwrap_or_default(),
            };
            if name.is_empty() {
                self.errors.push(format!("{path}.schedulerName: Required value"));
            } else if !names.insert(name) {
                self.errors
                    .push(format!("{path}.schedulerName: Duplicate value: \"{name}\""));
            }
            profiles.push(self.parse_profile(&path, name, &profile["pluginConfig"]));
        }
        profiles
    }

    fn parse_profile(&mut self, path: &str, name: &str, plugins: &Value) -> Profile {
        let mut read = Profile {
            scheduler_name: name.to_owned(),
            bind_timeout: Options::default().bind_timeout,
            shape: None,
        };
        let mut seen = BTreeSet::new();
        for (index, plugin) in plugins.as_array().into_iter().flatten().enumerate() {
            let path = format!("{path}.pluginConfig[{index}]");
            let plugin_name = plugin["name"].as_str().unwrap_or_default();
            if !seen.insert(plugin_name) {
                self.errors
                    .push(format!("{path}: Duplicate value: \"{plugin_name}\""));
            }
            if plugin_name == PLUGIN {
                self.parse_plugin_args(&path, &plugin["args"], &mut read);
            } else {
                self.unused.push(path);
            }
        }
        read
    }

    fn parse_plugin_args(&mut self, plugin: &str, args: &Value, profile: &mut Profile) {
        let Some(fields) = args.as_object() else {
            return;
        };
        for unknown in unknown_fields(
            fields,
            &["apiVersion", "kind", "bindTimeoutSeconds", "shape"],
            &[],
        ) {
            self.errors.push(format!(
                "decoding .{plugin}: decoding args for plugin {PLUGIN}: strict decoding error: unknown field \"{unknown}\""
            ));
        }
        let path = format!("{plugin}.args");
        let default = i64::try_from(profile.bind_timeout.as_secs()).unwrap_or(i64::MAX);
        match fields.get("bindTimeoutSeconds").map_or(Some(default), Value::as_i64) {
            Some(seconds) if seconds >= 0 => profile.bind_timeout = seconds_to_duration(seconds),
            Some(seconds) => self.errors.push(format!(
                "{path}.bindTimeoutSeconds: Invalid value: {seconds}: invalid BindTimeoutSeconds, should not be a negative value"
            )),
            None => self.report_not_a_number(&format!("{path}.bindTimeoutSeconds")),
        }
        if let Some(shape) = fields.get("shape").filter(|shape| !shape.is_null()) {
            profile.shape = self.parse_shape(&path, shape);
        }
    }

    fn parse_shape(&mut self, path: &str, shape: &Value) -> Option<Vec<ShapePoint>> {
        if !self.scoring {
            self.errors.push(format!(
                "{path}.shape: Invalid value: {shape}: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
            ));
            return None;
        }
        let number = |point: &Value, field: &str| match &point[field] {
            Value::Null => Some(0),
            number => number.as_i64(),
        };
        let points = shape.as_array().into_iter().flatten().map(|point| {
            Some(ShapePoint {
                utilization: number(point, "utilization")?,
                score: number(point, "score")?,
            })
        });
        let Some(points) = points.collect::<Option<Vec<_>>>() else {
            self.report_not_a_number(&format!("{path}.shape"));
            return None;
        };
        if let Err(error) = Shape::new(&points) {
            self.errors.push(format!("{path}.{error}"));
        }
        Some(points)
    }

    fn parse_seconds(&mut self, fields: &Map<String, Value>, field: &str, default: Duration) -> i64 {
        let default = i64::try_from(default.as_secs()).unwrap_or(i64::MAX);
        let Some(value) = fields.get(field).filter(|value| !value.is_null()) else {
            return default;
        };
        value.as_i64().unwrap_or_else(|| {
            self.report_not_a_number(field);
            default
        })
    }

    fn report_not_a_number(&mut self, path: &str) {
        self.errors
            .push(format!("{path}: Invalid value: must be a whole number"));
    }

    /// Records ignored fields as unused, and adds an error for each field that kube-scheduler lacks.
    fn check_fields(&mut self, path: &str, fields: &Map<String, Value>, used: &[&str], unused: &[&str]) {
        for field in unknown_fields(fields, used, unused) {
            self.errors
                .push(format!("strict decoding error: unknown field \"{path}{field}\""));
        }
        let found = unused.iter().filter(|field| fields.contains_key(**field));
        self.unused.extend(found.map(|field| format!("{path}{field}")));
    }
}

fn unknown_fields<'a>(fields: &'a Map<String, Value>, used: &[&str], unused: &[&str]) -> Vec<&'a str> {
    let names = fields.keys().map(String::as_str);
    names
        .filter(|name| !used.contains(name) && !unused.contains(name))
        .collect()
}

/// Converts seconds to a duration. Negative values count as zero, because the validation rejects them.
fn seconds_to_duration(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

#[cfg(test)]
mod tests;
