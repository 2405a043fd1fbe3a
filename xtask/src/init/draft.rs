//! A draft manifest: the flags recognised in a program's help, and the resulting YAML text.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};
use suites::harness::scenario::Role;

use super::flags::{self, Flag, Given};

pub(super) struct Draft {
    pub(super) name: String,
    pub(super) role: Role,
    argv: Vec<String>,
    /// Settings of cases: name, value, and the arguments that the program gets for this value.
    settings: Map<String, Value>,
    /// Features that the manifest claims without a trial.
    pub(super) features: Vec<&'static str>,
    /// Features that are claimed if a trial case passes.
    pub(super) candidates: Vec<&'static str>,
    /// Recognised arguments of the program, each with its meaning.
    pub(super) recognised: Vec<(String, &'static str)>,
    /// Settings that cases need but for which the program has no known flag, with the usual flag names.
    pub(super) missing: Vec<(&'static str, &'static str)>,
    /// Driver name and topology segment that a driver reported; `None` for programs of other roles.
    pub(super) names: Option<Names>,
}

/// Name of the driver, and the topology segment that the driver reports for a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Names {
    pub(super) name: String,
    pub(super) topology_keys: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) topology: BTreeMap<String, String>,
}

/// Placeholders that must occur in the arguments: otherwise the harness cannot configure the program.
const NEEDED: [&str; 3] = ["{kubeconfig}", "{csi_socket}", "{refresh}"];

impl Draft {
    /// Derives a draft from the flags in a program's help. `argv`: the program and its fixed arguments.
    pub(super) fn of(name: String, role: Role, argv: Vec<String>, has: &BTreeSet<String>) -> Self {
        let (features, candidates) = flags::features(role);
        let mut draft = Draft {
            name,
            role,
            argv,
            settings: Map::new(),
            features: features.to_vec(),
            candidates: candidates.to_vec(),
            recognised: Vec::new(),
            missing: Vec::new(),
            names: None,
        };
        for flag in flags::of(role) {
            draft.add(flag, has);
        }
        // The user may have passed the placeholder to a flag that `init` does not know.
        let argv = &draft.argv;
        draft
            .missing
            .retain(|(value, _)| !argv.iter().any(|argument| argument.contains(value)));
        for (setting, adds) in flags::required_settings(role) {
            draft
                .settings
                .insert((*setting).to_owned(), json!({"any": [adds]}));
        }
        draft
    }

    fn add(&mut self, flag: &'static Flag, has: &BTreeSet<String>) {
        let known: Vec<&str> = flag
            .names
            .iter()
            .copied()
            .filter(|name| has.contains(*name))
            .collect();
        match flag.given {
            Given::Always(value) => self.add_argument(flag, value, &known),
            Given::Setting {
                setting,
                feature,
                adds,
            } => {
                let Some(name) = known.first() else { return };
                let by_value = adds.iter().map(|(value, text)| {
                    let argument = text.replace("{flag}", &format!("--{name}"));
                    let arguments = Some(argument).filter(|text| !text.is_empty());
                    ((*value).to_owned(), json!(arguments.as_slice()))
                });
                self.settings
                    .insert(setting.to_owned(), Value::Object(by_value.collect()));
                self.candidates.push(feature);
            }
        }
    }

    /// Adds the flag with this value to the program's fixed arguments, under the name that the program accepts.
    fn add_argument(&mut self, flag: &'static Flag, value: &'static str, known: &[&str]) {
        if flag.names.iter().any(|name| self.is_given(name)) {
            return;
        }
        if known.is_empty() && NEEDED.contains(&value) {
            self.missing.push((value, flag.meaning));
        }
        for name in known {
            let argument = match value {
                "" => format!("--{name}"),
                value => format!("--{name}={value}"),
            };
            self.recognised.push((argument.clone(), flag.meaning));
            self.argv.push(argument);
        }
    }

    /// Whether the user already passed this flag.
    fn is_given(&self, name: &str) -> bool {
        self.argv.iter().any(|argument| {
            let word = argument.trim_start_matches('-');
            argument.starts_with('-') && word.split('=').next() == Some(name)
        })
    }

    /// The manifest as YAML, claiming these features.
    pub(super) fn text(&self, features: &[&str]) -> Result<String, serde_saphyr::ser::Error> {
        let env = match self.role {
            Role::Publisher => ENVIRONMENT,
            _ => &[],
        };
        let program = Program {
            argv: &self.argv,
            env: env.iter().copied().collect(),
            settings: &self.settings,
            names: self.names.as_ref(),
        };
        serde_saphyr::to_string(&ManifestYaml {
            name: &self.name,
            features,
            roles: [(self.role.as_str(), program)].into(),
        })
    }
}

/// Environment variables that publishers in pods usually read. The manifest sets them even if the program has flags for the same values.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("NAMESPACE", "{namespace}"),
    ("POD_NAME", "{pod}"),
    ("NODE_NAME", "{node}"),
];

/// The fields of the manifest, in output order.
#[derive(Serialize)]
struct ManifestYaml<'d> {
    name: &'d str,
    features: &'d [&'d str],
    roles: BTreeMap<&'d str, Program<'d>>,
}

#[derive(Serialize)]
struct Program<'d> {
    argv: &'d [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<&'d str, &'d str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    settings: &'d Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<&'d Names>,
}
