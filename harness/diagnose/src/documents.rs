//! Splits the output of kubectl into API objects: JSON or YAML, single objects, lists and streams of both, of any size.
//!
//! Lists are parsed item by item, so that neither the text nor the parsed tree is in memory as a whole. Does not know kinds of objects.

use std::fmt;
use std::io::BufRead;

use serde::de::{DeserializeSeed, Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, Value};
use serde_saphyr::budget::BudgetBreach;

use crate::text::shortened;

/// Maximum size of one API object in bytes of YAML. etcd accepts at most 1.5 MiB by default.
const OBJECT_MAX: usize = 16 << 20;
/// Maximum number of maps, lists and scalar values in one API object, after expanding YAML aliases.
const NODES_MAX: usize = 2_000_000;

/// Maximum nesting depth of one YAML object. serde_json has its own limit for JSON.
const DEPTH_MAX: usize = 64;
/// Maximum total size in bytes of the items with anchors that are parsed again together with a later item that has an alias.
const ANCHORS_MAX: usize = 16 << 20;

/// Why a text cannot be split into API objects.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The text cannot be read.
    #[error("{0}; name a file that can be read")]
    Read(#[from] std::io::Error),
    /// The text is not valid JSON or YAML.
    #[error("{place}: not {form}: {problem}; use the complete output of `kubectl get … -o yaml`")]
    Form {
        /// Line and column of the parse error.
        place: String,
        /// The detected format, JSON or YAML.
        form: &'static str,
        /// Message of the parse error.
        problem: String,
    },
    /// An API object exceeds the maximum size.
    #[error(
        "line {line}: an object of more than {} MiB or {NODES_MAX} values; no API server stores one, so remove it",
        OBJECT_MAX >> 20
    )]
    Large {
        /// Number of the first line of the object.
        line: usize,
    },
    /// An API object is nested too deeply.
    #[error(
        "line {line}: an object in which lists and maps nest deeper than {DEPTH_MAX} levels; remove the object"
    )]
    Deep {
        /// Number of the first line of the object.
        line: usize,
    },
    /// Parsing all list items that have YAML aliases would take too long.
    #[error(
        "line {line}: too many items have aliases (`*name`) of anchors in items before them; use the output of `kubectl get … -o yaml`"
    )]
    Aliases {
        /// Line of the first list item that exceeds the limit.
        line: usize,
    },
    /// A document is not an API object.
    #[error(
        "line {line}: not a Kubernetes object: `kind` is missing in {start}; use the output of `kubectl get … -o yaml`"
    )]
    Kind {
        /// Number of the first line of the document.
        line: usize,
        /// The beginning of the document's text.
        start: String,
    },
    /// The text ends before the `kind` of a list, which kubectl writes last, so it was truncated.
    #[error(
        "the list has {0} items and no `kind: List` after them, so the file is truncated; create the dump again"
    )]
    CutOff(usize),
    /// The callback returned this error for an object.
    #[error("{0}")]
    Rejected(String),
}

/// Callback that receives the API objects of a text one by one.
pub type Visit<'a> = dyn FnMut(Value) -> Result<(), String> + 'a;

/// Passes each API object of a text to the callback, and the items of lists one by one. An item without `kind` gets its kind from the list.
pub fn each_object(mut text: impl BufRead, visit: &mut Visit<'_>) -> Result<(), DocumentError> {
    // Skips a byte order mark and whitespace at the start.
    loop {
        let start = text.fill_buf()?;
        let skipped = match start {
            [0xEF, 0xBB, 0xBF, ..] => 3,
            [] => return Ok(()),
            start => start.iter().take_while(|byte| byte.is_ascii_whitespace()).count(),
        };
        if skipped == 0 {
            break;
        }
        text.consume(skipped);
    }
    match is_json(text.fill_buf()?) {
        true => each_of_json(text, visit),
        false => each_of_yaml(text, visit),
    }
}

/// Whether a text with this beginning is JSON. YAML may also start with a brace, but then the first key is rarely quoted.
fn is_json(start: &[u8]) -> bool {
    let mut parts = start.iter().filter(|byte| !byte.is_ascii_whitespace());
    match (parts.next(), parts.next()) {
        (Some(b'{'), second) => matches!(second, Some(b'"' | b'}') | None),
        (Some(b'['), Some(b'{')) => matches!(parts.next(), Some(b'"' | b'}')),
        _ => false,
    }
}

fn each_of_json(text: impl BufRead, visit: &mut Visit<'_>) -> Result<(), DocumentError> {
    let mut source = Deserializer::from_reader(text);
    loop {
        let mut list = ListState {
            visit: &mut *visit,
            items: ListItems::default(),
            fields: 0,
            rejected: None,
        };
        let read = ListState::deserialize(&mut list, &mut source);
        let is_empty = list.is_empty();
        let ListState { items, rejected, .. } = list;
        if let Some(rejected) = rejected {
            return Err(DocumentError::Rejected(rejected));
        }
        match read {
            Ok(rest) => items.end(rest, 1, visit)?,
            Err(error) if error.is_eof() && is_empty => return Ok(()),
            Err(error) => {
                return Err(DocumentError::Form {
                    place: format!("line {} column {}", error.line(), error.column()),
                    form: "JSON",
                    problem: without_position(&error.to_string()),
                });
            }
        }
    }
}

/// State of the items of a JSON or YAML document, if the document is a list.
#[derive(Default)]
struct ListItems {
    /// Items without `kind`, stored until the kind of the list is known.
    without_kind: Vec<Value>,
    /// Number of items read so far. `None`: no list has begun in the document.
    count: Option<usize>,
}

impl ListItems {
    fn add_item(&mut self, item: Value, visit: &mut Visit<'_>) -> Result<(), String> {
        *self.count.get_or_insert_default() += 1;
        match item["kind"].is_null() && item.is_object() {
            true => self.without_kind.push(item),
            false => visit(item)?,
        }
        Ok(())
    }

    /// Ends a JSON or YAML document. `rest`: the fields of the document except the items.
    fn end(self, rest: Value, line: usize, visit: &mut Visit<'_>) -> Result<(), DocumentError> {
        let rejected = DocumentError::Rejected;
        match (rest["kind"].as_str(), self.count) {
            (Some(kind), Some(_)) => {
                let of_items = kind.strip_suffix("List").unwrap_or_default();
                for mut item in self.without_kind {
                    item["kind"] = of_items.into();
                    visit(item).map_err(rejected)?;
                }
                Ok(())
            }
            (None, Some(count)) => Err(DocumentError::CutOff(count)),
            (Some(_), None) => visit(rest).map_err(rejected),
            // A stream may contain empty documents, and a JSON array contains objects.
            (None, None) if rest.is_null() => Ok(()),
            (None, None) => Err(DocumentError::Kind {
                line,
                start: shortened(&rest.to_string()),
            }),
        }
    }
}

/// The state of parsing a JSON document that is possibly a list.
struct ListState<'a, 'b> {
    visit: &'a mut Visit<'b>,
    items: ListItems,
    fields: usize,
    rejected: Option<String>,
}

impl ListState<'_, '_> {
    fn is_empty(&self) -> bool {
        self.fields == 0 && self.items.count.is_none()
    }

    fn deserialize<'de, R: serde_json::de::Read<'de>>(
        &mut self,
        source: &mut Deserializer<R>,
    ) -> Result<Value, serde_json::Error> {
        source.deserialize_any(DocumentVisitor(self))
    }
}

/// Parses a JSON document: passes list items to the callback and returns the remaining fields.
struct DocumentVisitor<'l, 'a, 'b>(&'l mut ListState<'a, 'b>);

impl<'de> Visitor<'de> for DocumentVisitor<'_, '_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object or a list of objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut rest = serde_json::Map::new();
        while let Some(key) = map.next_key::<String>()? {
            self.0.fields += 1;
            match key.as_str() {
                "items" => map.next_value_seed(ItemsSeed(self.0))?,
                _ => drop(rest.insert(key, map.next_value()?)),
            }
        }
        Ok(Value::Object(rest))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        while let Some(item) = seq.next_element::<Value>()? {
            self.0.fields += 1;
            (self.0.visit)(item).map_err(|why| reject(self.0, why))?;
        }
        Ok(Value::Null)
    }
}

/// Parses the items of a JSON list.
struct ItemsSeed<'l, 'a, 'b>(&'l mut ListState<'a, 'b>);

impl<'de> DeserializeSeed<'de> for ItemsSeed<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ItemsSeed<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.items.count.get_or_insert_default();
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.items.count.get_or_insert_default();
        while let Some(item) = seq.next_element::<Value>()? {
            let ListState { items, visit, .. } = &mut *self.0;
            items.add_item(item, visit).map_err(|why| reject(self.0, why))?;
        }
        Ok(())
    }
}

fn reject<E: serde::de::Error>(list: &mut ListState<'_, '_>, why: String) -> E {
    list.rejected = Some(why);
    E::custom("rejected")
}

/// A part of a YAML text: a document, an item of a list, or the lines around the items.
#[derive(Default)]
struct YamlPiece {
    text: String,
    /// Number of the first line in the whole text, counted from 1.
    line: usize,
}

impl YamlPiece {
    fn add(&mut self, line: &str, number: usize) -> Result<(), DocumentError> {
        if self.text.is_empty() {
            self.line = number;
        }
        self.text += line;
        match self.text.len() > OBJECT_MAX {
            true => Err(DocumentError::Large { line: self.line }),
            false => Ok(()),
        }
    }

    /// Parses the part as a value. Null if the text contains only comments.
    fn value(&self) -> Result<Value, DocumentError> {
        let options = serde_saphyr::options! {
            with_snippet: false,
            strict_booleans: true,
            budget: serde_saphyr::budget! {
                max_depth: DEPTH_MAX,
                max_nodes: NODES_MAX,
                max_events: 2 * NODES_MAX,
                max_total_scalar_bytes: OBJECT_MAX,
            },
        };
        let documents: Result<Vec<Value>, _> = serde_saphyr::from_multiple_with_options(&self.text, options);
        let documents = documents.map_err(|error| {
            if let serde_saphyr::Error::Budget { breach, .. } = error.without_snippet() {
                return match breach {
                    BudgetBreach::Depth { .. } => DocumentError::Deep { line: self.line },
                    _ => DocumentError::Large { line: self.line },
                };
            }
            let place = error.location().map_or_else(
                || format!("line {}", self.line),
                |at| {
                    format!(
                        "line {} column {}",
                        u64::try_from(self.line).unwrap_or_default() + at.line() - 1,
                        at.column()
                    )
                },
            );
            DocumentError::Form {
                place,
                form: "YAML",
                problem: without_position(&error.without_snippet().to_string()),
            }
        })?;
        Ok(documents.into_iter().next().unwrap_or(Value::Null))
    }
}

/// Removes from a parser's message the position, which may be relative to a part of the text, and advice for programmers.
fn without_position(message: &str) -> String {
    let end = [" at line ", ", set DuplicateKeyPolicy"];
    let ends = end.iter().filter_map(|end| message.find(end));
    message[..ends.min().unwrap_or(message.len())].to_owned()
}

/// Splits YAML into documents, and lists into items. Looks only at lines: kubectl and other tools write each item below `items:` with a
/// dash at the same indentation.
fn each_of_yaml(mut text: impl BufRead, visit: &mut Visit<'_>) -> Result<(), DocumentError> {
    let (mut line, mut number) = (String::new(), 0);
    let mut document = YamlReader::default();
    loop {
        line.clear();
        let is_last = text.read_line(&mut line)? == 0;
        number += 1;
        let is_separator = line.starts_with("---") || line.trim_end() == "...";
        if is_last || is_separator {
            std::mem::take(&mut document).end(visit)?;
            if is_last {
                return Ok(());
            }
            // A YAML document may start on the line of its `---`.
            line = line.trim_start_matches(['-', '.']).trim_start().to_owned();
            if line.is_empty() {
                continue;
            }
        }
        document.add(&line, number, visit)?;
    }
}

#[derive(Default)]
struct YamlReader {
    /// The lines of the document that belong to no list item.
    rest: YamlPiece,
    /// The indentation of the list items, if the document is a list.
    items: Indentation,
    item: YamlPiece,
    /// Items read before that define YAML anchors, for items that have aliases.
    anchors: String,
    /// Total bytes of items with anchors that were parsed again together with items that have aliases.
    anchors_read: usize,
    list: ListItems,
}

/// Where the list items of a YAML document are.
#[derive(Clone, Copy, Default, PartialEq)]
enum Indentation {
    #[default]
    None,
    /// The previous line was `items:`.
    Begin,
    /// Each item starts with a dash after this number of spaces.
    At(usize),
}

impl YamlReader {
    fn add(&mut self, line: &str, number: usize, visit: &mut Visit<'_>) -> Result<(), DocumentError> {
        let body = line.trim_start_matches(' ');
        let indent = line.len() - body.len();
        let is_blank = body.trim_end().is_empty() || body.starts_with('#');
        let is_dash = body.starts_with("- ") || body.trim_end() == "-";
        if is_blank && self.items != Indentation::None {
            // A blank line or comment may belong to a block scalar of the current item.
            return match self.item.text.is_empty() {
                true => Ok(()),
                false => self.item.add(line, number),
            };
        }
        match self.items {
            Indentation::Begin if is_dash => self.items = Indentation::At(indent),
            Indentation::At(at) if indent < at || (indent == at && !is_dash) => {
                self.flush(visit)?;
                self.items = Indentation::None;
            }
            Indentation::Begin => self.items = Indentation::None,
            Indentation::None | Indentation::At(_) => {}
        }
        match self.items {
            Indentation::At(at) if indent == at => {
                self.flush(visit)?;
                // Replacing the dash by a space retains the columns of the map.
                self.item.add(&line.replacen('-', " ", 1), number)
            }
            Indentation::At(_) => self.item.add(line, number),
            Indentation::None | Indentation::Begin => {
                if indent == 0 && body.trim_end() == "items:" {
                    self.items = Indentation::Begin;
                    self.list.count.get_or_insert_default();
                    return Ok(());
                }
                self.rest.add(line, number)
            }
        }
    }

    fn flush(&mut self, visit: &mut Visit<'_>) -> Result<(), DocumentError> {
        let item = std::mem::take(&mut self.item);
        if item.text.is_empty() {
            return Ok(());
        }
        let value = self.value(&item)?;
        self.list.add_item(value, visit).map_err(DocumentError::Rejected)
    }

    /// Parses a list item. kubectl writes no YAML anchors, but tools that rewrite its output may.
    fn value(&mut self, item: &YamlPiece) -> Result<Value, DocumentError> {
        let has = |mark: char| {
            [": ", "- "]
                .iter()
                .any(|before| item.text.contains(&format!("{before}{mark}")))
        };
        let (defines, uses) = (has('&'), has('*'));
        if !defines && !uses {
            return item.value();
        }
        let at = match self.items {
            Indentation::At(at) => at,
            Indentation::None | Indentation::Begin => 0,
        };
        self.anchors_read += self.anchors.len();
        if self.anchors_read > ANCHORS_MAX {
            return Err(DocumentError::Aliases { line: item.line });
        }
        // Restores the dash of the item, which was replaced by a space.
        let mut dashed = item.text.clone();
        dashed.replace_range(at..=at, "-");
        let with_anchors = YamlPiece {
            line: item.line.saturating_sub(self.anchors.lines().count()),
            text: format!("{}{dashed}", self.anchors),
        };
        let mut all = match uses {
            true => with_anchors.value()?,
            false => item.value()?,
        };
        if defines && self.anchors.len() + dashed.len() <= OBJECT_MAX {
            self.anchors += &dashed;
        }
        Ok(match all.as_array_mut().and_then(Vec::pop) {
            Some(last) if uses => last,
            _ => all,
        })
    }

    fn end(mut self, visit: &mut Visit<'_>) -> Result<(), DocumentError> {
        self.flush(visit)?;
        let mut rest = self.rest.value()?;
        // The items of a list in flow style, such as `items: [...]`, are still in the document, because only lines with a dash were split.
        if let Some(items) = rest.get_mut("items").and_then(Value::as_array_mut) {
            self.list.count.get_or_insert_default();
            for item in std::mem::take(items) {
                self.list.add_item(item, visit).map_err(DocumentError::Rejected)?;
            }
        }
        self.list.end(rest, self.rest.line, visit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The API objects of a text as kind/name, or the error.
    fn object_names(text: &str) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        let mut visit = |object: Value| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            names.push(format!(
                "{}/{}",
                text(&object["kind"]),
                text(&object["metadata"]["name"])
            ));
            Ok(())
        };
        each_object(text.as_bytes(), &mut visit).map_err(|error| error.to_string())?;
        Ok(names)
    }

    #[test]
    fn all_output_formats_of_kubectl_are_parsed() {
        let two = Ok(vec!["Pod/a".to_owned(), "Pod/b".to_owned()]);
        for text in [
            "apiVersion: v1\nitems:\n- kind: Pod\n  metadata:\n    name: a\n- kind: Pod\n  metadata: {name: b}\nkind: List\nmetadata: {}\n",
            "kind: List\nitems:\n  - kind: Pod\n    metadata: {name: a}\n\n  # the second\n  -\n    kind: Pod\n    metadata: {name: b}\n",
            "kind: PodList\nitems: [{metadata: {name: a}}, {metadata: {name: b}}]\n",
            "items:\n- metadata: {name: a}\n- metadata: {name: b}\nkind: PodList\n",
            "items:\n- kind: &kind Pod\n  metadata: {name: a}\n- kind: *kind\n  metadata: {name: b}\nkind: List\n",
            "kind: Pod\nmetadata: {name: a}\n---\n# nothing\n---\nkind: Pod\nmetadata: {name: b}\n...\n",
            "--- {kind: Pod, metadata: {name: a}}\n--- {kind: Pod, metadata: {name: b}}\n",
            r#"{"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "a"}}, {"kind": "Pod", "metadata": {"name": "b"}}]}"#,
            r#"{"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}], "kind": "PodList"}"#,
            "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"}}\n{\"kind\": \"Pod\", \"metadata\": {\"name\": \"b\"}}\n",
            r#"[{"kind": "Pod", "metadata": {"name": "a"}}, {"kind": "Pod", "metadata": {"name": "b"}}]"#,
            "\u{feff}\n  {\"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"}} {\"kind\": \"Pod\", \"metadata\": {\"name\": \"b\"}}",
        ] {
            assert_eq!(object_names(text), two, "{text}");
        }
        for nothing in [
            "",
            "\n# only a comment\n",
            "kind: List\nitems: []\n",
            "items:\nkind: List\n",
            "{\"items\": null, \"kind\": \"List\"}",
        ] {
            assert_eq!(object_names(nothing), Ok(Vec::new()), "{nothing}");
        }
    }

    #[test]
    fn a_block_scalar_in_an_item_is_not_an_item() {
        let text = "items:\n- kind: ConfigMap\n  metadata: {name: a}\n  data:\n    list: |\n      items:\n      - x\n\n      - y\n- kind: Pod\n  metadata: {name: b}\nkind: List\n";
        assert_eq!(
            object_names(text),
            Ok(vec!["ConfigMap/a".to_owned(), "Pod/b".to_owned()])
        );
    }

    #[test]
    fn errors_contain_line_and_column() {
        for (text, expected) in [
            (
                "items:\n- kind: Pod\n- kind: [\nkind: List\n",
                "line 3 column 9: not YAML",
            ),
            ("kind: Pod\nmetadata: {name: a\n---\nkind: Pod\n", "not YAML"),
            (
                "{\"kind\": \"Pod\",\n \"metadata\": }",
                "line 2 column 14: not JSON",
            ),
            (
                "items:\n- kind: Pod\n",
                "the list has 1 items and no `kind: List` after them",
            ),
            (
                "{\"items\": [{\"kind\": \"Pod\"}]}",
                "the list has 1 items and no `kind: List`",
            ),
            (
                "\nfoo: bar\n",
                "line 1: not a Kubernetes object: `kind` is missing in {\"foo\":\"bar\"}",
            ),
            ("just words\n", "line 1: not a Kubernetes object"),
        ] {
            let error = object_names(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let large = format!("kind: Pod\ndata: {}\n", "x".repeat(OBJECT_MAX));
        assert!(
            object_names(&large)
                .unwrap_err()
                .contains("line 1: an object of more than 16 MiB")
        );
        let many = format!(
            "kind: List\nitems:\n- kind: Pod\n  list: [{}]\n",
            "1,".repeat(NODES_MAX)
        );
        assert!(
            object_names(&many)
                .unwrap_err()
                .contains("line 3: an object of more than"),
            "{:?}",
            object_names(&many)
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_or_fails(text in "(items:|kind: List|kind: Pod|- |  |\n|a: |\\{|\\}|\\[|\\]|\"|,|&a |\\*a |\\||---|#|é)*") {
            drop(object_names(&text));
        }

        #[test]
        fn a_list_has_the_same_objects_in_json_and_yaml(texts in proptest::collection::vec("[ -~\n]{0,40}", 0..6)) {
            let items: Vec<Value> = texts
                .iter()
                .map(|text| serde_json::json!({"kind": "ConfigMap", "metadata": {"name": text}, "data": {"text": text}}))
                .collect();
            let list = serde_json::json!({"apiVersion": "v1", "items": items, "kind": "List"});
            let expected: Vec<String> = texts.iter().map(|text| format!("ConfigMap/{text}")).collect();
            proptest::prop_assert_eq!(object_names(&list.to_string()), Ok(expected.clone()));
            let yaml = serde_saphyr::to_string(&list).unwrap();
            proptest::prop_assert_eq!(object_names(&yaml), Ok(expected), "{}", yaml);
        }
    }
}
