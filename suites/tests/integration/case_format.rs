//! Checks suites/CASES.md: it lists exactly the keys that the Rust types of the case format have, its examples are valid cases, and its
//! release numbers are current.
//!
//! `UPDATE=1 cargo test -p suites --test integration case_format` regenerates the section of keys.

use std::path::{Path, PathBuf};

use harness::expectation::{Documentation, KINDS};
use harness::plan::resolve;
use harness::scenario::parse;
use harness::standalone::Release;

use crate::page::{check_or_update, with_table};

/// The types whose YAML keys CASES.md lists, in the order of the page: heading, source file, name of the type.
const TYPES: [(&str, &str, &str); 38] = [
    ("The file", "mod", "ScenarioFile"),
    ("`cluster`", "cluster", "ClusterSpec"),
    ("A node", "cluster", "NodeSpec"),
    ("A class", "cluster", "ClassSpec"),
    ("`driver`", "cluster", "DriverSpec"),
    ("A snapshot", "cluster", "SnapshotSpec"),
    ("`publisher`", "systems", "PublisherSpec"),
    ("`scheduler`", "systems", "SchedulerSpec"),
    ("A rule of `grants`", "systems", "GrantSpec"),
    ("Storage of a segment", "backend", "PoolSpec"),
    ("A filesystem", "backend", "FilesystemSpec"),
    ("A device", "backend", "DeviceSpec"),
    ("A capacity object", "cluster", "CapacitySpec"),
    ("A volume", "cluster", "VolumeSpec"),
    ("An extender", "extender", "ExtenderSpec"),
    ("A step", "step", "StepSpec"),
    ("An action", "../plan/actions/mod", "actions"),
    ("`pod`", "../plan/actions/pod", "PodSpec"),
    ("A claim", "../plan/actions/pod", "ClaimSpec"),
    ("`node`", "../plan/actions/node", "NodeAction"),
    ("`register`", "../plan/actions/node", "RegisterSpec"),
    ("`class`", "../plan/actions/class", "ClassAction"),
    ("`csiDriver`", "../plan/actions/csi_driver", "CsiDriverAction"),
    (
        "`capacity`, as an action",
        "../plan/actions/capacity",
        "CapacityAction",
    ),
    ("`delete`", "../plan/actions/object", "DeleteAction"),
    (
        "`driverFault`",
        "../../../fake-csi/src/rule/text",
        "RuleText<S = Segment, B = i64>",
    ),
    ("`callDriver`", "../plan/actions/call_driver", "CsiCallSpec"),
    ("`fault`", "../plan/actions/api_fault", "FaultSpec"),
    (
        "`release`, as an action",
        "../plan/actions/release",
        "ReleaseSpec",
    ),
    ("`merge`", "../plan/actions/object", "MergeSpec"),
    ("`replace`", "server", "ReplaceSpec"),
    ("`apply`", "server", "ApplySpec"),
    ("`reserve`", "../plan/actions/reserve", "ReserveSpec"),
    (
        "A claim of `reserve`",
        "../plan/actions/reserve",
        "ReservedClaimSpec",
    ),
    ("A row of `capacities`", "../expectation/capacities", "RowSpec"),
    ("An entry of `objects`", "../expectation/objects", "ObjectsOfKind"),
    (
        "A pattern: `never`, `of`, entries of `order`",
        "../expectation/pattern",
        "Pattern",
    ),
    ("`count`", "../expectation/count", "Count"),
];

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("CASES.md")
}

/// Converts `owner_level` or `OwnerLevel` to `ownerLevel`.
fn camel(name: &str) -> String {
    let mut upper = false;
    let mut out = String::new();
    for c in name.chars() {
        match c {
            '_' => upper = true,
            c if out.is_empty() => out.push(c.to_ascii_lowercase()),
            c if upper => {
                out.push(c.to_ascii_uppercase());
                upper = false;
            }
            c => out.push(c),
        }
    }
    out
}

/// A YAML key: a field of a struct or a variant of an enum, parsed from the source.
struct Key {
    name: String,
    doc: String,
    is_required: bool,
}

fn keys(source: &str, name: &str) -> Vec<Key> {
    // A `#[serde(default)]` on the struct makes all fields optional.
    let before = source.split_once(&starts(name)[0]).map(|(before, _)| before);
    let attributes = before.and_then(|before| before.rsplit("\n\n").next());
    let is_struct = attributes.is_some_and(|attributes| !attributes.contains("default"));
    let starts = starts(name);
    let mut lines = source
        .lines()
        .skip_while(|line| !starts.contains(&(*line).to_owned()))
        .skip(1);
    let (mut found, mut doc, mut renamed) = (Vec::new(), String::new(), None);
    let (mut hidden, mut has_default) = (false, false);
    for line in lines.by_ref().take_while(|line| *line != "}") {
        // Skip lines with deeper indentation, which are fields of enum variants and no keys of the enum.
        let Some(line) = line.strip_prefix("    ").filter(|line| !line.starts_with(' ')) else {
            continue;
        };
        if let Some(text) = line.strip_prefix("/// ") {
            doc = format!("{doc} {text}").trim().to_owned();
        } else if let Some(attribute) = line.strip_prefix("#[serde(") {
            hidden |= attribute.starts_with("skip)");
            has_default |= attribute.contains("default");
            let given = attribute
                .split_once("rename = \"")
                .and_then(|(_, rest)| rest.split_once('"'));
            renamed = given.map(|(name, _)| name.to_owned()).or(renamed);
        } else if line != "}," && line != "}" {
            let name = line.trim_start_matches("pub ");
            let end = name
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(name.len());
            let key = renamed.take().unwrap_or_else(|| camel(&name[..end]));
            let may_be_absent = std::mem::take(&mut has_default) || name.contains(": Option<");
            if !std::mem::take(&mut hidden) {
                found.push(Key {
                    name: key,
                    doc: std::mem::take(&mut doc),
                    is_required: is_struct && !may_be_absent,
                });
            }
            doc.clear();
        }
    }
    found
}

fn starts(name: &str) -> [String; 3] {
    [
        format!("pub struct {name} {{"),
        format!("pub enum {name} {{"),
        format!("{name}! {{"),
    ]
}

fn section() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../harness/src/scenario");
    let mut out = String::new();
    for (heading, file, name) in TYPES {
        let source = std::fs::read_to_string(folder.join(format!("{file}.rs"))).unwrap();
        let keys = keys(&source, name);
        assert!(!keys.is_empty(), "{file}.rs has no keys of {name}");
        out.push_str(&format!("\n### {heading}\n\n| key | meaning |\n|---|---|\n"));
        for Key {
            name: key,
            doc,
            is_required,
        } in keys
        {
            assert!(!doc.is_empty(), "{name}.{key} has no documentation");
            let mark = if is_required { " **required**" } else { "" };
            out.push_str(&format!(
                "| `{key}`{mark} | {} |\n",
                doc.replace('|', "\\|").replace("[`", "`").replace("`]", "`")
            ));
        }
    }
    out
}

#[test]
fn the_keys_match_the_code() {
    let keys = section() + "\n";
    check_or_update(&page(), "case_format", |text| with_table(text, "keys", &keys));
}

#[test]
fn the_expectations_match_the_registry() {
    let row = |kind: &Documentation| format!("| `{}` | {} |\n", kind.example, kind.holds);
    let rows: String = KINDS.iter().map(row).collect();
    let table = format!("\n| key | it holds when |\n|---|---|\n{rows}\n");
    for kind in KINDS {
        assert!(
            kind.example.starts_with(&format!("{}: ", kind.key)),
            "{}",
            kind.key
        );
    }
    check_or_update(&page(), "case_format", |text| {
        with_table(text, "expectations", &table)
    });
}

#[test]
fn the_examples_are_valid_cases() {
    let text = std::fs::read_to_string(page()).unwrap();
    let blocks = text
        .split("```yaml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap());
    let (mut whole, mut parts) = (0, 0);
    for block in blocks {
        let text = if block.starts_with("id:") {
            whole += 1;
            block.to_owned()
        } else {
            parts += 1;
            format!(
                "id: story/mine/part\ntitle: a part\n{block}steps: [{{id: none, expect: [{{never: {{write: delete nodes}}, why: it is an example}}]}}]\n"
            )
        };
        for scenario in parse("CASES.md", &text).unwrap() {
            resolve(&scenario).unwrap();
        }
    }
    assert_eq!((whole, parts), (4, 2));
}

#[test]
fn the_release_numbers_are_current() {
    let text = std::fs::read_to_string(page()).unwrap();
    let (first, last) = (Release::OLDEST, Release::NEWEST);
    let words = format!("{first} to {last}, by default {}", Release::default());
    assert!(text.contains(&words), "it must say “{words}”");
}
