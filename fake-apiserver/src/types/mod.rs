//! The types of the Kubernetes API and their fields, parsed from an embedded text table.
//!
//! Owns `types.txt` and splitting its lines into columns. Does not interpret the columns: `protobuf` reads the fields, `schema` the merge
//! strategies, and `documents` the OpenAPI column and the descriptions.
//!
//! The file is compiled into the program, so a line that cannot be parsed is a bug, which panics in the tests.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The parsed `types.txt`.
pub(crate) static TYPES: LazyLock<Vec<Block>> =
    LazyLock::new(|| parse(include_str!("types.txt")).expect("types.txt is well-formed"));

/// A type in `types.txt`, with the lines of its fields.
pub(crate) struct Block {
    /// Package, version and name, such as `core.v1.PodSpec`.
    pub(crate) name: &'static str,
    pub(crate) notes: Notes,
    pub(crate) fields: Vec<Line>,
    /// The columns of JSON members that belong to inlined messages of this type.
    pub(crate) inlined: Vec<(&'static str, Notes)>,
}

/// A line of `types.txt`: one field of a type.
pub(crate) struct Line {
    pub(crate) number: u32,
    /// The JSON name of the field, followed by `?` or `??` if JSON omits zero values.
    pub(crate) member: &'static str,
    /// The type of the field, with the prefixes for lists, maps and pointers.
    pub(crate) of: &'static str,
    pub(crate) notes: Notes,
}

/// The columns of a line after the first one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Notes {
    pub(crate) merging: &'static str,
    pub(crate) documents: &'static str,
    pub(crate) description: &'static str,
}

/// One column of the type table, by type and field. Contains no empty texts. The field name is empty for the column of the type itself.
pub(crate) fn column(
    of: impl Fn(&Notes) -> &'static str,
) -> HashMap<(&'static str, &'static str), &'static str> {
    let of_block = |block: &'static Block| {
        let own = [("", &block.notes)].into_iter();
        let fields = block
            .fields
            .iter()
            .map(|line| (line.member.trim_end_matches('?'), &line.notes));
        let inlined = block.inlined.iter().map(|(member, notes)| (*member, notes));
        own.chain(fields)
            .chain(inlined)
            .map(|(field, notes)| ((block.name, field), of(notes)))
    };
    TYPES
        .iter()
        .flat_map(of_block)
        .filter(|(_, text)| !text.is_empty())
        .collect()
}

/// Parses a table into types and their fields. The error contains the first invalid line.
pub(crate) fn parse(text: &'static str) -> Result<Vec<Block>, String> {
    let mut blocks: Vec<Block> = Vec::new();
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let mut columns = line.split('|').map(str::trim);
        let first = columns.next().unwrap_or_default();
        let mut next = || columns.next().unwrap_or_default();
        let notes = Notes {
            merging: next(),
            documents: next(),
            description: next(),
        };
        if !line.starts_with(' ') {
            blocks.push(Block {
                name: first,
                notes,
                fields: Vec::new(),
                inlined: Vec::new(),
            });
            continue;
        }
        let block = blocks.last_mut().ok_or("a field precedes all types")?;
        let bad = || format!("{}: bad field {line:?}", block.name);
        match first.split(' ').collect::<Vec<_>>().as_slice() {
            [member] => block.inlined.push((member, notes)),
            [number, member, of] => block.fields.push(Line {
                number: number.parse().map_err(|_| bad())?,
                member,
                of,
                notes,
            }),
            _ => return Err(bad()),
        }
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_field_lines_are_rejected() {
        for text in [
            " 1 a string",
            "a.v1.A\n x a string",
            "a.v1.A\n 1 a",
            "a.v1.A\n 1 a string more",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
