//! Deeply nested, wide and long inputs for every parser outside of the API server: each is parsed, or rejected with a message, on the stack
//! of a worker thread and in bounded memory. `fake-apiserver/tests/integration/wire/deep.rs` tests the parsers of the API server.

#[path = "../../../fake-apiserver/tests/integration/fuzzed/mutated.rs"]
mod mutated;

use std::path::Path;
use std::process::Command;

use capacity_diagnose::inventory::Inventory;
use capacity_scheduler::Release;
use capacity_scheduler::configuration::{Configuration, Extender};
use capacity_scheduler::shape;
use capacity_types::exposition;
use proptest::test_runner::{Config, TestRunner};
use suites::harness::manifest::Manifest;
use suites::harness::scenario::Size;
use suites::harness::{error_lines, journal, reason_of, scenario};
use suites::report::Report;

/// Stack size of a tokio worker thread.
const STACK: usize = 2 << 20;
/// Limit of the address space of the child process in KiB; the inputs have at most 1 MB.
const MEMORY: &str = "1000000";
const SIZES: [usize; 4] = [1, 60, 130, 800];

type ParserFn = fn(&str) -> Result<(), String>;

/// Name and function of a parser, and texts in which the generated input replaces `@`.
type Parser = (&'static str, ParserFn, &'static [&'static str]);

fn in_file(text: &str, read: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    read(file.path())
}

fn discard_value<T, E: ToString>(read: Result<T, E>) -> Result<(), String> {
    read.map(drop).map_err(|error| error.to_string())
}

const PARSERS: &[Parser] = &[
    (
        "case",
        |text| discard_value(scenario::parse("f.yaml", text)),
        &[
            "@",
            "id: a/b\ntitle: t\nsteps: @\n",
            "id: a/b\ntitle: t\nsteps: []\ncluster: @\n",
            "id: a/b\ntitle: t\nsteps: []\ntable: {columns: [row, a], rows: @}\n",
            "id: a/b\ntitle: $a\nsteps: []\ntable:\n  columns: [row, a]\n  rows: @",
            "id: a/b\ntitle: t\nsteps: []\naxes: {x: @, y: @}\n",
            "id: a/b\ntitle: $c\nsteps: []\ncells: {c: '@'}\naxes: {x: {a: {}}, y: {b: {}}}\n",
        ],
    ),
    (
        "manifest",
        |text| discard_value(Manifest::parse(Path::new("f.yaml"), text)),
        &["@", "features: []\nroles: @", "features: @\nroles: {}"],
    ),
    (
        "dump",
        |text| discard_value(Inventory::default().add_text(text.as_bytes())),
        &[
            "@",
            "kind: List\nitems:\n- @",
            "kind: List\nitems: @",
            r#"{"kind": "List", "items": @}"#,
            "kind: Pod\nmetadata: {name: a}\nspec: @",
            "kind: CSIStorageCapacity\nmetadata: {name: a}\nstorageClassName: a\ncapacity: @",
        ],
    ),
    (
        "journal",
        |text| in_file(text, |path| discard_value(journal::load(path))),
        &["@", r#"{"seq":0,"at_us":0,"what":@}"#],
    ),
    (
        "record",
        |text| in_file(text, |path| discard_value(Report::load(path))),
        &["@", r#"{"cases": @}"#],
    ),
    (
        "KubeSchedulerConfiguration",
        |text| discard_value(Configuration::parse(text, Release::DEFAULT, true)),
        &[
            "@",
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: @",
        ],
    ),
    (
        "extenders",
        |text| discard_value(Extender::parse_list(text)),
        &["@", "- urlPrefix: @"],
    ),
    (
        "shape",
        |text| discard_value(shape::parse_points(text)),
        &["@", "0=@"],
    ),
    (
        "quantity",
        |text| discard_value(text.parse::<capacity_types::Quantity>()),
        &["@", "1e@", "0.@"],
    ),
    ("size", |text| discard_value(Size::parse(text)), &["@", "1Gi+@"]),
    (
        "segment",
        |text| discard_value(capacity_types::segment::parse(text)),
        &["@", "a=@"],
    ),
    (
        "metrics",
        |text| {
            exposition::samples(text).for_each(drop);
            Ok(())
        },
        &["@", "a{b=\"@\"} 1", "a{@} 1"],
    ),
    (
        "log lines",
        |text| {
            error_lines(text.as_bytes(), 3);
            reason_of(&[text.to_owned()]);
            Ok(())
        },
        &["@", "E0101 00:00:00.000000       1 a.go:1] @"],
    ),
];

/// Generators of inputs of a given size, each of which makes some parser recurse deeply or allocate much memory.
const INPUTS: &[fn(usize) -> String] = &[
    |n| "[".repeat(n),
    |n| format!("{}{}", "[".repeat(n), "]".repeat(n)),
    |n| format!("{}1{}", r#"{"a":"#.repeat(n), "}".repeat(n)),
    |n| format!("{}a", "- ".repeat(n)),
    |n| format!("{}a", "? ".repeat(n)),
    |n| {
        (0..n.min(400))
            .map(|level| format!("\n{}a:", " ".repeat(level)))
            .collect()
    },
    |n| aliases(n.min(5), "[", "]"),
    |n| aliases(n.min(40), "{a: ", "}"),
    |n| {
        (0..n.min(20_000))
            .map(|at| format!("\n- &a{at} [*a{}]", at.saturating_sub(1)))
            .collect()
    },
    |n| format!("[{}]", "a,".repeat(n)),
    |n| format!("[{}{{}}]", "{},".repeat(n)),
    |n| {
        format!(
            "{{{}}}",
            (0..n).map(|at| format!("a{at}: {{}},")).collect::<String>()
        )
    },
    |n| format!("[[a, &a {}]{}]", "x".repeat(n), ", [b, *a]".repeat(n.min(400))),
    |n| (0..n).map(|at| format!("\n  - [r{at}, x]")).collect(),
    |n| {
        (0..n.min(20_000))
            .map(|at| format!("\n- {{kind: A, a: &a{at} b, c: *a0}}"))
            .collect()
    },
    |n| "$c".repeat(n),
    |n| "a=1,".repeat(n),
    |n| "9".repeat(n),
    |n| "\"".repeat(n),
    |n| "\\".repeat(n),
    |n| "---\n".repeat(n),
    |n| "a:\n".repeat(n),
    |n| "&a ".repeat(n),
    |n| "!a ".repeat(n),
    |n| "\n".repeat(n),
    |n| "Traceback (most recent call last):\n".repeat(n / 10),
];

/// YAML aliases, each of which repeats the previous alias nine times.
fn aliases(levels: usize, before: &str, after: &str) -> String {
    let level = |level: usize| {
        let entries = vec![format!("*a{}", level - 1); if before == "[" { 9 } else { 1 }];
        format!("&a{level} {before}{}{after}", entries.join(", "))
    };
    let all: Vec<String> = std::iter::once("&a0 x".to_owned())
        .chain((1..=levels).map(level))
        .collect();
    format!("[{}]", all.join(", "))
}

fn check((name, read, _): &Parser, text: &str) {
    let Err(error) = read(text) else {
        return;
    };
    let start: String = error.chars().take(300).collect();
    assert!(
        !error.is_empty() && (error.starts_with("f.yaml:") || !matches!(*name, "case" | "manifest")),
        "{name}: {start}"
    );
    assert!(
        error.len() <= 40 * text.len() + 8_000,
        "{name}: {} bytes: {start}",
        error.len()
    );
}

/// Reruns the test named `test` in a child process with limited memory. Returns true in the child process.
fn rerun_with_limited_memory(test: &str) -> bool {
    const MARK: &str = "HAS_LIMITED_MEMORY";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let limited = format!("ulimit -v {MEMORY} 2>/dev/null; exec \"$0\" --exact \"$1\" --nocapture");
    let child = Command::new("sh")
        .args(["-c", &limited])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(MARK, "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
    assert!(
        child.status.success() && output.contains("1 passed"),
        "{}: {output}",
        child.status
    );
    false
}

fn on_small_stack(name: &str, run: impl FnOnce() + Send + 'static) {
    // A stack overflow aborts the process and prints the thread's name.
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK);
    assert!(thread.spawn(run).unwrap().join().is_ok(), "{name}");
}

#[test]
fn deep_wide_and_long_inputs_are_read_or_refused_in_bounded_memory() {
    if !rerun_with_limited_memory("deep::deep_wide_and_long_inputs_are_read_or_refused_in_bounded_memory") {
        return;
    }
    for parser in PARSERS {
        on_small_stack(parser.0, move || {
            for (input, size) in INPUTS.iter().flat_map(|input| SIZES.map(|size| (input, size))) {
                let input = input(size);
                parser
                    .2
                    .iter()
                    .for_each(|around| check(parser, &around.replace('@', &input)));
            }
            // The YAML aliases would expand to more values than any parser allows, so one number of levels is sufficient.
            check(parser, &aliases(40, "[", "]"));
        });
    }
}

#[test]
fn changed_inputs_are_read_or_refused_in_bounded_memory() {
    if !rerun_with_limited_memory("deep::changed_inputs_are_read_or_refused_in_bounded_memory") {
        return;
    }
    for parser in PARSERS {
        on_small_stack(parser.0, move || {
            let around = parser.2.iter();
            let seeds = around.flat_map(|around| {
                INPUTS
                    .iter()
                    .map(|input| around.replace('@', &input(3)).into_bytes())
            });
            let mut runner = TestRunner::new(Config {
                failure_persistence: None,
                ..Config::default()
            });
            let ran = runner.run(&mutated::mutated(seeds.collect()), |bytes| {
                check(parser, &String::from_utf8_lossy(&bytes));
                Ok(())
            });
            ran.unwrap_or_else(|failure| panic!("{}: {failure}", parser.0));
        });
    }
}
