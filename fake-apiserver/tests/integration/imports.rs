//! The imports between the source files of a crate, determined from their text.
//!
//! Parses `use` statements and paths without a compiler. Importing a name that a `mod.rs` re-exports counts as importing the file that
//! defines the name. Unit tests inside the files are excluded. Does not know which imports are allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The module path of a source file, such as `["kinds", "row"]`; empty for the crate root.
pub(crate) type Module = Vec<String>;

/// Which source files each source file of a crate imports.
pub(crate) struct Imports {
    pub(crate) of: BTreeMap<Module, BTreeSet<Module>>,
}

struct Source {
    text: String,
    /// Names that the file imports or re-exports, each with the module path that defines the name.
    names: BTreeMap<String, Module>,
    /// Whether the file is a `mod.rs` or the crate root: public imports in such a file are re-exports and do not count as its own imports.
    is_folder: bool,
}

impl Imports {
    /// Reads the Rust sources in a folder and its subfolders.
    pub(crate) fn read(src: &Path) -> Self {
        let mut files = Vec::new();
        collect(src, src, &mut files);
        Self::of_texts(files)
    }

    /// Parses Rust sources, given by their path relative to the crate root, such as `kinds/node.rs`.
    pub(crate) fn of_texts(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut sources: BTreeMap<Module, Source> = BTreeMap::new();
        for (path, text) in files {
            let (module, is_folder) = module_of(&path);
            let text = without_tests_and_comments(&text);
            let source = Source {
                text,
                names: BTreeMap::new(),
                is_folder,
            };
            sources.insert(module, source);
        }
        let modules: BTreeSet<Module> = sources.keys().cloned().collect();
        for (module, source) in &mut sources {
            let uses = uses(&source.text);
            let names = uses
                .iter()
                .filter_map(|(_, name, path)| Some((name.clone(), resolve_path(module, path, &modules)?)));
            source.names = names.collect();
        }
        let of = sources
            .keys()
            .map(|module| (module.clone(), imports(module, &sources, &modules)));
        Self { of: of.collect() }
    }

    /// An import cycle, if any: each file imports the next file, and the last file imports the first.
    pub(crate) fn find_cycle(&self) -> Option<Vec<Module>> {
        let mut done = BTreeSet::new();
        self.of
            .keys()
            .find_map(|start| self.find_cycle_from(start, &mut Vec::new(), &mut done))
    }

    fn find_cycle_from(
        &self,
        at: &Module,
        way: &mut Vec<Module>,
        done: &mut BTreeSet<Module>,
    ) -> Option<Vec<Module>> {
        if let Some(since) = way.iter().position(|passed| passed == at) {
            return Some(way[since..].to_vec());
        }
        if done.contains(at) {
            return None;
        }
        way.push(at.clone());
        let found = self.of[at]
            .iter()
            .find_map(|next| self.find_cycle_from(next, way, done));
        way.pop();
        done.insert(at.clone());
        found
    }
}

/// Formats a module path for messages: `kinds::node`.
pub(crate) fn format_module(module: &Module) -> String {
    module.join("::")
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

fn module_of(path: &str) -> (Module, bool) {
    let mut module: Module = path
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    let is_folder = module
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    if is_folder {
        module.pop();
    }
    (module, is_folder)
}

fn without_tests_and_comments(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The `use` statements of a file, one entry per imported name: whether the import is public, the name, and the path.
fn uses(text: &str) -> Vec<(bool, String, Module)> {
    let mut found = Vec::new();
    for (statement, is_public) in statements(text) {
        let flat: String = statement.split_whitespace().collect::<Vec<_>>().join(" ");
        expand(&flat, &[], &mut |path, name| found.push((is_public, name, path)));
    }
    found
}

/// The text of each `use` statement without `use` and `;`, and whether `pub` precedes `use`.
fn statements(text: &str) -> Vec<(&str, bool)> {
    let starts = text.match_indices("use ").filter(|(at, _)| {
        let line = text[..*at].rsplit('\n').next().unwrap_or_default().trim();
        line.is_empty() || line.starts_with("pub")
    });
    let statement = |(at, _): (usize, &str)| {
        let is_public = text[..at]
            .rsplit('\n')
            .next()
            .is_some_and(|line| line.contains("pub"));
        let rest = &text[at + "use ".len()..];
        rest.split_once(';').map(|(statement, _)| (statement, is_public))
    };
    starts.filter_map(statement).collect()
}

/// Expands `a::{b, c::{d as e}}` to single paths, each with the local name that the import introduces.
fn expand(tree: &str, before: &[String], found: &mut impl FnMut(Module, String)) {
    let (mut depth, mut start) = (0, 0);
    let ends = tree.char_indices().filter(|(_, c)| {
        depth += i32::from(*c == '{') - i32::from(*c == '}');
        *c == ',' && depth == 0
    });
    let ends: Vec<usize> = ends.map(|(at, _)| at).chain([tree.len()]).collect();
    for end in ends {
        let item = tree[start..end].trim();
        start = (end + 1).min(tree.len());
        let mut path = before.to_vec();
        if let Some((outer, inner)) = item.split_once("::{") {
            path.extend(outer.split("::").map(str::to_owned));
            expand(inner.trim_end_matches('}'), &path, found);
        } else if !item.is_empty() {
            let (single, alias) = item
                .split_once(" as ")
                .map_or((item, None), |(path, name)| (path, Some(name)));
            path.extend(single.split("::").map(|part| part.trim().to_owned()));
            if path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            let name = alias.map(str::to_owned).or_else(|| path.last().cloned());
            found(path, name.unwrap_or_default());
        }
    }
}

/// Resolves a module path to a path from the crate root; None for paths to other crates.
fn resolve_path(module: &Module, path: &[String], modules: &BTreeSet<Module>) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    let mut base = module.clone();
    match first.as_str() {
        "crate" => return Some(rest.to_vec()),
        "self" => {}
        "super" => {
            base.pop();
            let ups = rest.iter().take_while(|part| *part == "super").count();
            base.truncate(base.len().saturating_sub(ups));
            return Some(base.into_iter().chain(rest[ups..].iter().cloned()).collect());
        }
        child => {
            base.push(child.to_owned());
            if !modules.contains(&base) {
                return None;
            }
        }
    }
    Some(base.into_iter().chain(rest.iter().cloned()).collect())
}

fn imports(
    module: &Module,
    sources: &BTreeMap<Module, Source>,
    modules: &BTreeSet<Module>,
) -> BTreeSet<Module> {
    let source = &sources[module];
    let used = uses(&source.text).into_iter();
    let used = used
        .filter(|(is_public, ..)| !(*is_public && source.is_folder))
        .map(|(_, _, path)| path);
    let paths = used.chain(paths(&source.text));
    let targets = paths.filter_map(|path| Some(file_of(&resolve_path(module, &path, modules)?, sources, 0)));
    targets
        .filter(|target| target != module && !target.is_empty())
        .collect()
}

/// The source file that defines the name at a path; re-exports are followed.
fn file_of(path: &[String], sources: &BTreeMap<Module, Source>, depth: usize) -> Module {
    /// Maximum number of followed re-exports.
    const DEPTH_MAX: usize = 8;
    let known = (0..=path.len())
        .rev()
        .find(|end| sources.contains_key(&path[..*end]));
    let (file, rest) = path.split_at(known.unwrap_or_default());
    let handed_on = rest.first().and_then(|name| sources.get(file)?.names.get(name));
    match handed_on {
        Some(target) if depth < DEPTH_MAX => {
            let further: Module = target.iter().chain(&rest[1..]).cloned().collect();
            file_of(&further, sources, depth + 1)
        }
        _ => file.to_vec(),
    }
}

/// The module paths in the code of a file, except those in `use` statements.
fn paths(text: &str) -> Vec<Module> {
    let mut code = text.to_owned();
    for (statement, _) in statements(text) {
        code = code.replace(&format!("use {statement};"), "");
    }
    // `pub(in path)` is a visibility, not an import.
    let code = code.replace("pub(in crate::", "pub(in ");
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let path = |word: &str| {
        let path: Module = word.trim_matches(':').split("::").map(str::to_owned).collect();
        (path.len() > 1 && path.iter().all(|part| !part.is_empty())).then_some(path)
    };
    words.filter_map(path).collect()
}
