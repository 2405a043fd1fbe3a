//! A manifest in the making: what was understood of a program's flags, and the text that this becomes.

use std::collections::BTreeSet;

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
}

/// How the harness is to be told what a program can't be, by what it stands for.
const NEEDED: [&str; 3] = ["{kubeconfig}", "{csi_socket}", "{refresh}"];

impl Draft {
    /// What follows from a program's own words. `argv`: the program, and arguments that it always gets.
    pub(super) fn of(
        name: String,
        role: Role,
        table: &'static [Flag],
        argv: Vec<String>,
        has: &BTreeSet<String>,
    ) -> Self {
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
        };
        for flag in table {
            draft.add(flag, has);
        }
        for (setting, adds) in flags::needed(role) {
            draft
                .settings
                .insert((*setting).to_owned(), json!({"any": [adds]}));
        }
        draft
    }

    fn add(&mut self, flag: &'static Flag, has: &BTreeSet<String>) {
        let mut known = flag.names.iter().filter(|name| has.contains(**name)).peekable();
        match flag.given {
            Given::Always(value) => {
                let is_given = flag.names.iter().any(|name| self.is_given(name));
                if is_given {
                    return;
                }
                if known.peek().is_none() && NEEDED.contains(&value) {
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
            Given::Setting {
                setting,
                feature,
                adds,
            } => {
                let Some(name) = known.next() else { return };
                let written = |(value, text): &(&str, &str)| {
                    let argument = text.replace("{flag}", &format!("--{name}"));
                    let arguments: Vec<String> = Some(argument)
                        .into_iter()
                        .filter(|text| !text.is_empty())
                        .collect();
                    (value.trim_matches('"').to_owned(), json!(arguments))
                };
                let by_value: Map<String, Value> = adds.iter().map(written).collect();
                self.settings.insert(setting.to_owned(), Value::Object(by_value));
                self.candidates.push(feature);
            }
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
        let mut role = json!({"argv": self.argv});
        if self.role == Role::Publisher {
            role["env"] = json!({"NAMESPACE": "{namespace}", "POD_NAME": "{pod}", "NODE_NAME": "{node}"});
        }
        if !self.settings.is_empty() {
            role["settings"] = Value::Object(self.settings.clone());
        }
        let roles = Map::from_iter([(self.role.as_str().to_owned(), role)]);
        let manifest = json!({"name": self.name, "features": features, "roles": roles});
        serde_saphyr::to_string(&manifest)
    }
}
