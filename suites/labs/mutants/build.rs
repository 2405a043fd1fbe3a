//! Copies the sources of the reference publisher and scheduler, and applies the edits of `mutants.diff` to the copies, each behind a
//! runtime switch.
//!
//! Owns the format of `mutants.diff`. If the old text of an edit is no longer in the sources, the build fails with the names of the mutant
//! and the file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The reference implementations: module name of the copy, and source folder.
const REFERENCES: [(&str, &str); 2] = [
    ("publisher", "../../../harness/publisher/src"),
    ("scheduler", "../../../harness/scheduler/src"),
];

const MUTANTS: &str = "mutants.diff";

/// Mutant name in `mutants.diff` for edits that are always applied, because several mutants need them.
const ALWAYS: &str = ".";

/// Placeholder in the new text of an edit, replaced by the condition that the edit's mutant is active.
const SWITCH: &str = "$on";

/// An edit of a source file, as listed in `mutants.diff`.
struct Edit {
    mutant: String,
    /// Line number of the edit in `mutants.diff`.
    line: usize,
    file: String,
    old: String,
    new: String,
}

/// An edit, and the byte range in the source text that the edit replaces.
struct LocatedEdit<'a> {
    start: usize,
    end: usize,
    edit: &'a Edit,
}

fn main() {
    println!("cargo::rerun-if-changed={MUTANTS}");
    let text = fs::read_to_string(MUTANTS).expect("mutants.diff is readable");
    let edits = parse(&text);
    let names = names(&edits);
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut by_file: BTreeMap<&str, Vec<&Edit>> = BTreeMap::new();
    for edit in &edits {
        by_file.entry(&edit.file).or_default().push(edit);
    }
    for (module, folder) in REFERENCES {
        println!("cargo::rerun-if-changed={folder}");
        for file in sources(Path::new(folder)) {
            let name = file.strip_prefix(folder).expect("file is below the folder");
            if name == Path::new("main.rs") {
                continue;
            }
            let source = fs::read_to_string(&file).expect("source is readable");
            let edits = by_file.remove(&*format!("{module}/{}", name.display()));
            let mutated = mutate(&source, &edits.unwrap_or_default(), &names);
            let copy = out.join(module).join(name);
            fs::create_dir_all(copy.parent().expect("path has a parent")).expect("OUT_DIR can be written");
            fs::write(copy, convert_to_module(&mutated, module, name)).expect("OUT_DIR can be written");
        }
    }
    if let Some((file, edits)) = by_file.first_key_value() {
        panic!("{MUTANTS}:{}: there is no file {file}", edits[0].line);
    }
    let list: String = names.iter().fold(String::new(), |mut list, name| {
        writeln!(list, "    {name:?},").expect("writing to a string cannot fail");
        list
    });
    let list = format!("[\n{list}]");
    fs::write(out.join("names.rs"), list).expect("OUT_DIR can be written");
}

/// The names of all mutants, in the order of `mutants.diff`.
fn names(edits: &[Edit]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for edit in edits {
        if edit.mutant != ALWAYS && !names.contains(&&*edit.mutant) {
            names.push(&edit.mutant);
        }
    }
    names
}

fn parse(text: &str) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        if let Some(head) = line.strip_prefix("@@ ") {
            let (mutant, file) = head.split_once(' ').expect("@@ NAME FILE");
            edits.push(Edit {
                mutant: mutant.to_owned(),
                line: number,
                file: file.to_owned(),
                old: String::new(),
                new: String::new(),
            });
            continue;
        }
        let edit = edits.last_mut().expect("an edit begins with @@ NAME FILE");
        let (sign, rest) = line.split_at(1);
        let side = match sign {
            "-" => &mut edit.old,
            "+" => &mut edit.new,
            _ => panic!("{MUTANTS}:{number}: a line begins with @@, -, + or #"),
        };
        side.push_str(rest);
        side.push('\n');
    }
    edits
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("source folder is readable");
    let paths = entries.map(|entry| entry.expect("source folder is readable").path());
    let each = paths.flat_map(|path| match path.is_dir() {
        true => sources(&path),
        false => vec![path],
    });
    each.collect()
}

/// Returns the source text with all edits applied, each behind the runtime switch of its mutant.
fn mutate(source: &str, edits: &[&Edit], names: &[&str]) -> String {
    let mut located: Vec<LocatedEdit<'_>> = edits.iter().map(|edit| locate(source, edit)).collect();
    located.sort_by_key(|it| it.start);
    let (mut text, mut done) = (String::new(), 0);
    for group in located.chunk_by(|left, right| (left.start, left.end) == (right.start, right.end)) {
        let LocatedEdit { start, end, edit } = group[0];
        assert!(
            start >= done,
            "{MUTANTS}:{}: {} overlaps with another mutant; edit a smaller range, or exactly the same one",
            edit.line,
            edit.mutant
        );
        text.push_str(&source[done..start]);
        let group: Vec<&Edit> = group.iter().map(|it| it.edit).collect();
        text.push_str(&combine_edits(&source[start..end], &group, names));
        done = end;
    }
    text.push_str(&source[done..]);
    text
}

/// Finds the text to replace in the source, ignoring white space. The text must occur exactly once.
fn locate<'a>(source: &str, edit: &'a Edit) -> LocatedEdit<'a> {
    let letters: Vec<(usize, char)> = source
        .char_indices()
        .filter(|(_, letter)| !letter.is_whitespace())
        .collect();
    let old: Vec<char> = edit
        .old
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    assert!(!old.is_empty(), "{MUTANTS}:{}: the old text is empty", edit.line);
    let windows = letters.windows(old.len());
    let mut found = windows.filter(|window| window.iter().map(|(_, letter)| letter).eq(&old));
    let (first, second) = (found.next(), found.next());
    let (Some(first), None) = (first, second) else {
        let often = if first.is_some() { "several times" } else { "not" };
        panic!(
            "{MUTANTS}:{}: the old text of {} is {often} in {}; correct it",
            edit.line, edit.mutant, edit.file
        );
    };
    let (last, letter) = first[first.len() - 1];
    LocatedEdit {
        start: first[0].0,
        end: last + letter.len_utf8(),
        edit,
    }
}

/// Combines the edits that replace the same byte range. An edit without the placeholder `$on` must replace an expression.
fn combine_edits(old: &str, edits: &[&Edit], names: &[&str]) -> String {
    let on = |edit: &Edit| {
        let number = names.iter().position(|name| *name == edit.mutant);
        format!("$mutant::is_active({})", number.map_or(0, |number| number + 1))
    };
    if let [edit] = edits
        && (edit.mutant == ALWAYS || edit.new.contains(SWITCH))
    {
        return edit.new.replace(SWITCH, &on(edit));
    }
    let mut text = String::from("(");
    for edit in edits {
        assert!(
            !edit.new.contains(SWITCH),
            "{MUTANTS}:{}: {SWITCH} is not allowed where several mutants edit the same range",
            edit.line
        );
        write!(text, "if {} {{ {} }} else ", on(edit), edit.new).expect("writing to a string cannot fail");
    }
    write!(text, "{{ {old} }})").expect("writing to a string cannot fail");
    text
}

/// Converts the source of a crate root or module to a module of the crate of mutants.
fn convert_to_module(text: &str, module: &str, name: &Path) -> String {
    let text = text
        .replace("crate::", &format!("crate::{module}::"))
        .replace("$mutant::", "crate::mutant::")
        // Leaves out unit tests: the tests of the references run in their own crates.
        .replace("#[cfg(test)]", "#[cfg(any())]");
    if name != Path::new("lib.rs") {
        return text;
    }
    let lines = text.lines().filter(|line| !line.starts_with("//!"));
    lines.collect::<Vec<_>>().join("\n")
}
