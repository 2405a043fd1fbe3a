//! Old spellings of words that users write: keys and ids of cases, settings and features of manifests, ids of specification rules, and
//! names of injected defects.
//!
//! Old spellings are accepted until release 1.0, so that files and stored journals remain valid, but never written. The keys of a case are
//! also `alias` attributes of serde at the fields; a test compares the attributes with this table.

use crate::text::replace_words;

/// Each entry: context in which the renamed word occurs, old spelling, new spelling.
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
    (
        Context::Case,
        "cleaner/orphans/back-in-time",
        "cleaner/orphans/re-registered-in-grace-period",
    ),
    (
        Context::Case,
        "cleaner/orphans/handed-over-unseen",
        "cleaner/orphans/stale-list",
    ),
    (
        Context::Case,
        "cleaner/orphans/joined-unseen",
        "cleaner/orphans/delayed-node-events",
    ),
    (
        Context::Case,
        "driver/capacity/elsewhere",
        "driver/capacity/unknown-segment",
    ),
    (
        Context::Case,
        "driver/capacity/figures",
        "driver/capacity/valid-sizes",
    ),
    (
        Context::Case,
        "driver/volumes/books",
        "driver/volumes/capacity-accounting",
    ),
    (Context::Case, "fail/driver/kept", "fail/driver/objects-unchanged"),
    (
        Context::Case,
        "fail/provisioner/given-back-unheard",
        "fail/provisioner/retry-before-watch-event",
    ),
    (
        Context::Case,
        "fail/provisioner/killed-giving-back",
        "fail/provisioner/killed-removing-selected-node",
    ),
    (
        Context::Case,
        "fail/scheduler/late",
        "fail/scheduler/interrupted-watch",
    ),
    (
        Context::Case,
        "gate/driver/kept",
        "gate/driver/stored-while-disabled",
    ),
    (
        Context::Case,
        "publisher/metrics/unseen",
        "publisher/metrics/missed-events",
    ),
    (
        Context::Case,
        "publisher/objects/handed-over-unseen",
        "publisher/objects/taken-over-before-event",
    ),
    (
        Context::Case,
        "publisher/objects/owner-untold",
        "publisher/objects/owner-after-unknown-capacity",
    ),
    (
        Context::Case,
        "publisher/prior/spelled-otherwise",
        "publisher/prior/equivalent-selector",
    ),
    (
        Context::Case,
        "publisher/refresh/asked-once",
        "publisher/refresh/one-call-per-object",
    ),
    (
        Context::Case,
        "publisher/topology/back-again",
        "publisher/topology/repeated-registration",
    ),
    (
        Context::Case,
        "publisher/topology/over-fine",
        "publisher/topology/redundant-key",
    ),
    (Context::Case, "publisher/value/kept", "publisher/value/retained"),
    (
        Context::Case,
        "publisher/value/unanswered",
        "publisher/value/unknown-in-one-segment",
    ),
    (
        Context::Case,
        "publisher/value/withdraw",
        "publisher/value/deleted-while-unknown",
    ),
    (
        Context::Case,
        "scheduler/extender/concern/wants",
        "scheduler/extender/managed-resource/requested",
    ),
    (
        Context::Case,
        "scheduler/extender/concern/does-not",
        "scheduler/extender/managed-resource/not-requested",
    ),
    (
        Context::Case,
        "scheduler/extender/concern",
        "scheduler/extender/managed-resource",
    ),
    (
        Context::Case,
        "scheduler/extender/order/asked-by-name",
        "scheduler/extender/order/names-only",
    ),
    (
        Context::Case,
        "scheduler/extender/order/by-name-refuses",
        "scheduler/extender/order/names-only-refuses",
    ),
    (
        Context::Case,
        "scheduler/filter/over-fine",
        "scheduler/filter/redundant-key",
    ),
    (
        Context::Case,
        "scheduler/release/messages/before-preemption-was-told",
        "scheduler/release/messages/without-preemption",
    ),
    (
        Context::Case,
        "scheduler/score/figures",
        "scheduler/score/capacity-not-maximum",
    ),
    (
        Context::Case,
        "scheduler/score/others",
        "scheduler/score/without-delayed-binding",
    ),
    (Context::Case, "scheduler/wake", "scheduler/requeue"),
    (
        Context::Case,
        "story/bare-metal/reserved-untold/told",
        "story/bare-metal/reserved-in-capacity/included",
    ),
    (
        Context::Case,
        "story/bare-metal/reserved-untold/untold",
        "story/bare-metal/reserved-in-capacity/excluded",
    ),
    (
        Context::Case,
        "story/bare-metal/reserved-untold",
        "story/bare-metal/reserved-in-capacity",
    ),
    (
        Context::Case,
        "story/bare-metal/too-large/told",
        "story/bare-metal/too-large/maximum-reported",
    ),
    (
        Context::Case,
        "story/bare-metal/too-large/not-told",
        "story/bare-metal/too-large/no-maximum",
    ),
    (
        Context::Case,
        "story/volumes/as-asked",
        "story/volumes/volume-properties",
    ),
    (
        Context::Case,
        "story/volumes/hops",
        "story/volumes/capacity-propagation",
    ),
    (
        Context::Case,
        "story/volumes/readings",
        "story/volumes/two-volumes-of-full-size",
    ),
    (
        Context::Case,
        "story/volumes/untold",
        "story/volumes/get-capacity-fails",
    ),
    (
        Context::Case,
        "gate/api/immutable-objects/no-figures",
        "gate/api/immutable-objects/no-capacity-nor-maximum",
    ),
    (
        Context::Defect,
        "cleaner-takes-others",
        "cleaner-deletes-central-objects",
    ),
    (
        Context::Defect,
        "driver-chokes-on-parameters",
        "driver-fails-on-unknown-parameters",
    ),
    (
        Context::Defect,
        "driver-is-asked-by-others",
        "driver-is-called-by-another-client",
    ),
    (
        Context::Defect,
        "driver-miscalls-exhaustion",
        "driver-returns-wrong-error-code",
    ),
    (
        Context::Defect,
        "driver-tells-a-constant",
        "driver-returns-constant-capacity",
    ),
    (
        Context::Defect,
        "driver-tells-nonsense",
        "driver-returns-negative-capacity",
    ),
    (Context::Defect, "driver-wavers", "driver-lowers-second-response"),
    (
        Context::Defect,
        "publisher-asks-in-turn",
        "publisher-calls-sequentially",
    ),
    (
        Context::Defect,
        "publisher-asks-outdated",
        "publisher-calls-for-deleted-class",
    ),
    (
        Context::Defect,
        "publisher-asks-repeatedly",
        "publisher-repeats-get-capacity",
    ),
    (
        Context::Defect,
        "publisher-asks-unasked",
        "publisher-ignores-capabilities",
    ),
    (
        Context::Defect,
        "publisher-ignores-asking-limit",
        "publisher-ignores-rate-limit",
    ),
    (
        Context::Defect,
        "publisher-keeps-untold",
        "publisher-retains-unknown-capacity",
    ),
    (
        Context::Defect,
        "publisher-polls-unasked",
        "publisher-polls-too-often",
    ),
    (
        Context::Defect,
        "publisher-publishes-unasked",
        "publisher-publishes-while-disabled",
    ),
    (
        Context::Defect,
        "publisher-strays",
        "publisher-uses-default-namespace",
    ),
    (
        Context::Defect,
        "publisher-takes-error-for-zero",
        "publisher-publishes-error-as-zero",
    ),
    (
        Context::Defect,
        "publisher-takes-every-class",
        "publisher-ignores-provisioner",
    ),
    (
        Context::Defect,
        "publisher-takes-negative-for-zero",
        "publisher-publishes-negative-as-zero",
    ),
    (
        Context::Defect,
        "publisher-takes-others",
        "publisher-manages-foreign-objects",
    ),
    (
        Context::Defect,
        "publisher-tells-no-current",
        "publisher-lacks-current-metric",
    ),
    (
        Context::Defect,
        "publisher-tells-no-driver",
        "publisher-metrics-lack-driver",
    ),
    (
        Context::Defect,
        "publisher-tells-no-failures",
        "publisher-writes-no-events",
    ),
    (
        Context::Defect,
        "publisher-tells-no-goal",
        "publisher-lacks-goal-metric",
    ),
    (
        Context::Defect,
        "publisher-tells-no-node",
        "publisher-metrics-lack-node",
    ),
    (
        Context::Defect,
        "publisher-tells-no-obsolete",
        "publisher-lacks-obsolete-metric",
    ),
    (
        Context::Defect,
        "publisher-tells-no-queue",
        "publisher-lacks-queue-metric",
    ),
    (
        Context::Defect,
        "scheduler-asks-about-refused",
        "scheduler-passes-filtered-nodes",
    ),
    (
        Context::Defect,
        "scheduler-asks-no-extender",
        "scheduler-calls-no-extender",
    ),
    (
        Context::Defect,
        "scheduler-asks-unconcerned",
        "scheduler-ignores-managed-resources",
    ),
    (
        Context::Defect,
        "scheduler-asks-when-scoring",
        "scheduler-lists-when-scoring",
    ),
    (
        Context::Defect,
        "scheduler-keeps-first-figures",
        "scheduler-ignores-capacity-updates",
    ),
    (
        Context::Defect,
        "scheduler-keeps-gone",
        "scheduler-uses-deleted-objects",
    ),
    (
        Context::Defect,
        "scheduler-never-wakes",
        "scheduler-ignores-capacity-increases",
    ),
    (
        Context::Defect,
        "scheduler-scores-unasked",
        "scheduler-scores-while-disabled",
    ),
    (
        Context::Defect,
        "scheduler-sleeps-through-classes",
        "scheduler-ignores-class-events",
    ),
    (
        Context::Defect,
        "scheduler-sleeps-through-flag",
        "scheduler-ignores-flag-events",
    ),
    (
        Context::Defect,
        "scheduler-sleeps-through-nodes",
        "scheduler-ignores-node-events",
    ),
    (
        Context::Defect,
        "scheduler-takes-empty-for-nowhere",
        "scheduler-treats-empty-as-nowhere",
    ),
    (
        Context::Defect,
        "scheduler-takes-unset-for-plenty",
        "scheduler-treats-unset-as-unlimited",
    ),
    (
        Context::Defect,
        "scheduler-wakes-for-capacity-only",
        "scheduler-requeues-for-capacity-only",
    ),
    (
        Context::Defect,
        "server-freezes-figures",
        "server-makes-capacity-immutable",
    ),
    (
        Context::Defect,
        "server-lets-classes-change",
        "server-allows-class-change",
    ),
    (
        Context::Defect,
        "server-takes-everything",
        "server-accepts-invalid-objects",
    ),
];

/// Context in which a renamed word occurs.
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
    /// Key of `publisher` in a case, or setting of the publisher in a manifest.
    Publisher,
    /// Feature, in a manifest or a case.
    Feature,
    /// Rule of the specification, in `excusedRules` of a case or in `fails` of a known failure.
    Rule,
    /// Key of `scheduler` in a case, or setting of the scheduler in a manifest.
    Scheduler,
    /// Id of a case, of a table row, or of all cases of an area, on the command line or in `case` of a known failure. Rows are listed
    /// before their case.
    Case,
    /// Name of an injected defect, on the command line.
    Defect,
}

/// The new spelling of a word in one of the contexts; the word itself if no entry renames it.
pub fn current<'a>(contexts: &[Context], word: &'a str) -> &'a str {
    let mut renamed = RENAMED.iter();
    let found = renamed.find(|(context, old, _)| contexts.contains(context) && *old == word);
    found.map_or(word, |(_, _, new)| *new)
}

/// The current id of a case; the id itself if the case was not renamed. The id may begin with the prefix `sweep/`.
pub fn case_id(id: &str) -> String {
    let mut renamed = RENAMED.iter().filter(|(context, ..)| *context == Context::Case);
    let current = renamed.find_map(|(_, old, new)| {
        let (before, rest) = id.split_once(*old)?;
        let is_whole = matches!(before, "" | "sweep/") && (rest.is_empty() || rest.starts_with('/'));
        is_whole.then(|| format!("{before}{new}{rest}"))
    });
    current.unwrap_or_else(|| id.to_owned())
}

/// The new spelling of a manifest setting.
pub(crate) fn setting(name: &str) -> &str {
    current(&[Context::Publisher, Context::Scheduler], name)
}

/// Replaces old ids of specification rules in a pattern of a failure message.
pub(crate) fn with_current_rules(pattern: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-/".contains(c);
    replace_words(pattern, is_part, |word| current(&[Context::Rule], word))
}

/// The old spelling of a word. None if the word was not renamed.
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

    /// Entries of the table for keys of a case.
    fn keys() -> impl Iterator<Item = &'static (Context, &'static str, &'static str)> {
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
    fn both_spellings_of_a_key_mean_the_same() {
        for (context, old, new) in keys() {
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
            assert_eq!(case_id(id), current);
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
        let keys: BTreeSet<&str> = keys().map(|(_, old, _)| *old).collect();
        assert_eq!(aliases, keys);
    }
}
