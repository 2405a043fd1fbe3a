//! Columns of `kubectl get`, and the content of their cells.
//!
//! Owns the model of a column and cells that many kinds have; cells of only one kind are in the file of that kind. Does not build the Table
//! object. Ages are relative to the time of the request, as in kube-apiserver.

pub use super::ages::since;
use super::printer::PrinterColumn;
use crate::machinery::{json, metadata};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The columns that `kubectl get` shows for a kind.
#[derive(Clone, Copy)]
pub(crate) enum Columns<'a> {
    /// The columns of a built-in resource.
    Table(&'static [Column]),
    /// The columns that a CRD defines in `additionalPrinterColumns`.
    Defined(&'a [PrinterColumn]),
}

/// A column of `kubectl get`, for objects of a built-in kind.
pub struct Column {
    /// Column title, such as `Ready`.
    pub name: &'static str,
    /// JSON type of the cells, such as `string`.
    pub of: &'static str,
    /// The OpenAPI format of the cells; `name` for a column with the name of the object.
    pub format: &'static str,
    /// 1 if the column is shown with `-o wide` only.
    pub priority: u8,
    /// How a cell is computed from the object.
    pub cell: Cell,
}

/// How a cell of `kubectl get` is computed. For an unset field, a string is empty and a number is 0, unless a default is given.
pub enum Cell {
    /// The string at a JSON pointer.
    Text(&'static str),
    /// The string at a JSON pointer, and the default for an empty string.
    TextOr(&'static str, &'static str),
    /// The integer at a JSON pointer.
    Number(&'static str),
    /// The integer at a JSON pointer as a string, and the default for an unset integer.
    Digits(&'static str, &'static str),
    /// The value at a JSON pointer, of any type.
    Plain(&'static str),
    /// Whether the field at a JSON pointer is `true`.
    Flag(&'static str),
    /// The number of entries of the list or map at a JSON pointer.
    Count(&'static str),
    /// The strings of the list at a JSON pointer, and the default for an empty list.
    Join(&'static str, &'static str),
    /// The label selector at a JSON pointer.
    Labels(&'static str),
    /// The value that this function computes from the object.
    Of(fn(&Value) -> Value),
    /// The value that this function computes from the object and the time of the request, for ages.
    At(fn(&Value, Timestamp) -> Value),
}
use Cell::{At, Digits, Flag, Join, Labels, Number, Of, Plain, Text, TextOr};

/// The column `Name`: the name of the object.
pub const NAME: Column = name("Name", Text("/metadata/name"));
/// The column `Age`: the time since the creation of the object.
pub const AGE: Column = text("Age", At(age));

/// The columns of kinds that have no columns of their own.
pub static NAME_AND_AGE: &[Column] = &[NAME, AGE];

/// The columns of kinds for which kube-apiserver has no printer.
pub static NAME_AND_CREATION: &[Column] = &[
    NAME,
    Column {
        of: "date",
        ..text("Created At", Text("/metadata/creationTimestamp"))
    },
];

pub(crate) static SCALE: &[Column] = &[
    NAME,
    integer("Desired", Number("/spec/replicas")),
    integer("Available", Number("/status/replicas")),
    AGE,
];

/// A column of type `string`.
pub const fn text(name: &'static str, cell: Cell) -> Column {
    Column {
        name,
        of: "string",
        format: "",
        priority: 0,
        cell,
    }
}

/// A column of type `string` whose cells are object names.
pub(super) const fn name(name: &'static str, cell: Cell) -> Column {
    Column {
        format: "name",
        ..text(name, cell)
    }
}

/// A column of type `string` that `kubectl get` shows with `-o wide` only.
pub(super) const fn wide(name: &'static str, cell: Cell) -> Column {
    Column {
        priority: 1,
        ..text(name, cell)
    }
}

/// A column of type `integer`.
pub const fn integer(name: &'static str, cell: Cell) -> Column {
    Column {
        of: "integer",
        ..text(name, cell)
    }
}

pub(super) const fn boolean(name: &'static str, cell: Cell) -> Column {
    Column {
        of: "boolean",
        ..text(name, cell)
    }
}

impl Columns<'_> {
    /// The `columnDefinitions` of a Table.
    pub(crate) fn definitions(self) -> Value {
        let definition = |column: &Column| {
            json!({
                "name": column.name,
                "type": column.of,
                "format": column.format,
                "description": column.name,
                "priority": column.priority,
            })
        };
        match self {
            Self::Table(columns) => columns.iter().map(definition).collect(),
            Self::Defined(columns) => {
                let name = definition(&NAME);
                std::iter::once(name)
                    .chain(columns.iter().map(PrinterColumn::definition))
                    .collect()
            }
        }
    }

    pub(crate) fn row(self, object: &Value, now: Timestamp) -> Vec<Value> {
        match self {
            Self::Table(columns) => columns
                .iter()
                .map(|column| column.cell.cell_value(object, now))
                .collect(),
            Self::Defined(columns) => {
                let name = NAME.cell.cell_value(object, now);
                std::iter::once(name)
                    .chain(columns.iter().map(|column| column.cell(object, now)))
                    .collect()
            }
        }
    }

    /// Whether the Table of an empty list has `rows: null`, as in kube-apiserver for kinds without a printer. Only the columns of such kinds
    /// have the type `date`.
    pub(crate) fn is_null_when_empty(self) -> bool {
        match self {
            Self::Table(columns) => columns.iter().any(|column| column.of == "date"),
            Self::Defined(_) => false,
        }
    }
}

impl Cell {
    fn cell_value(&self, object: &Value, now: Timestamp) -> Value {
        let at = |pointer: &str| object.pointer(pointer).unwrap_or(&Value::Null);
        match *self {
            Text(pointer) => at(pointer).as_str().unwrap_or_default().into(),
            TextOr(pointer, instead) => text_or_default(at(pointer).as_str().unwrap_or_default(), instead),
            Number(pointer) => at(pointer).as_i64().unwrap_or_default().into(),
            Digits(pointer, instead) => at(pointer)
                .as_i64()
                .map_or_else(|| instead.into(), |number| number.to_string().into()),
            Plain(pointer) => at(pointer).clone(),
            Flag(pointer) => (*at(pointer) == true).into(),
            Self::Count(pointer) => count(at(pointer)).into(),
            Join(pointer, instead) => text_or_default(&json::texts(at(pointer)).join(","), instead),
            Labels(pointer) => selector_text(at(pointer)),
            Of(cell) => cell(object),
            At(cell) => cell(object, now),
        }
    }
}

/// Returns `text`, or the default `instead` if `text` is empty.
pub fn text_or_default(text: &str, instead: &str) -> Value {
    if text.is_empty() {
        instead.into()
    } else {
        text.into()
    }
}

/// The first `shown` strings of `all` and the number of the remaining strings, such as `a,b + 2 more...`.
pub fn join_first(all: &[String], shown: usize, separator: &str) -> String {
    let text = all[..all.len().min(shown)].join(separator);
    match all.len().saturating_sub(shown) {
        0 => text,
        more => format!("{text} + {more} more..."),
    }
}

/// The `matchLabels` of a label selector, or a plain map of labels, as the text of a cell.
fn selector_text(selector: &Value) -> Value {
    let labels = selector.get("matchLabels").unwrap_or(selector);
    let text: Vec<String> = json::string_members(labels)
        .map(|(k, v)| format!("{k}={v}"))
        .collect();
    text_or_default(&text.join(","), "<none>")
}

/// The number of entries of a list or map.
pub fn count(value: &Value) -> usize {
    value
        .as_array()
        .map_or_else(|| value.as_object().map_or(0, serde_json::Map::len), Vec::len)
}

/// The values of one field of all containers in a list, joined by commas.
pub(super) fn join_container_fields(list: &Value, field: &str) -> Value {
    let texts = json::list(list).iter().filter_map(|one| one[field].as_str());
    texts.collect::<Vec<_>>().join(",").into()
}

/// The status condition of type `of`.
pub fn condition<'a>(object: &'a Value, of: &str) -> Option<&'a Value> {
    let mut conditions = json::list(&object["status"]["conditions"]).iter();
    conditions.find(|condition| condition["type"] == of)
}

fn age(object: &Value, now: Timestamp) -> Value {
    json!(since(metadata::text(object, "creationTimestamp"), now))
}
