//! Checks that no verdict depends on text that is meant for readers, and that each frequently used name of a method or resource is declared
//! once.

use std::path::Path;

use crate::evidence::root;

/// Folders with code that evaluates facts of the journal.
const DECIDING: [&str; 4] = [
    "harness/src/expectation",
    "harness/src/judge",
    "harness/src/oracle",
    "harness/spec/src",
];

/// Code patterns that search a text for a string literal.
const SEARCHES: [&str; 6] = [
    ".contains(\"",
    ".starts_with(\"",
    ".ends_with(\"",
    ".strip_prefix(\"",
    ".strip_suffix(\"",
    ".split_once(\"",
];

/// Texts that may be parsed, because other programs define them: a `Status.message` of the API server, and a metrics label of CSI sidecars.
const ALLOWED_TEXTS: [&str; 2] = [
    r#"message.split_once(" is invalid: ")"#,
    r#"method.ends_with("/GetCapacity")"#,
];

/// String literals, each with the only file that may contain the literal.
const DECLARED: [(&str, &str); 3] = [
    ("\"GetCapacity\"", "fake-csi/src/method.rs"),
    ("\"CreateVolume\"", "fake-csi/src/method.rs"),
    ("\"csistoragecapacities\"", "harness/types/src/capacity_api.rs"),
];

/// Excluded folders: `fake-apiserver`, whose resource table spells every resource; the code generated from `csi.proto`; and the folder
/// `capture`, whose code writes the text of a case file.
const EXCLUDED: [&str; 3] = ["fake-apiserver", "fake-csi/proto", "harness/diagnose/src/capture"];

/// Adds the Rust sources in a folder, except for tests, by path from the root of the workspace.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !["tests", "fuzz", "target"].contains(&name) && !name.starts_with('.') {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let path = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            found.push((path, code.to_owned()));
        }
    }
}

#[test]
fn no_verdict_searches_text_made_for_readers() {
    let mut found = Vec::new();
    for folder in DECIDING {
        sources(&root().join(folder), &mut found);
    }
    let lines = found
        .iter()
        .flat_map(|(path, code)| code.lines().map(move |line| (path, line.trim())));
    let wrong: Vec<String> = lines
        .filter(|(_, line)| SEARCHES.iter().any(|search| line.contains(search)))
        .filter(|(_, line)| !ALLOWED_TEXTS.iter().any(|allowed| line.contains(allowed)))
        .map(|(path, line)| format!("{path}: {line}"))
        .collect();
    assert!(wrong.is_empty(), "make the fact typed:\n{}", wrong.join("\n"));
}

#[test]
fn methods_and_the_resource_are_declared_once() {
    let mut found = Vec::new();
    sources(&root(), &mut found);
    for (literal, home) in DECLARED {
        let files: Vec<&str> = found
            .iter()
            .filter(|(path, _)| !EXCLUDED.iter().any(|excluded| path.starts_with(excluded)))
            .flat_map(|(path, code)| code.matches(literal).map(|_| path.as_str()))
            .collect();
        assert_eq!(files, [home], "{literal}: use the constant or the type of {home}");
    }
}
