//! API objects in a manifest: objects that a program needs, and patches that set a driver's storage. Both are templates with placeholders.
//!
//! Does not know how objects are sent to an API server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fake_apiserver::ResourceRef;
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Location;

use super::template::Template;
use crate::driver_state::{NodeStorage, ObjectPatch, ProgramObjects};
use crate::scenario::{ScenarioError, Spanned, yaml_error};
use crate::text::read_text_file;

/// Placeholders that API objects in a manifest may contain.
const OF_NODE: [&str; 1] = ["node"];
/// Placeholders that patches in a manifest may contain.
const OF_CHANGE: [&str; 3] = ["node", "available", "maximum"];

/// API objects in a manifest that exist before the program starts, from a file or inline.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ObjectsFile {
    /// A file or a folder of files, relative to the manifest.
    file: Option<Spanned<String>>,
    /// Inline YAML documents. Documents that contain `{node}` are created once per node.
    text: Option<Spanned<String>>,
}

/// A patch that the harness applies when a case sets the storage of a node.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ChangeFile {
    /// Plural resource name, with its API group unless it is in the core group: `nodes`, `nodes.example.com`.
    resource: Spanned<String>,
    namespace: Option<Spanned<String>>,
    name: Spanned<String>,
    subresource: Option<Spanned<String>>,
    /// A JSON merge patch that contains `{available}` and `{maximum}`.
    patch: Spanned<String>,
}

/// The validated API objects and patches of a role.
#[derive(Debug)]
pub(super) struct Objects {
    objects: Vec<ObjectTexts>,
    changes: Vec<PatchTemplate>,
}

#[derive(Debug)]
enum ObjectTexts {
    FromFile(Vec<Value>),
    /// Inline YAML documents that contain placeholders.
    Inline(Template),
}

#[derive(Debug)]
struct PatchTemplate {
    group: String,
    plural: String,
    namespace: Option<Template>,
    name: Template,
    subresource: Option<String>,
    patch: Template,
}

pub(super) type ErrorAt<'a> = &'a dyn Fn(Location, String) -> ScenarioError;

impl Objects {
    /// Reads and validates the API objects and patches of a role. Paths of files are relative to `folder`.
    pub(super) fn read(
        folder: &Path,
        (objects, changes): (&[Spanned<ObjectsFile>], &[Spanned<ChangeFile>]),
        error_at: ErrorAt<'_>,
    ) -> Result<Self, ScenarioError> {
        let mut read = Vec::new();
        for spec in objects {
            match (&spec.value.file, &spec.value.text) {
                (Some(file), None) => read.extend(read_files(folder, file, error_at)?),
                (None, Some(text)) => read.push(parse_inline(text, error_at)?),
                (Some(text), Some(_)) => {
                    return Err(error_at(
                        text.defined,
                        "an entry of `objects` has both `file` and `text`; remove one".to_owned(),
                    ));
                }
                (None, None) => {
                    let message = "an entry of `objects` needs `file` or `text`";
                    return Err(error_at(spec.defined, message.to_owned()));
                }
            }
        }
        let changes = changes
            .iter()
            .map(|spec| parse_patch_template(&spec.value, error_at));
        Ok(Objects {
            objects: read,
            changes: changes.collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.changes.is_empty()
    }

    /// Whether a patch sets the storage of the driver.
    pub(super) fn can_set_storage(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Whether a patch sets the driver's maximum volume size.
    pub(super) fn can_set_maximum(&self) -> bool {
        self.changes.iter().any(|change| change.patch.contains("maximum"))
    }

    fn documents(&self, node: Option<&str>) -> Result<Vec<Value>, String> {
        let mut all = Vec::new();
        for object in &self.objects {
            match (object, node) {
                (ObjectTexts::FromFile(objects), None) => all.extend(objects.iter().cloned()),
                (ObjectTexts::Inline(text), _) if text.contains("node") == node.is_some() => {
                    all.extend(parse_objects(&text.fill(&placeholder_values(
                        node.unwrap_or_default(),
                        NodeStorage::default(),
                    )))?);
                }
                _ => {}
            }
        }
        Ok(all)
    }
}

impl ProgramObjects for Objects {
    fn common_objects(&self) -> Result<Vec<Value>, String> {
        self.documents(None)
    }

    fn of_node(&self, node: &str) -> Result<Vec<Value>, String> {
        self.documents(Some(node))
    }

    fn storage_patches(&self, node: &str, storage: NodeStorage) -> Result<Vec<ObjectPatch>, String> {
        let values = placeholder_values(node, storage);
        let changes = self.changes.iter().map(|change| {
            let at = ResourceRef::new(&change.group, &change.plural);
            let at = match &change.namespace {
                Some(namespace) => at.namespace(&namespace.fill(&values)),
                None => at,
            };
            Ok(ObjectPatch {
                at: at.name(&change.name.fill(&values)),
                subresource: change.subresource.clone(),
                patch: parse_merge_patch(&change.patch.fill(&values))?,
            })
        });
        changes.collect()
    }
}

fn placeholder_values(node: &str, storage: NodeStorage) -> BTreeMap<String, String> {
    [
        ("node", node.to_owned()),
        ("available", storage.available.to_string()),
        ("maximum", storage.maximum.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Reads the API objects of a file, or of all files of a folder, sorted by file name.
fn read_files(
    folder: &Path,
    file: &Spanned<String>,
    error_at: ErrorAt<'_>,
) -> Result<Vec<ObjectTexts>, ScenarioError> {
    let path = folder.join(&file.value);
    let unreadable = |path: &Path, error: std::io::Error| {
        let shown = path.display();
        let remedy = "copy the file from the program's repository to this path, or correct `file`";
        error_at(file.defined, format!("{shown} cannot be read: {error}; {remedy}"))
    };
    let paths = match path.is_dir() {
        true => files_of(&path).map_err(|error| unreadable(&path, error))?,
        false => vec![path],
    };
    let read = |path: &PathBuf| {
        let text = read_text_file(path).map_err(|error| unreadable(path, error))?;
        let objects = parse_objects(&text)
            .map_err(|message| error_at(file.defined, format!("{}: {message}", path.display())))?;
        Ok(ObjectTexts::FromFile(objects))
    };
    paths.iter().map(read).collect()
}

/// The YAML and JSON files of a folder, sorted by name.
fn files_of(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_text = path
            .extension()
            .is_some_and(|end| end == "yaml" || end == "yml" || end == "json");
        paths.extend(is_text.then_some(path));
    }
    paths.sort();
    Ok(paths)
}

fn parse_inline(text: &Spanned<String>, error_at: ErrorAt<'_>) -> Result<ObjectTexts, ScenarioError> {
    let template = Template::parse_with_known_names(&text.value, &OF_NODE)
        .map_err(|message| error_at(text.defined, message))?;
    let sample = template.fill(&placeholder_values("n1", NodeStorage::default()));
    parse_objects(&sample).map_err(|message| error_at(text.defined, message))?;
    Ok(ObjectTexts::Inline(template))
}

fn parse_patch_template(file: &ChangeFile, error_at: ErrorAt<'_>) -> Result<PatchTemplate, ScenarioError> {
    let template = |text: &Spanned<String>, names: &[&str]| {
        Template::parse_with_known_names(&text.value, names)
            .map_err(|message| error_at(text.defined, message))
    };
    let patch_text = template(&file.patch, &OF_CHANGE)?;
    if !patch_text.contains("available") {
        let message =
            "the patch does not contain `{available}`, so a case could not change the driver's storage";
        return Err(error_at(file.patch.defined, message.to_owned()));
    }
    let sample = patch_text.fill(&placeholder_values("n1", NodeStorage::default()));
    parse_merge_patch(&sample).map_err(|message| error_at(file.patch.defined, message))?;
    let (plural, group) = file
        .resource
        .value
        .split_once('.')
        .unwrap_or((&file.resource.value, ""));
    Ok(PatchTemplate {
        group: group.to_owned(),
        plural: plural.to_owned(),
        namespace: file
            .namespace
            .as_ref()
            .map(|text| template(text, &OF_NODE))
            .transpose()?,
        name: template(&file.name, &OF_NODE)?,
        subresource: file.subresource.as_ref().map(|text| text.value.clone()),
        patch: patch_text,
    })
}

/// Parses a YAML text as API objects, which must have apiVersion, kind and name.
fn parse_objects(text: &str) -> Result<Vec<Value>, String> {
    let all: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| describe_error(text, &error))?;
    let objects: Vec<Value> = all.into_iter().filter(|object| !object.is_null()).collect();
    for (index, object) in objects.iter().enumerate() {
        let missing = ["/apiVersion", "/kind", "/metadata/name"]
            .into_iter()
            .find(|field| object.pointer(field).and_then(Value::as_str).is_none());
        if let Some(missing) = missing {
            let field = missing.trim_start_matches('/').replace('/', ".");
            return Err(format!("document {} has no {field}; add it", index + 1));
        }
    }
    Ok(objects)
}

fn parse_merge_patch(text: &str) -> Result<Value, String> {
    let patch: Value = serde_saphyr::from_str(text).map_err(|error| describe_error(text, &error))?;
    match patch.is_object() {
        true => Ok(patch),
        false => Err("a patch is a map of the fields that change".to_owned()),
    }
}

/// Formats an error in a YAML text embedded in the manifest. Line 1 is the first line of the embedded text.
fn describe_error(text: &str, error: &serde_saphyr::Error) -> String {
    match yaml_error(text, error) {
        (Some((line, column)), message) => format!("line {line}, column {column}: {message}"),
        (None, message) => message,
    }
}
