//! The rooms of this crate stand on floors, and each imports only what stands below it.

use crate::imports::{Imports, Module, shown};
use std::collections::BTreeSet;
use std::path::Path;

/// From the ground up. Rooms of one floor do not import each other. `lib.rs` stands on top of all.
const FLOORS: &[&[&str]] = &[
    &["machinery", "types"],
    &["config", "outbound", "request"],
    &["perturb", "protobuf"],
    &["schema", "object", "observe"],
    &["cel"],
    &["structural"],
    &["kinds"],
    &["plugin"],
    &["access"],
    &["patch"],
    &["admission"],
    &["store"],
    &["verbs", "documents"],
    &["controllers", "consult"],
    &["execute"],
    &["http", "local"],
    &["server"],
];

fn sources() -> Imports {
    Imports::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

/// Imports that do not lead down, with the names of both files.
fn arrows_up(imports: &Imports, floor: impl Fn(&str) -> Option<usize>) -> Vec<String> {
    let all = imports
        .of
        .iter()
        .flat_map(|(from, targets)| targets.iter().map(move |to| (from, to)));
    let between_rooms = all.filter(|(from, to)| !from.is_empty() && from[0] != to[0]);
    let leads_down = |(from, to): &(&Module, &Module)| floor(&to[0]) < floor(&from[0]);
    let up = between_rooms.filter(|arrow| !leads_down(arrow));
    up.map(|(from, to)| format!("{} → {}", shown(from), shown(to)))
        .collect()
}

#[test]
fn every_room_is_on_a_floor() {
    let imports = sources();
    let rooms: BTreeSet<&str> = imports
        .of
        .keys()
        .filter_map(|module| module.first())
        .map(String::as_str)
        .collect();
    let listed: BTreeSet<&str> = FLOORS.iter().copied().flatten().copied().collect();
    assert_eq!(rooms, listed, "the rooms in src/, and those that FLOORS lists");
}

#[test]
fn every_room_imports_only_what_stands_below_it() {
    let up = arrows_up(&sources(), floor);
    assert!(
        up.is_empty(),
        "these imports lead up; move what they need down:\n{}",
        up.join("\n")
    );
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let circle = sources()
        .circle()
        .map(|files| files.iter().map(shown).collect::<Vec<_>>().join(" → "));
    assert_eq!(
        circle, None,
        "these files import each other, the last one the first"
    );
}

/// A made-up crate of two rooms.
fn made_up(files: &[(&str, &str)]) -> Imports {
    Imports::of_texts(
        files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned())),
    )
}

#[test]
fn an_import_that_leads_up_is_found_through_a_re_export_and_in_the_middle_of_code() {
    let imports = made_up(&[
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
    let floors = |room: &str| ["low", "high"].iter().position(|known| *known == room);
    let expected = ["low → high::deep", "low → high::other", "low → high::thing"];
    assert_eq!(arrows_up(&imports, floors), expected);
}

#[test]
fn a_circle_is_found_between_a_folder_and_a_file_in_it() {
    let imports = made_up(&[
        ("lib.rs", "mod room;"),
        (
            "room/mod.rs",
            "mod part;\npub(crate) struct Whole;\nfn f() { part::call() }",
        ),
        ("room/part.rs", "use super::Whole;"),
    ]);
    let circle: Vec<String> = imports.circle().unwrap().iter().map(shown).collect();
    assert_eq!(circle, ["room", "room::part"]);
}
