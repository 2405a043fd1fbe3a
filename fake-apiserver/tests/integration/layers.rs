//! Layering test: the modules of the crate `fake-apiserver` form layers, and each module imports only modules of lower layers.

use crate::imports::{Imports, Module, format_module};
use std::collections::BTreeSet;
use std::path::Path;

/// The layers from the bottom up. Modules of one layer do not import each other. `lib.rs` is above all layers.
const LAYERS: &[&[&str]] = &[
    &["machinery", "types"],
    &["config", "outbound", "request"],
    &["fault_injection", "protobuf"],
    &["schema", "object", "observe"],
    &["kinds"],
    &["plugin"],
    &["access"],
    &["patch"],
    &["admission"],
    &["store"],
    &["verbs", "documents"],
    &["controllers", "webhook"],
    &["execute"],
    &["http", "local"],
    &["server"],
];

fn sources() -> Imports {
    Imports::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

/// Imports of modules that are not in a lower layer, as pairs of importing and imported file.
fn upward_imports(imports: &Imports, layer: impl Fn(&str) -> Option<usize>) -> Vec<String> {
    let all = imports
        .of
        .iter()
        .flat_map(|(from, targets)| targets.iter().map(move |to| (from, to)));
    let between_modules = all.filter(|(from, to)| !from.is_empty() && from[0] != to[0]);
    let is_downward = |(from, to): &(&Module, &Module)| layer(&to[0]) < layer(&from[0]);
    let up = between_modules.filter(|import| !is_downward(import));
    up.map(|(from, to)| format!("{} → {}", format_module(from), format_module(to)))
        .collect()
}

#[test]
fn every_module_is_in_a_layer() {
    let imports = sources();
    let modules: BTreeSet<&str> = imports
        .of
        .keys()
        .filter_map(|module| module.first())
        .map(String::as_str)
        .collect();
    let listed: BTreeSet<&str> = LAYERS.iter().copied().flatten().copied().collect();
    assert_eq!(modules, listed, "the modules in src/ and those listed in LAYERS");
}

#[test]
fn modules_import_only_lower_layers() {
    let up = upward_imports(&sources(), layer);
    assert!(
        up.is_empty(),
        "imports of higher layers; move the imported code down:\n{}",
        up.join("\n")
    );
}

#[test]
fn imports_between_files_are_acyclic() {
    let circle = sources()
        .find_cycle()
        .map(|files| files.iter().map(format_module).collect::<Vec<_>>().join(" → "));
    assert_eq!(
        circle, None,
        "an import cycle: each file imports the next, the last one the first"
    );
}

fn synthetic(files: &[(&str, &str)]) -> Imports {
    Imports::of_texts(
        files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned())),
    )
}

#[test]
fn upward_imports_are_found_through_re_exports_and_inside_function_bodies() {
    let imports = synthetic(&[
        ("lib.rs", "mod low; mod high;"),
        (
            "low.rs",
            "use crate::high::{Thing, other::Else as Another};\nfn f() { crate::high::deep::call() }",
        ),
        ("high/mod.rs", "mod thing;\npub(crate) use thing::Thing;"),
        (
            "high/thing.rs",
            "// use crate::low::Nothing;\nuse crate::low::Ground;",
        ),
        ("high/other.rs", ""),
        ("high/deep.rs", ""),
    ]);
    let layers = |module: &str| ["low", "high"].iter().position(|known| *known == module);
    let expected = ["low → high::deep", "low → high::other", "low → high::thing"];
    assert_eq!(upward_imports(&imports, layers), expected);
}

#[test]
fn import_cycles_between_a_folder_and_its_file_are_found() {
    let imports = synthetic(&[
        ("lib.rs", "mod module;"),
        (
            "module/mod.rs",
            "mod part;\npub(crate) struct Whole;\nfn f() { part::call() }",
        ),
        ("module/part.rs", "use super::Whole;"),
    ]);
    let circle: Vec<String> = imports.find_cycle().unwrap().iter().map(format_module).collect();
    assert_eq!(circle, ["module", "module::part"]);
}
