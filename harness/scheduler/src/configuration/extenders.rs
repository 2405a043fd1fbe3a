//! The extenders of the configuration file: HTTP services that filter and score nodes in addition to the scheduler's plugins.
//!
//! Owns the settings and their validation, with kube-scheduler's field names. Makes no calls.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::{ConfigurationError, Parser, unknown_fields};
use crate::extender::Extender;

/// Default timeout of an extender call (kube-scheduler, `DefaultExtenderTimeout`).
const TIMEOUT: Duration = Duration::from_secs(5);

/// The extender fields that this scheduler supports.
const USED: [&str; 10] = [
    "urlPrefix",
    "filterVerb",
    "prioritizeVerb",
    "weight",
    "bindVerb",
    "enableHTTPS",
    "httpTimeout",
    "nodeCacheCapable",
    "managedResources",
    "ignorable",
];

impl Extender {
    /// Parses a JSON or YAML list of extenders, as in the configuration file. The error lists every invalid field.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, ConfigurationError> {
        let list: Value = serde_saphyr::from_str(text)
            .map_err(|error| ConfigurationError(vec![format!("couldn't parse the extenders: {error}")]))?;
        let mut parser = Parser {
            scoring: false,
            errors: Vec::new(),
            unused: Vec::new(),
        };
        let extenders = parser.extenders(&list);
        if parser.errors.is_empty() {
            Ok(extenders)
        } else {
            Err(ConfigurationError(parser.errors))
        }
    }
}

impl Parser {
    pub(super) fn extenders(&mut self, source: &Value) -> Vec<Extender> {
        let list = match source {
            Value::Null => return Vec::new(),
            Value::Array(list) => list,
            _ => {
                self.errors
                    .push("extenders: Invalid value: must be a list".to_owned());
                return Vec::new();
            }
        };
        let read: Vec<_> = list
            .iter()
            .enumerate()
            .map(|(index, extender)| self.extender(&format!("extenders[{index}]"), extender))
            .collect();
        let binders = read.iter().filter(|extender| extender.bind_verb.is_some());
        let binders = binders.count();
        if binders > 1 {
            self.errors.push(format!(
                "extenders: Invalid value: found {binders} extenders implementing bind: only one extender can implement bind"
            ));
        }
        read
    }

    fn extender(&mut self, path: &str, source: &Value) -> Extender {
        if let Some(fields) = source.as_object() {
            for field in unknown_fields(fields, &USED, &["preemptVerb", "tlsConfig"]) {
                self.errors
                    .push(format!("strict decoding error: unknown field \"{path}.{field}\""));
            }
            if fields.contains_key("preemptVerb") {
                self.unused.push(format!("{path}.preemptVerb"));
            }
        }
        let text = |field: &str| source[field].as_str().unwrap_or_default().to_owned();
        let verb = |field: &str| Some(text(field)).filter(|verb| !verb.is_empty());
        let is_set = |field: &str| source[field].as_bool().unwrap_or(false);
        let extender = Extender {
            url_prefix: text("urlPrefix").trim_end_matches('/').to_owned(),
            filter_verb: verb("filterVerb"),
            prioritize_verb: verb("prioritizeVerb"),
            bind_verb: verb("bindVerb"),
            weight: source["weight"].as_i64().unwrap_or(0),
            timeout: self.http_timeout(path, &source["httpTimeout"]),
            node_cache_capable: is_set("nodeCacheCapable"),
            managed_resources: self.managed_resources(path, &source["managedResources"]),
            ignored_resources: resources_ignored_by_scheduler(&source["managedResources"]),
            ignorable: is_set("ignorable"),
        };
        if is_set("enableHTTPS") || !source["tlsConfig"].is_null() {
            self.errors.push(format!(
                "{path}: extenders are called over plain HTTP only; leave enableHTTPS and tlsConfig out"
            ));
        } else if !extender.url_prefix.starts_with("http://") {
            let url = &extender.url_prefix;
            self.errors.push(format!(
                "{path}.urlPrefix: Invalid value: \"{url}\": must begin with http://"
            ));
        }
        if extender.prioritize_verb.is_some() && extender.weight <= 0 {
            let weight = extender.weight;
            self.errors.push(format!(
                "{path}.weight: Invalid value: {weight}: must have a positive weight applied to it"
            ));
        }
        extender
    }

    fn http_timeout(&mut self, path: &str, source: &Value) -> Duration {
        let Some(text) = source.as_str() else {
            return TIMEOUT;
        };
        match text.parse::<kube::core::Duration>().map(Duration::try_from) {
            Ok(Ok(Duration::ZERO)) => TIMEOUT,
            Ok(Ok(timeout)) => timeout,
            _ => {
                self.errors.push(format!(
                    "{path}.httpTimeout: Invalid value: \"{text}\": must be a duration such as 5s"
                ));
                TIMEOUT
            }
        }
    }

    fn managed_resources(&mut self, path: &str, source: &Value) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (index, resource) in source.as_array().into_iter().flatten().enumerate() {
            let path = format!("{path}.managedResources[{index}].name");
            let name = resource["name"].as_str().unwrap_or_default();
            let is_extended = name
                .split_once('/')
                .is_some_and(|(domain, _)| domain.contains('.') && !domain.ends_with("kubernetes.io"));
            if !is_extended {
                self.errors.push(format!(
                    "{path}: Invalid value: \"{name}\": is an invalid extended resource name"
                ));
            } else if !names.insert(name.to_owned()) {
                self.errors.push(format!("{path}: Duplicate value: \"{name}\""));
            }
        }
        names
    }
}

fn resources_ignored_by_scheduler(source: &Value) -> BTreeSet<String> {
    let resources = source.as_array().into_iter().flatten();
    let ignored = resources.filter(|resource| resource["ignoredByScheduler"] == true);
    ignored
        .filter_map(|resource| resource["name"].as_str().map(str::to_owned))
        .collect()
}
