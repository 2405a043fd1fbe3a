//! The shards of `explore`, `sweep` and `selftest`: their merged results equal those of a run on a single machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::program::{run_expecting, text};

struct ShardedCommand {
    folder: tempfile::TempDir,
    words: &'static [&'static str],
    exit: i32,
}

impl ShardedCommand {
    fn of(words: &'static [&'static str], exit: i32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        ShardedCommand { folder, words, exit }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, more: &[&str], output: &Path) -> (Option<i32>, String, String) {
        let run = Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
            .args(self.words)
            .args(more)
            .arg("--output")
            .arg(output)
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        (run.status.code(), text(&run.stdout), text(&run.stderr))
    }

    fn run_unsharded(&self) -> String {
        let (code, messages, error) = self.run(&[], &self.path("whole"));
        assert_eq!(code, Some(self.exit), "{messages}{error}");
        messages
    }

    /// Runs all shards. Checks that each shard passes, or exits with the code of the unsharded command.
    fn run_shards(&self, of: usize) {
        for part in 1..=of {
            let output = self.path("parts").join(part.to_string());
            let (code, messages, error) = self.run(&["--shard", &format!("{part}/{of}")], &output);
            assert!([Some(0), Some(self.exit)].contains(&code), "{messages}{error}");
            assert!(output.join("part.json").is_file());
        }
    }

    fn merge(&self, exit: i32) -> (String, String) {
        let [parts, output] = ["parts", "merged"].map(|name| self.path(name).display().to_string());
        run_expecting(exit, &["report", "merge", "--parts", &parts, "--output", &output])
    }

    fn without_paths_and_times(&self, text: &str) -> String {
        let text = self.with_equal_paths(text);
        let lines = text.lines().map(|line| {
            let words = line.split(' ').filter(|word| !is_time(word));
            words.collect::<Vec<_>>().join(" ")
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The contents of the files in a folder that have these extensions, by file name.
    fn files(&self, folder: &str, ends: &[&str]) -> BTreeMap<String, String> {
        let entries = std::fs::read_dir(self.path(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let meant = paths.filter(|path| ends.iter().any(|end| name(path).ends_with(end)));
        meant
            .map(|path| {
                (
                    name(&path),
                    self.without_paths_and_times(&std::fs::read_to_string(&path).unwrap()),
                )
            })
            .collect()
    }

    fn record(&self, folder: &str, name: &str) -> Value {
        let text = std::fs::read_to_string(self.path(folder).join(name)).unwrap();
        let mut record: Value = serde_json::from_str(&self.with_equal_paths(&text)).unwrap();
        without_times(&mut record);
        record
    }

    fn with_equal_paths(&self, text: &str) -> String {
        ["merged", "whole", "parts/1", "parts/2", "parts/3"]
            .iter()
            .fold(text.to_owned(), |text, place| {
                text.replace(&self.path(place).display().to_string(), "PLACE")
            })
    }
}

/// Whether a word is a duration such as `1.5s`, or a rate such as `0.7` clusters/s.
fn is_time(word: &str) -> bool {
    let number = word.trim_end_matches([',', ';', ' ']).trim_end_matches('s');
    number.contains('.') && number.parse::<f64>().is_ok()
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("started");
            fields.remove("seconds");
            fields.values_mut().for_each(without_times);
        }
        Value::Array(all) => all.iter_mut().for_each(without_times),
        _ => {}
    }
}

#[test]
fn exploration_in_three_shards_equals_a_single_run() {
    let explore = ShardedCommand::of(
        &[
            "explore",
            "--role=publisher",
            "--seed=3",
            "--worlds=4",
            "--tries=20",
            "--defect=publisher-ignores-maximum",
        ],
        1,
    );
    let whole = explore.run_unsharded();
    explore.run_shards(3);
    let (merged, _) = explore.merge(1);
    assert_eq!(
        explore.without_paths_and_times(&merged),
        explore.without_paths_and_times(&whole)
    );
    assert!(whole.contains("FOUND"), "{whole}");
    let record = |folder| explore.record(folder, "report.json");
    assert_eq!(record("merged"), record("whole"));
    let cases = |folder| explore.files(folder, &[".yaml"]);
    assert_eq!(cases("merged"), cases("whole"));
    assert!(!cases("whole").is_empty());

    std::fs::remove_dir_all(explore.path("parts/3")).unwrap();
    let (_, error) = explore.merge(1);
    assert!(error.contains("missing shards: 3/3"), "{error}");
}

#[test]
fn a_sweep_in_two_shards_equals_a_single_run() {
    let sweep = ShardedCommand::of(
        &[
            "sweep",
            "--defect=publisher-connects-once",
            "scheduler/extender/bind",
            "scheduler/filter/tracking/class-of-another-driver",
        ],
        1,
    );
    let whole = sweep.run_unsharded();
    sweep.run_shards(2);
    let (merged, _) = sweep.merge(1);
    assert_eq!(
        sweep.without_paths_and_times(&merged),
        sweep.without_paths_and_times(&whole)
    );
    assert!(
        whole.contains("FAIL  publisher-") && whole.contains("skip  scheduler/extender/bind"),
        "{whole}"
    );
    let files = |folder| sweep.files(folder, &[".yaml", ".html"]);
    assert_eq!(files("merged"), files("whole"));
    assert!(files("whole").len() > 2, "{:?}", files("whole").keys());
}

#[test]
fn a_selftest_in_two_shards_equals_a_single_run() {
    let selftest = ShardedCommand::of(
        &[
            "selftest",
            "--defect=publisher-ignores-maximum",
            "--defect=publisher-never-refreshes",
            "--defect=publisher-makes-duplicates",
            "publisher/value",
            "publisher/refresh",
            "publisher/objects",
        ],
        0,
    );
    let whole = selftest.run_unsharded();
    selftest.run_shards(2);
    let (merged, _) = selftest.merge(0);
    assert_eq!(
        selftest.without_paths_and_times(&merged),
        selftest.without_paths_and_times(&whole)
    );
    let record = |folder| selftest.record(folder, "selftest.json");
    assert_eq!(record("merged"), record("whole"));
    assert!(record("whole")["runs"].as_u64().unwrap() > 5);

    std::fs::remove_dir_all(selftest.path("parts/2")).unwrap();
    let (messages, error) = selftest.merge(6);
    assert!(error.contains("missing shards: 2/2"), "{error}");
    assert!(messages.contains("partial: shard 2/2 is missing"), "{messages}");
}

#[test]
fn shards_of_different_commands_are_not_merged() {
    let long = ShardedCommand::of(&["explore", "--role=publisher", "--worlds=4"], 0);
    for (part, seed) in [("1/2", "--seed=1"), ("2/2", "--seed=2")] {
        let output = long.path("parts").join(&part[..1]);
        let (code, messages, error) = long.run(&[seed, "--shard", part], &output);
        assert_eq!(code, Some(0), "{messages}{error}");
    }
    let (_, error) = long.merge(2);
    assert!(
        error.contains("the command is explore --seed=2") && error.contains("merge only shards of one run"),
        "{error}"
    );
}

#[test]
fn a_shard_that_could_not_be_merged_is_rejected_before_it_runs() {
    for (words, exit, printed) in [
        (
            &["sweep", "publisher", "--shard=1/2"][..],
            2,
            "--shard requires --output",
        ),
        (&["selftest", "--shard=1/2"], 2, "--shard requires --output"),
        (&["explore", "--shard=1/2"], 2, "--shard requires --seed"),
        (
            &["explore", "--seed=1", "--worlds=1", "--shard=2/2"],
            4,
            "use fewer shards",
        ),
        (
            &[
                "sweep",
                "publisher/value/maximum",
                "--shard=2/2",
                "--output=/nowhere",
            ],
            4,
            "use fewer shards",
        ),
    ] {
        let (_, error) = run_expecting(exit, words);
        assert!(error.contains(printed), "{words:?}: {error}");
    }
}
