//! Old spellings of words that users write: keys and ids of cases, settings and features of manifests, ids of specification rules, and
//! names of injected defects.
//!
//! Old spellings are accepted until release 1.0, so that files and stored journals remain valid, but never written. The keys of a case are
//! also `alias` attributes of serde at the fields; a test compares the attributes with this table.

use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error as ValueError;

use crate::text::replace_words;

/// Each entry: context in which the renamed word occurs, old spelling, new spelling.
pub static RENAMED: LazyLock<Vec<(Context, &str, &str)>> =
    LazyLock::new(|| TABLE.lines().filter_map(entry).collect());

const TABLE: &str = include_str!("renamed.txt");

/// Context in which a renamed word occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Context {
    /// YAML key of an action in `do`.
    Action,
    /// YAML key of an expectation in `expect`.
    Expectation,
    /// YAML key below `cluster.driver`.
    Driver,
    /// YAML key of a pool below `backend`.
    Pool,
    /// YAML key of `publisher` in a case, or setting of the publisher in a manifest.
    Publisher,
    /// Name of a feature, in a manifest or a case.
    Feature,
    /// Id of a specification rule, in `excusedRules` of a case or in `fails` of a known failure.
    Rule,
    /// YAML key of `scheduler` in a case, or setting of the scheduler in a manifest.
    Scheduler,
    /// Id of a case, of a table row, or of all cases of an area, on the command line or in `case` of a known failure. Rows are listed
    /// before their case.
    Case,
    /// Name of an injected defect, on the command line.
    Defect,
}

/// Parses a line of the table of renamed words; `None` for a comment.
fn entry(line: &'static str) -> Option<(Context, &'static str, &'static str)> {
    let mut words = line.split(' ');
    let context: Result<Context, ValueError> = Context::deserialize(words.next()?.into_deserializer());
    Some((context.ok()?, words.next()?, words.next()?))
}

/// The new spelling of a word in one of the contexts; the word itself if no entry of the table renames the word.
pub fn current_spelling<'a>(contexts: &[Context], word: &'a str) -> &'a str {
    let mut renamed = RENAMED.iter();
    let found = renamed.find(|(context, old, _)| contexts.contains(context) && *old == word);
    found.map_or(word, |(_, _, new)| *new)
}

/// The current id of a case; the id itself if the case was not renamed. The id may begin with the prefix `sweep/`.
pub fn current_case_id(id: &str) -> String {
    let mut renamed = RENAMED.iter().filter(|(context, ..)| *context == Context::Case);
    let current = renamed.find_map(|(_, old, new)| {
        let (before, rest) = id.split_once(*old)?;
        let is_whole = matches!(before, "" | "sweep/") && (rest.is_empty() || rest.starts_with('/'));
        is_whole.then(|| format!("{before}{new}{rest}"))
    });
    current.unwrap_or_else(|| id.to_owned())
}

pub(crate) fn current_setting(name: &str) -> &str {
    current_spelling(&[Context::Publisher, Context::Scheduler], name)
}

/// Replaces old ids of specification rules in a pattern of a failure message.
pub(crate) fn with_current_rules(pattern: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-/".contains(c);
    replace_words(pattern, is_part, |word| current_spelling(&[Context::Rule], word))
}

/// The old spelling of a renamed word. None if the table does not contain the word.
pub(crate) fn old_of(word: &str) -> Option<&'static str> {
    let mut renamed = RENAMED.iter();
    renamed.find(|(_, _, new)| *new == word).map(|(_, old, _)| *old)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::manifest::{FailurePattern, Manifest};
    use crate::plan::resolve;
    use crate::scenario::parse;

    /// A case that contains these entries, in YAML flow notation, at the location of the context.
    fn case(context: Context, entries: &str) -> String {
        let cluster = match context {
            Context::Driver => format!("driver: {{{entries}}}"),
            Context::Pool => format!("backend: {{n1: {{capacity: 10Gi, {entries}}}}}"),
            Context::Publisher => format!("publisher: {{{entries}}}"),
            Context::Scheduler => format!("scheduler: {{{entries}}}"),
            _ => "publisher: {}".to_owned(),
        };
        let action = match context {
            Context::Action => format!("{{{entries}}}"),
            _ => "{stop: publisher}".to_owned(),
        };
        let expectation = match context {
            Context::Expectation => format!("{{{entries}, why: w}}"),
            _ => "{never: {write: delete nodes}, why: w}".to_owned(),
        };
        format!(
            "id: a/b\ntitle: t\ncluster: {{nodes: [n1], {cluster}}}\nsteps:\n- id: s\n  do: [{action}]\n  expect: [{expectation}]\n"
        )
    }

    fn renamed_keys() -> impl Iterator<Item = &'static (Context, &'static str, &'static str)> {
        use Context::{Case, Defect, Feature, Rule};
        RENAMED
            .iter()
            .filter(|(context, ..)| !matches!(context, Feature | Rule | Case | Defect))
    }

    fn value(new: &str) -> &'static str {
        match new {
            "callDriver" => "{call: GetPluginInfo, as: info}",
            "driverFault" => "{method: GetCapacity, code: INTERNAL}",
            "removeDriverFault" | "removeFault" => "slow",
            "responses" => "{info: {code: OK}}",
            "maximum" => "4Gi",
            "getCapacityQps" => "5",
            _ => "true",
        }
    }

    #[test]
    fn every_line_of_the_table_is_an_entry_or_a_comment() {
        for line in TABLE.lines() {
            let is_entry = entry(line).is_some() && line.split(' ').count() == 3;
            assert!(is_entry || line.starts_with('#'), "{line}");
        }
    }

    #[test]
    fn both_spellings_of_a_key_mean_the_same() {
        for (context, old, new) in renamed_keys() {
            let value = value(new);
            let texts = [old, new].map(|key| {
                let cases =
                    parse("f.yaml", &case(*context, &format!("{key}: {value}"))).expect("a valid case");
                let file = &cases[0].file;
                let text = format!("{:?} {:?}", file.cluster, file.steps[0].value);
                // Line and column differ, because the spellings have different lengths.
                text.replace(|c: char| c.is_ascii_digit(), "")
            });
            assert_eq!(texts[0], texts[1], "{old}");
        }
    }

    #[test]
    fn a_key_in_both_spellings_is_an_error_at_its_position() {
        for (context, old, new) in renamed_keys() {
            let value = value(new);
            let text = case(*context, &format!("{old}: {value}, {new}: {value}"));
            let error = parse("f.yaml", &text).expect_err("both spellings");
            let line = match context {
                Context::Action => 6,
                Context::Expectation => 7,
                _ => 3,
            };
            assert_eq!(error.position.map(|(line, _)| line), Some(line), "{error}");
            assert!(error.message.contains(new), "{error}");
        }
    }

    #[test]
    fn errors_do_not_list_old_spellings() {
        let text = case(Context::Publisher, "getCapacityQbs: 5");
        let error = parse("f.yaml", &text).expect_err("an unknown key").message;
        assert!(
            error.contains("did you mean `getCapacityQps`") && error.contains("immediate"),
            "{error}"
        );
        assert!(
            ["asksPerSecond", "withdraw", "zero,"]
                .iter()
                .all(|old| !error.contains(old)),
            "{error}"
        );
    }

    #[test]
    fn an_old_key_of_the_cluster_has_its_position_in_an_error() {
        let text = case(Context::Pool, "largest: 20Gi");
        let cases = parse("f.yaml", &text).expect("a valid case");
        let error = resolve(&cases[0]).expect_err("a maximum above the capacity");
        assert_eq!(error.position.map(|(line, _)| line), Some(3), "{error}");
    }

    #[test]
    fn old_features_and_rules_are_read_as_the_current_ones() {
        let manifest = "name: x\nfeatures: [publisher.sources]\nroles: {publisher: {argv: [\"true\"]}}\n";
        let manifest = Manifest::parse(Path::new("m.yaml"), manifest).expect("a valid manifest");
        assert_eq!(manifest.features, ["publisher.volume-sources"]);
        let head = "id: a/b\ntitle: t\nfeatures: [publisher.keeps]\nexcusedRules: [objects/doubled]\n";
        let text = case(Context::Pool, "maximum: 4Gi").replace("id: a/b\ntitle: t\n", head);
        let plan = parse("f.yaml", &text)
            .and_then(|cases| resolve(&cases[0]))
            .expect("a valid case");
        assert!(plan.features().contains("publisher.retain-unknown-capacity"));
        assert!(plan.excused_rules.contains("objects/duplicate"));
        let pattern = FailurePattern::parse("no object (objects/doubled: *").expect("a valid pattern");
        assert_eq!(pattern.to_string(), "no object (objects/duplicate: *");
    }

    #[test]
    fn old_case_ids_are_read_as_the_current_ones() {
        for (id, current) in [
            ("publisher/value/kept", "publisher/value/retained"),
            ("publisher/value/kept/", "publisher/value/retained/"),
            (
                "scheduler/wake/node/untracked",
                "scheduler/requeue/node/untracked",
            ),
            (
                "story/bare-metal/too-large/told",
                "story/bare-metal/too-large/maximum-reported",
            ),
            (
                "scheduler/extender/concern/wants",
                "scheduler/extender/managed-resource/requested",
            ),
            (
                "sweep/fail/driver/kept/central",
                "sweep/fail/driver/objects-unchanged/central",
            ),
            ("fail/scheduler/latest", "fail/scheduler/latest"),
            ("my/fail/scheduler/late", "my/fail/scheduler/late"),
        ] {
            assert_eq!(current_case_id(id), current);
        }
        let known =
            "{case: publisher/value/kept, fails: no update of objects, why: w, issue: i, until: 2027-01-31}";
        let manifest = format!(
            "name: x\nfeatures: []\nroles: {{publisher: {{argv: [\"true\"]}}}}\nknownFailures: [{known}]\n"
        );
        let manifest = Manifest::parse(Path::new("m.yaml"), &manifest).expect("a valid manifest");
        assert_eq!(
            manifest.known_cases().collect::<Vec<_>>(),
            ["publisher/value/retained"]
        );
    }

    #[test]
    fn the_aliases_of_the_case_format_match_the_table() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let files = [
            "plan/actions/mod.rs",
            "expectation/mod.rs",
            "scenario/cluster.rs",
            "scenario/backend.rs",
            "scenario/systems.rs",
        ];
        let texts = files.map(|file| std::fs::read_to_string(folder.join(file)).unwrap());
        let aliases = texts.iter().flat_map(|text| text.split("alias = \"").skip(1));
        let aliases: BTreeSet<&str> = aliases.filter_map(|rest| rest.split('"').next()).collect();
        let keys: BTreeSet<&str> = renamed_keys().map(|(_, old, _)| *old).collect();
        assert_eq!(aliases, keys);
    }
}
