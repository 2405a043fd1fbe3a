//! What `kubectl get` shows: columns, and how their cells are filled.
//!
//! Owns the model of a column and the cells that many kinds have; those of one kind are in its file. The envelope of a
//! table is made where answers are rendered. Ages are relative to the time of the request, as in the real server.

use crate::machinery::{json, metadata};
use jiff::Timestamp;
use serde_json::{Value, json};

/// One column.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// The JSON type of its cells.
    pub(crate) of: &'static str,
    pub(crate) format: &'static str,
    /// 1 for what is shown with `-o wide` only.
    pub(crate) priority: u8,
    pub(super) cell: Cell,
}

/// What a cell holds. Where there is no such field, a text is empty and a number 0, unless another text is named.
pub(crate) enum Cell {
    /// The text at a JSON pointer.
    Text(&'static str),
    /// The text at a JSON pointer, or another where that is empty.
    TextOr(&'static str, &'static str),
    /// The whole number at a JSON pointer.
    Number(&'static str),
    /// The whole number at a JSON pointer as a text, or another text.
    Digits(&'static str, &'static str),
    /// The value at a JSON pointer, whatever it is.
    Plain(&'static str),
    /// Whether the field at a JSON pointer is `true`.
    Flag(&'static str),
    /// How many entries the list or map at a JSON pointer has.
    Count(&'static str),
    /// The texts of the list at a JSON pointer, or another text where there are none.
    Join(&'static str, &'static str),
    /// The labels of the selector at a JSON pointer.
    Labels(&'static str),
    /// What follows from the object.
    Of(fn(&Value) -> Value),
    /// What follows from the object and the time of the request.
    At(fn(&Value, Timestamp) -> Value),
}
use Cell::{At, Digits, Flag, Join, Labels, Number, Of, Plain, Text, TextOr};

pub(super) const NAME: Column = name("Name", Text("/metadata/name"));
pub(super) const AGE: Column = text("Age", At(age));

pub(crate) static NAME_AND_AGE: &[Column] = &[NAME, AGE];

/// The columns of kinds for which the real server has no printer.
pub(crate) static NAME_AND_CREATION: &[Column] = &[
    NAME,
    Column {
        of: "date",
        ..text("Created At", Text("/metadata/creationTimestamp"))
    },
];

/// The columns of `Scale`, the form of a subresource.
pub(crate) static SCALE: &[Column] = &[
    NAME,
    integer("Desired", Number("/spec/replicas")),
    integer("Available", Number("/status/replicas")),
    AGE,
];

pub(super) const fn text(name: &'static str, cell: Cell) -> Column {
    Column {
        name,
        of: "string",
        format: "",
        priority: 0,
        cell,
    }
}

/// A text that is the name of an object.
pub(super) const fn name(name: &'static str, cell: Cell) -> Column {
    Column {
        format: "name",
        ..text(name, cell)
    }
}

/// A text that is shown with `-o wide` only.
pub(super) const fn wide(name: &'static str, cell: Cell) -> Column {
    Column {
        priority: 1,
        ..text(name, cell)
    }
}

pub(super) const fn integer(name: &'static str, cell: Cell) -> Column {
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

/// The cells of one object, one for each column.
pub(crate) fn row(columns: &[Column], object: &Value, now: Timestamp) -> Vec<Value> {
    columns.iter().map(|column| column.cell.of(object, now)).collect()
}

/// Whether an empty list of such a kind has `rows: null`, as the real server sends it where it has no printer: only
/// then is there a
/// column of dates.
pub(crate) fn is_null_when_empty(columns: &[Column]) -> bool {
    columns.iter().any(|column| column.of == "date")
}

impl Cell {
    fn of(&self, object: &Value, now: Timestamp) -> Value {
        let at = |pointer: &str| object.pointer(pointer).unwrap_or(&Value::Null);
        match *self {
            Text(pointer) => at(pointer).as_str().unwrap_or_default().into(),
            TextOr(pointer, instead) => or(at(pointer).as_str().unwrap_or_default(), instead),
            Number(pointer) => at(pointer).as_i64().unwrap_or_default().into(),
            Digits(pointer, instead) => at(pointer)
                .as_i64()
                .map_or_else(|| instead.into(), |number| number.to_string().into()),
            Plain(pointer) => at(pointer).clone(),
            Flag(pointer) => (*at(pointer) == true).into(),
            Self::Count(pointer) => count(at(pointer)).into(),
            Join(pointer, instead) => or(&json::texts(at(pointer)).join(","), instead),
            Labels(pointer) => selector_text(at(pointer)),
            Of(cell) => cell(object),
            At(cell) => cell(object, now),
        }
    }
}

/// A text, or another where it is empty.
pub(super) fn or(text: &str, instead: &str) -> Value {
    if text.is_empty() {
        instead.into()
    } else {
        text.into()
    }
}

/// The first entries of a list, and how many more there are.
pub(super) fn first(all: &[String], shown: usize, separator: &str) -> String {
    let text = all[..all.len().min(shown)].join(separator);
    match all.len().saturating_sub(shown) {
        0 => text,
        more => format!("{text} + {more} more..."),
    }
}

/// A selector of labels, or its labels alone, as one text.
fn selector_text(selector: &Value) -> Value {
    let labels = selector.get("matchLabels").unwrap_or(selector);
    let text: Vec<String> = json::pairs(labels).map(|(k, v)| format!("{k}={v}")).collect();
    or(&text.join(","), "<none>")
}

/// How many entries a list or map has.
pub(super) fn count(value: &Value) -> usize {
    value
        .as_array()
        .map_or_else(|| value.as_object().map_or(0, serde_json::Map::len), Vec::len)
}

/// One field of all containers of a list, joined.
pub(super) fn containers(list: &Value, field: &str) -> Value {
    let texts = json::list(list).iter().filter_map(|one| one[field].as_str());
    texts.collect::<Vec<_>>().join(",").into()
}

/// The condition of that type.
pub(super) fn condition<'a>(object: &'a Value, of: &str) -> Option<&'a Value> {
    let mut conditions = json::list(&object["status"]["conditions"]).iter();
    conditions.find(|condition| condition["type"] == of)
}

fn age(object: &Value, now: Timestamp) -> Value {
    json!(since(metadata::text(object, "creationTimestamp"), now))
}

/// The time since `from` in its one or two largest units, as `kubectl` shows ages.
pub(super) fn since(from: &str, now: Timestamp) -> String {
    let Ok(from) = from.parse::<Timestamp>() else {
        return "<unknown>".to_owned();
    };
    let seconds = now.as_second() - from.as_second();
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |large: i64, unit: &str, small: i64, lower: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{lower}"),
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}
