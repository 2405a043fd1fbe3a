//! A manifest in the making: what was understood of a program's flags, and the text that this becomes.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};
use suites::harness::scenario::Role;

use super::flags::{self, Flag, Given};

/// A manifest in the making.
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) role: Role,
    argv: Vec<String>,
    /// Setting, and what its values add to argv.
    settings: Map<String, Value>,
    /// Features that are claimed.
    pub(super) features: Vec<&'static str>,
    /// Features that may be claimed if a case shows them.
    pub(super) candidates: Vec<&'static str>,
    /// Arguments, and what they are understood as.
    pub(super) understood: Vec<(String, &'static str)>,
    /// What a case decides and no flag of the program says, as far as one of the usual names would.
    pub(super) missing: Vec<(&'static str, &'static str)>,
    /// What a driver says of itself.
    pub(super) names: Option<Names>,
}

/// What cases have to call a driver, and the segment that it says of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Names {
    pub(super) name: String,
    pub(super) topology_keys: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) topology: BTreeMap<String, String>,
}

/// How the harness is to be told what a program can't be, by what it stands for.
const NEEDED: [&str; 3] = ["{kubeconfig}", "{csi_socket}", "{refresh}"];

impl Draft {
    /// What follows from a program's own words. `argv`: the program, and arguments that it always gets.
    pub(super) fn of(name: String, role: Role, argv: Vec<String>, has: &BTreeSet<String>) -> Self {
        let (features, candidates) = flags::features(role);
        let mut draft = Draft {
            name,
            role,
            argv,
            settings: Map::new(),
            features: features.to_vec(),
            candidates: candidates.to_vec(),
            understood: Vec::new(),
            missing: Vec::new(),
            names: None,
        };
        for flag in flags::of(role) {
            draft.add(flag, has);
        }
        // A flag of another form may say the same.
        let argv = &draft.argv;
        draft
            .missing
            .retain(|(value, _)| !argv.iter().any(|argument| argument.contains(value)));
        for (setting, adds) in flags::needed(role) {
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

    /// Gives a flag that is always given, under each of its names that the program knows.
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
            self.understood.push((argument.clone(), flag.meaning));
            self.argv.push(argument);
        }
    }

    /// Whether the user has written that flag already.
    fn is_given(&self, name: &str) -> bool {
        self.argv.iter().any(|argument| {
            let word = argument.trim_start_matches('-');
            argument.starts_with('-') && word.split('=').next() == Some(name)
        })
    }

    /// The manifest, with these features.
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
        serde_saphyr::to_string(&Written {
            name: &self.name,
            features,
            roles: [(self.role.as_str(), program)].into(),
        })
    }
}

/// What publishers in pods are told by variables, whether they have flags for it or not.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("NAMESPACE", "{namespace}"),
    ("POD_NAME", "{pod}"),
    ("NODE_NAME", "{node}"),
];

/// A manifest, in the order in which people write one.
#[derive(Serialize)]
struct Written<'d> {
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
