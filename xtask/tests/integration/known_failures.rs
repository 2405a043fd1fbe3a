//! Known failures of a manifest on the command line: entries excuse only the failures that they match, and stale entries are errors. The
//! programs are shell scripts that print some words and exit, and there are only two small cases, so a full run is fast.

use std::path::PathBuf;

use crate::program::{run_expecting, text, xtask};

/// Output of the program before it exits with status 7.
const FAILS: &str = "no socket";

struct KnownFailuresRun(tempfile::TempDir);

impl KnownFailuresRun {
    /// Writes two cases, and a manifest with this script as the publisher. `known`: `knownFailures` entries as YAML flow maps.
    fn new(script: &str, known: &[&str]) -> Self {
        let gate = KnownFailuresRun(tempfile::tempdir().unwrap());
        for case in ["one", "two"] {
            let folder = gate.path("cases/mine");
            std::fs::create_dir_all(&folder).unwrap();
            let text = format!(
                "id: mine/{case}\ntitle: it publishes\nrequirements: [PUB-20]\ncluster:\n  nodes: [n1]\n  classes: [fast]\n  backend: {{n1: 1Gi}}\n\
                 steps:\n  - id: publish\n    expect:\n      - capacities: {{fast: {{n1: 1Gi}}}}\n        why: it is there\n"
            );
            std::fs::write(folder.join(format!("{case}.yaml")), text).unwrap();
        }
        std::fs::write(gate.path("program"), script).unwrap();
        gate.write(known);
        gate
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, known: &[&str]) {
        let program = self.path("program");
        let list: String = known.iter().map(|entry| format!("  - {entry}\n")).collect();
        let list = if known.is_empty() {
            String::new()
        } else {
            format!("knownFailures:\n{list}")
        };
        let text = format!(
            "name: mine\nversion: v1.4.0\nfeatures: [publisher.central]\nroles:\n  publisher:\n    argv: [sh, {}]\n    grace: 100ms\n{list}",
            program.display()
        );
        std::fs::write(self.path("sut.yaml"), text).unwrap();
    }

    /// Runs all cases, or the cases in `more`; returns the exit code and the output.
    fn run(&self, more: &[&str]) -> (i32, String) {
        let (sut, cases) = (self.path("sut.yaml"), self.path("cases"));
        let mut words = vec![
            "conformance",
            "--sut",
            sut.to_str().unwrap(),
            "--folder",
            cases.to_str().unwrap(),
        ];
        words.extend(more);
        let output = xtask(&words);
        (
            output.status.code().unwrap(),
            text(&output.stdout) + &text(&output.stderr),
        )
    }

    fn expect(&self, code: i32, more: &[&str], expected: &[&str]) -> String {
        let (ended, messages) = self.run(more);
        assert_eq!(ended, code, "{messages}");
        for expected in expected {
            assert!(messages.contains(expected), "no “{expected}” in:\n{messages}");
        }
        messages
    }
}

fn failing_script() -> String {
    format!("echo {FAILS} >&2; exit 7")
}

fn entry(case: &str, fails: &str, more: &str) -> String {
    format!("{{case: {case}, fails: {fails}, why: it has none, issue: i/1, until: 2999-12-31{more}}}")
}

#[test]
fn only_a_failure_that_matches_the_pattern_is_excused() {
    let gate = KnownFailuresRun::new(
        &failing_script(),
        &[&entry("mine", "publisher ended * no socket", "")],
    );
    gate.expect(0, &[], &["0 passed, 0 failed, 2 known to fail"]);
    // The cases now fail for another reason, which the entry does not match.
    std::fs::write(gate.path("program"), "echo NAMESPACE is not set >&2; exit 7").unwrap();
    let place = format!("{}:9:12", gate.path("sut.yaml").display());
    gate.expect(
        1,
        &[],
        &[
            "0 passed, 2 failed",
            "    | NAMESPACE is not set",
            &format!("  known   {place} excuses another failure of this case: “publisher ended * no socket”"),
        ],
    );
}

#[test]
fn one_of_several_entries_suffices() {
    let other = entry("mine/one", "something that never happens", "");
    let gate = KnownFailuresRun::new(&failing_script(), &[&other, &entry("mine", FAILS, "")]);
    gate.expect(0, &["mine/one"], &["1 known to fail"]);
}

#[test]
fn an_expired_entry_excuses_nothing_and_is_reported() {
    let entry = entry("mine", FAILS, "").replace("2999", "2020");
    let gate = KnownFailuresRun::new(&failing_script(), &[&entry]);
    gate.expect(
        1,
        &["mine/one"],
        &["excused this failure until 2020-12-31: it has none"],
    );
}

#[test]
fn an_entry_applies_to_the_versions_that_it_lists() {
    for (versions, code) in [
        ("[v1.4.0]", 0),
        ("[1.3.0, 1.4]", 0),
        ("[\">=1.2.0, <v1.5.0\"]", 0),
        ("[v1.4.1]", 1),
        ("[\"<1.4.0\", \">1.4.0\"]", 1),
    ] {
        let entry = entry("mine", FAILS, &format!(", versions: {versions}"));
        let gate = KnownFailuresRun::new(&failing_script(), &[&entry]);
        let (ended, messages) = gate.run(&["mine/one"]);
        assert_eq!(ended, code, "{versions}:\n{messages}");
    }
}

#[test]
fn a_build_after_a_release_counts_as_that_release() {
    let entry = entry("mine", FAILS, ", versions: [\">=1.4.0\"]");
    let gate = KnownFailuresRun::new(&failing_script(), &[&entry]);
    let manifest = std::fs::read_to_string(gate.path("sut.yaml")).unwrap();
    std::fs::write(
        gate.path("sut.yaml"),
        manifest.replace("v1.4.0\n", "v1.4.0-12-g0688604f\n"),
    )
    .unwrap();
    gate.expect(0, &["mine/one"], &["1 known to fail"]);
}

#[test]
fn an_invalid_entry_is_rejected_with_its_position() {
    let good = entry("mine", FAILS, "");
    for (entry, expected) in [
        (good.replace("fails: no socket, ", ""), "missing field `fails`"),
        (
            good.replace("no socket", "\"*\""),
            ":9:25: `*` is too short to identify a failure",
        ),
        (
            good.replace("it has none", "TODO"),
            ":9:41: the text is empty or a placeholder",
        ),
        (good.replace("i/1", "todo"), "the text is empty or a placeholder"),
        (
            good.replace("2999-12-31", "soon"),
            "`soon` is not a date; write one such as 2027-06-30",
        ),
        (
            entry_with("sometimes: {runs: 20, failed: 20}"),
            "20 failures of 20 runs are not intermittent",
        ),
        (
            entry_with("sometimes: {runs: 20, failed: 0}"),
            "0 failures of 20 runs are not intermittent",
        ),
        (
            entry_with("sometimes: {runs: 5, failed: 1}"),
            "5 runs are too few for `sometimes`; measure with",
        ),
        (entry_with("sometimes: true"), "sut.yaml:9:"),
        (
            entry_with("versions: [soon]"),
            "`soon` is not a version; write one such as v1.2.3",
        ),
        (
            good.replace("case: mine,", "case: mine/noe,"),
            ":9:12: no case is called `mine/noe`, did you mean `mine/one`?",
        ),
        (
            good.replace("case: mine,", "case: sweep/mine/noe,"),
            ":9:12: no case is called `sweep/mine/noe`",
        ),
    ] {
        // The manifest is rejected whichever cases are selected.
        let gate = KnownFailuresRun::new(&failing_script(), &[&entry]);
        gate.expect(2, &["mine/one"], &[expected]);
    }
}

fn entry_with(more: &str) -> String {
    entry("mine", FAILS, &format!(", {more}"))
}

#[test]
fn versions_in_entries_need_a_version_of_the_program() {
    let gate = KnownFailuresRun::new(&failing_script(), &[&entry_with("versions: [v1.4.0]")]);
    let manifest = std::fs::read_to_string(gate.path("sut.yaml")).unwrap();
    std::fs::write(gate.path("sut.yaml"), manifest.replace("v1.4.0\n", "master\n")).unwrap();
    gate.expect(
        2,
        &[],
        &[
            ":9:",
            "`versions` cannot be compared with the manifest's version `master`",
        ],
    );
}

#[test]
fn entries_may_name_cases_of_this_repository_and_of_another_folder() {
    let own = entry("publisher/value", "some words of it", "");
    let gate = KnownFailuresRun::new(&failing_script(), &[&entry("mine", FAILS, ""), &own]);
    gate.expect(0, &[], &["2 known to fail"]);
}

#[test]
fn entries_for_exploration_and_sweeps_are_never_stale_in_a_run_of_cases() {
    let others = [
        "explore",
        "explore/publisher",
        "sweep",
        "sweep/mine",
        "sweep/mine/one",
    ];
    let others = others.map(|case| entry(case, "some words of it", ""));
    let mut entries: Vec<&str> = others.iter().map(String::as_str).collect();
    let known = entry("mine", FAILS, "");
    entries.push(&known);
    let gate = KnownFailuresRun::new(&failing_script(), &entries);
    gate.expect(0, &[], &["2 known to fail"]);
}

#[test]
fn a_stale_entry_in_a_full_run_is_an_error() {
    let idle = entry("mine/two", "something that never happens", "");
    let gate = KnownFailuresRun::new(&failing_script(), &[&entry("mine", FAILS, ""), &idle]);
    let wrong = format!(
        "WRONG  {}:10:12: nothing failed with “something that never happens”",
        gate.path("sut.yaml").display()
    );
    gate.expect(2, &[], &[&wrong, "2 known to fail"]);
    // A partial run cannot decide whether entries for cases that did not run are stale.
    let messages = gate.expect(0, &["mine/one"], &["1 known to fail"]);
    assert!(!messages.contains("WRONG"), "{messages}");
    // An entry for a failure that depends on timing (`sometimes`) is never stale.
    let rare = entry(
        "mine/two",
        "something that never happens",
        ", sometimes: {runs: 20, failed: 1}",
    );
    gate.write(&[&entry("mine", FAILS, ""), &rare]);
    gate.expect(0, &[], &["2 known to fail"]);
    // Entries for versions other than that of the program are ignored.
    let older = entry(
        "mine/two",
        "something that never happens",
        ", versions: [\"<1.4.0\"]",
    );
    gate.write(&[&entry("mine", FAILS, ""), &older]);
    gate.expect(0, &[], &["2 known to fail"]);
}

#[test]
fn stale_entries_of_shards_are_detected_by_the_merge() {
    let idle = entry("mine/two", "something that never happens", "");
    let gate = KnownFailuresRun::new(&failing_script(), &[&entry("mine", FAILS, ""), &idle]);
    let mut records = Vec::new();
    for part in ["1", "2"] {
        let folder = gate.path(part);
        gate.expect(
            0,
            &[&format!("--shard={part}/2"), "--output", folder.to_str().unwrap()],
            &["1 known to fail"],
        );
        records.push(folder.join("report.json").display().to_string());
    }
    let merged = gate.path("all").display().to_string();
    let output = xtask(&["report", "merge", &records[0], &records[1], "--output", &merged]);
    let messages = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{messages}");
    assert!(
        messages.contains("WRONG  ")
            && messages.contains("nothing failed with “something that never happens”"),
        "{messages}"
    );
}

#[test]
fn accepted_failures_become_entries_that_count_once_a_reason_is_given() {
    let gate = KnownFailuresRun::new(&failing_script(), &[]);
    let path = gate.path("sut.accepted.yaml");
    gate.expect(
        1,
        &["--accept"],
        &[
            &format!("2 entries are in {}", path.display()),
            "0 passed, 2 failed",
        ],
    );
    gate.expect(2, &["--accept"], &["already exists and is not overwritten"]);
    let entries = std::fs::read_to_string(&path).unwrap();
    let manifest = std::fs::read_to_string(gate.path("sut.yaml")).unwrap();
    std::fs::write(gate.path("sut.yaml"), format!("{manifest}{entries}")).unwrap();
    gate.expect(
        2,
        &[],
        &["the text is empty or a placeholder; write why the case fails"],
    );
    std::fs::write(
        gate.path("sut.yaml"),
        format!("{manifest}{}", entries.replace("TODO", "it has no socket")),
    )
    .unwrap();
    gate.expect(0, &[], &["0 passed, 0 failed, 2 known to fail"]);
    // Without new failures no file is written.
    let other = gate.path("other.yaml");
    gate.expect(
        0,
        &[&format!("--accept={}", other.display())],
        &["no new failures"],
    );
    assert!(!other.exists());
}

#[test]
fn entries_for_a_manifest_with_known_failures_are_list_items() {
    let gate = KnownFailuresRun::new(&failing_script(), &[&entry("mine/one", FAILS, "")]);
    gate.expect(1, &["--accept"], &["1 entry is in"]);
    let entries = std::fs::read_to_string(gate.path("sut.accepted.yaml")).unwrap();
    let manifest = std::fs::read_to_string(gate.path("sut.yaml")).unwrap();
    let all = format!("{manifest}{}", entries.replace("TODO", "it has no socket"));
    std::fs::write(gate.path("sut.yaml"), all).unwrap();
    gate.expect(0, &[], &["2 known to fail"]);
}

/// Number of inconclusive runs in a measurement.
fn undecided(messages: &str) -> u32 {
    let line = messages.lines().find(|line| line.contains("have no verdict"));
    line.map_or(0, |line| line.split_whitespace().nth(1).unwrap().parse().unwrap())
}

#[test]
fn failure_rates_are_measured_and_printed_as_entries() {
    let gate = KnownFailuresRun::new("", &[]);
    let count = gate.path("count").display().to_string();
    std::fs::write(&count, "").unwrap();
    let script = format!(
        "n=$(wc -l <{count}); echo x >>{count}; [ $((n % 4)) = 0 ] && echo no class today || echo {FAILS}; exit 7"
    );
    std::fs::write(gate.path("program"), script).unwrap();
    // More runs than a `knownFailures` entry requires, because some may be inconclusive on a busy machine.
    let measure = ["--measure=24", "--jobs=1", "mine/one"];
    let messages = gate.expect(
        1,
        &measure,
        &["1 case, 24 times each: 0 failed never, 1 always, 0 sometimes"],
    );
    // The script counts inconclusive runs and their repetitions, so the share of each failure is not exact.
    let failed = |words: &str| -> u32 {
        let line = messages.lines().find(|line| line.contains(words)).unwrap();
        let (_, times) = line.split_once("mine/one  failed ").unwrap();
        times.split(' ').next().unwrap().parse().unwrap()
    };
    let decided = 24 - undecided(&messages);
    let of = |words: &str| failed(&format!("of {decided}  “{words}”"));
    let (class, socket) = (of("no class today"), of("no socket"));
    assert!(
        class > 0 && socket > class && class + socket == decided,
        "{messages}"
    );
    for expected in [
        &*format!("    sometimes: {{runs: {decided}, failed: {class}}}\n"),
        "    versions: [v1.4.0]\n",
    ] {
        assert!(messages.contains(expected), "no “{expected}” in:\n{messages}");
    }
    let (_, entries) = messages
        .split_once("fill in `why` and `issue` of each:\n")
        .unwrap();
    let (entries, _) = entries.split_once("\n\n").unwrap_or((entries, ""));
    let manifest = std::fs::read_to_string(gate.path("sut.yaml")).unwrap();
    let all = format!(
        "{manifest}knownFailures:\n{}",
        entries.replace("TODO", "it is by turns")
    );
    std::fs::write(gate.path("sut.yaml"), all).unwrap();
    let (code, messages) = gate.run(&measure);
    assert_eq!(code, if undecided(&messages) == 0 { 0 } else { 5 }, "{messages}");
    assert!(
        messages.contains("[known: ") && !messages.contains("Entries for"),
        "{messages}"
    );
}

#[test]
fn one_run_is_recorded_per_verdict() {
    let gate = KnownFailuresRun::new(&failing_script(), &[]);
    let folder = gate.path("runs");
    let record = || {
        let words = ["sut.yaml", "cases"].map(|name| gate.path(name).to_str().unwrap().to_owned());
        let output = folder.to_str().unwrap();
        let (out, error) = run_expecting(
            0,
            &[
                "record", "--sut", &words[0], "--folder", &words[1], "--output", output, "mine/one",
            ],
        );
        out + &error
    };
    assert!(record().contains("mine v1.4.0: 1 new; 1 runs are stored"));
    assert!(record().contains("1 as stored; 1 runs are stored"));
    std::fs::write(gate.path("program"), "echo no driver >&2; exit 7").unwrap();
    let messages = record();
    for words in [
        "stored  fail: no socket",
        "now     fail: no driver",
        "1 with another verdict than stored; 2 runs are stored",
    ] {
        assert!(messages.contains(words), "no “{words}” in:\n{messages}");
    }
    let verdicts = std::fs::read_to_string(folder.join("mine-v1_4_0.yaml")).unwrap();
    assert_eq!(verdicts.matches("case: mine/one").count(), 2, "{verdicts}");
}
