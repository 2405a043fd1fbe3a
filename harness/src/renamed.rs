//! Old spellings of the words that users write: keys of cases, settings and features of manifests, and ids of specification rules.
//!
//! They are read until release 1.0, so that files and stored journals keep working, and never written. The keys of a case are also `alias`
//! attributes of serde next to the fields; a test compares them with this table.

use crate::text::replace_words;

/// Where a renamed word occurs, its old spelling, and its new spelling.
pub const RENAMED: &[(Context, &str, &str)] = &[
    (Context::Action, "ask", "callDriver"),
    (Context::Action, "csi", "driverFault"),
    (Context::Action, "uncsi", "removeDriverFault"),
    (Context::Action, "unfault", "removeFault"),
    (Context::Expectation, "answers", "responses"),
    (Context::Driver, "tellsReserved", "reportsReserved"),
    (Context::Pool, "largest", "maximum"),
    (Context::Publisher, "asksPerSecond", "getCapacityQps"),
    (Context::Publisher, "byOwner", "identifyByOwner"),
    (Context::Publisher, "metadata", "extraCreateMetadata"),
    (Context::Publisher, "withdraw", "deleteUnknownCapacity"),
    (Context::Publisher, "zero", "zeroCapacityObjects"),
    (Context::Scheduler, "capacity", "capacityGate"),
    (Context::Scheduler, "kepText", "kep4049Sum"),
    (Context::Scheduler, "priority", "volumeCapacityPriority"),
    (
        Context::Feature,
        "publisher.asking-limit",
        "publisher.get-capacity-qps",
    ),
    (
        Context::Feature,
        "publisher.by-owner",
        "publisher.identify-by-owner",
    ),
    (
        Context::Feature,
        "publisher.keeps",
        "publisher.retain-unknown-capacity",
    ),
    (
        Context::Feature,
        "publisher.withdraw",
        "publisher.delete-unknown-capacity",
    ),
    (Context::Feature, "publisher.off", "publisher.provision-only"),
    (
        Context::Feature,
        "publisher.patient-start",
        "publisher.wait-for-api-server",
    ),
    (
        Context::Feature,
        "publisher.unserved",
        "publisher.wait-for-capacity-api",
    ),
    (
        Context::Feature,
        "publisher.zero",
        "publisher.zero-capacity-objects",
    ),
    (Context::Feature, "publisher.sources", "publisher.volume-sources"),
    (
        Context::Feature,
        "publisher.election",
        "publisher.leader-election",
    ),
    (
        Context::Feature,
        "publisher.metadata",
        "publisher.extra-create-metadata",
    ),
    (Context::Feature, "scheduler.gate", "scheduler.capacity-gate"),
    (
        Context::Feature,
        "scheduler.priority",
        "scheduler.volume-capacity-priority",
    ),
    (Context::Feature, "scheduler.kep-text", "scheduler.kep-4049-sum"),
    (Context::Rule, "objects/wrong-figures", "objects/wrong-capacity"),
    (
        Context::Rule,
        "objects/offer-without-capacity",
        "objects/nonzero-capacity",
    ),
    (
        Context::Rule,
        "objects/untold-figures",
        "objects/unknown-capacity",
    ),
    (Context::Rule, "objects/doubled", "objects/duplicate"),
    (Context::Rule, "objects/touched", "objects/foreign-object-changed"),
    (Context::Rule, "objects/strange-labels", "objects/wrong-labels"),
    (
        Context::Rule,
        "objects/switched-off",
        "objects/published-while-disabled",
    ),
    (
        Context::Rule,
        "volumes/node-kept",
        "volumes/selected-node-retained",
    ),
    (Context::Rule, "volumes/left", "volumes/not-deleted"),
    (
        Context::Rule,
        "volumes/unrefreshed",
        "volumes/capacity-not-refreshed",
    ),
    (
        Context::Rule,
        "placement/needlessly-refused",
        "placement/wrongly-refused",
    ),
    (
        Context::Rule,
        "always/excessive-figure",
        "always/capacity-too-high",
    ),
    (
        Context::Rule,
        "always/negative-figure",
        "always/negative-capacity",
    ),
    (Context::Rule, "always/idle-write", "always/no-op-update"),
    (
        Context::Rule,
        "always/needless-delete",
        "always/unnecessary-delete",
    ),
    (Context::Rule, "always/mislabelled", "always/wrong-labels"),
    (
        Context::Rule,
        "always/writes-while-off",
        "always/write-while-disabled",
    ),
    (
        Context::Rule,
        "always/strange-question",
        "always/unexpected-get-capacity",
    ),
    (
        Context::Rule,
        "always/unfiltered",
        "always/watch-without-selector",
    ),
    (
        Context::Rule,
        "always/needlessly-filtered",
        "always/wrongly-filtered",
    ),
    (
        Context::Rule,
        "always/too-early",
        "always/provisioned-before-node-selected",
    ),
    (
        Context::Rule,
        "always/asked-elsewhere",
        "always/retried-with-other-topology",
    ),
    (Context::Rule, "always/hurried-watch", "always/watch-retry-rate"),
    (
        Context::Rule,
        "always/hurried-question",
        "always/get-capacity-rate",
    ),
    (
        Context::Rule,
        "always/needless-question",
        "always/unnecessary-get-capacity",
    ),
    (Context::Rule, "always/needless-list", "always/unnecessary-list"),
    (Context::Rule, "settings/goes-on", "settings/invalid-accepted"),
    (Context::Rule, "volumes/untold", "volumes/failure-not-reported"),
    (Context::Rule, "metrics/place", "metrics/labels"),
    (Context::Rule, "driver/miscalled", "driver/wrong-error-code"),
    (Context::Rule, "driver/wrong-answer", "driver/wrong-response"),
    (Context::Rule, "server/illegal-taken", "server/invalid-accepted"),
    (
        Context::Rule,
        "server/needlessly-refused",
        "server/wrongly-refused",
    ),
    (Context::Rule, "server/unasked", "server/unrequested-change"),
];

/// Where a renamed word occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// Key of an action in `do`.
    Action,
    /// Key of an expectation in `expect`.
    Expectation,
    /// Key below `cluster.driver`.
    Driver,
    /// Key of a pool below `backend`.
    Pool,
    /// Key of `publisher` in a case, and setting of the publisher in a manifest.
    Publisher,
    /// Feature of a manifest and of a case.
    Feature,
    /// Rule of the specification, in `excusedRules` of a case and in `fails` of a known failure.
    Rule,
    /// Key of `scheduler` in a case, and setting of the scheduler in a manifest.
    Scheduler,
}

/// The new spelling of a word in one of the contexts; the word itself if it was not renamed there.
pub fn current<'a>(contexts: &[Context], word: &'a str) -> &'a str {
    let mut renamed = RENAMED.iter();
    let found = renamed.find(|(context, old, _)| contexts.contains(context) && *old == word);
    found.map_or(word, |(_, _, new)| *new)
}

/// The new spelling of a manifest setting.
pub(crate) fn setting(name: &str) -> &str {
    current(&[Context::Publisher, Context::Scheduler], name)
}

/// A pattern of a failure message, with the current ids of the specification rules that it contains.
pub(crate) fn with_current_rules(pattern: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-/".contains(c);
    replace_words(pattern, is_part, |word| current(&[Context::Rule], word))
}

/// The old spelling of a word. None if it was not renamed.
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

    /// A case with a word and its value in the context, in flow notation on the line of the context.
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

    /// The renamed keys of a case.
    fn keys() -> impl Iterator<Item = &'static (Context, &'static str, &'static str)> {
        RENAMED
            .iter()
            .filter(|(context, ..)| !matches!(context, Context::Feature | Context::Rule))
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
    fn both_spellings_of_a_key_mean_the_same() {
        for (context, old, new) in keys() {
            let value = value(new);
            let texts = [old, new].map(|key| {
                let cases =
                    parse("f.yaml", &case(*context, &format!("{key}: {value}"))).expect("a valid case");
                let file = &cases[0].file;
                let text = format!("{:?} {:?}", file.cluster, file.steps[0].value);
                // Positions differ, as the spellings have different lengths.
                text.replace(|c: char| c.is_ascii_digit(), "")
            });
            assert_eq!(texts[0], texts[1], "{old}");
        }
    }

    #[test]
    fn a_key_in_both_spellings_is_an_error_at_its_position() {
        for (context, old, new) in keys() {
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
        let keys: BTreeSet<&str> = keys().map(|(_, old, _)| *old).collect();
        assert_eq!(aliases, keys);
    }
}
