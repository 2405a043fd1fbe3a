//! Generates two Rust lists: the files in `cases` and the files in `manifests`, with their contents. Does not know the formats of the
//! files.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of each generated list, and its source folder.
const LISTS: [(&str, &str); 2] = [("CASES", "../cases"), ("MANIFESTS", "../manifests")];

fn main() {
    let mut text = String::new();
    for (name, folder) in LISTS {
        println!("cargo::rerun-if-changed={folder}");
        let folder = fs::canonicalize(folder).expect("folder exists");
        writeln!(text, "{}", list(name, &folder)).expect("writing to a string cannot fail");
    }
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("files.rs"), text).expect("OUT_DIR is writable");
}

fn list(name: &str, folder: &Path) -> String {
    let mut files = files_in(folder);
    files.sort();
    let of = if name == "CASES" { "case file" } else { "manifest" };
    let mut text = format!(
        "/// The id and the text of each {of}, in the order of the ids.\npub static {name}: &[(&str, &str)] = &[\n"
    );
    for path in files {
        let id = path
            .strip_prefix(folder)
            .expect("file is below the folder")
            .with_extension("");
        writeln!(
            text,
            "    ({:?}, include_str!({path:?})),",
            id.display().to_string()
        )
        .expect("writing to a string cannot fail");
    }
    text + "];"
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("folder is readable");
    let paths = entries.map(|entry| entry.expect("folder is readable").path());
    let each = paths.flat_map(|path| match path.is_dir() {
        true => files_in(&path),
        false => vec![path],
    });
    each.collect()
}
