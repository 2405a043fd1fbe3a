//! Checks that the tests and files that the README names exist.

use std::fs;
use std::path::Path;

#[test]
fn tests_named_in_the_readme_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    // Every second part of the README between backticks is code.
    let names = readme.split('`').skip(1).step_by(2);
    let (mut areas, mut tests) = (0, 0);
    for name in names {
        if let Some(area) = name.strip_prefix("contract: ") {
            areas += 1;
            let conversations = root.join(format!("full/tests/contract/{area}.yaml"));
            assert!(
                conversations.is_file(),
                "{name} has no {}",
                conversations.display()
            );
            continue;
        }
        let (folder, name) = match name.split_once(": ") {
            Some(("apiextensions", name)) => ("apiextensions/tests/integration", name),
            Some(("webhooks", name)) => ("webhooks/tests/integration", name),
            Some(("full", name)) => ("full/tests/integration", name),
            Some((_, name)) => ("tests/integration/wire", name),
            None => ("tests/integration/wire", name),
        };
        let Some((module, test)) = name.split_once("::") else {
            continue;
        };
        if module.chars().any(|c| !c.is_ascii_lowercase() && c != '/') {
            continue;
        }
        tests += 1;
        let source = fs::read_to_string(root.join(format!("{folder}/{module}.rs")));
        let source = source.unwrap_or_else(|_| panic!("{name} names no module of tests"));
        let is_there = test.is_empty() || source.contains(&format!("fn {test}("));
        assert!(is_there, "{name} is not among the tests of {module}");
    }
    assert!(
        areas >= 10 && tests >= 5,
        "the README names too few tests: {areas} areas, {tests} tests"
    );
}

#[test]
fn files_named_in_the_readme_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let names = readme.split('`').skip(1).step_by(2);
    for name in names.filter(|name| name.ends_with(".rs")) {
        let is_there = root.join("src").join(name).is_file() || root.join(name).is_file();
        assert!(is_there, "the README names {name}, which does not exist");
    }
}
