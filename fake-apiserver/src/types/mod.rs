//! What the API types consist of, and what is to be known of them, as one table of text.
//!
//! Owns `types.txt` and how its lines are divided. Does not know what the columns mean: `protobuf` reads the fields,
//! `schema` how they merge, and `documents` the rest.
//!
//! The file is a part of the program, so that what cannot be read is a bug: it panics, and any test shows it.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The table of this crate.
pub(crate) static TYPES: LazyLock<Vec<Block>> =
    LazyLock::new(|| parse(include_str!("types.txt")).expect("the embedded table is well formed"));

/// The lines about one type.
pub(crate) struct Block {
    /// Package, version and name: `core.v1.PodSpec`.
    pub(crate) name: &'static str,
    pub(crate) notes: Notes,
    pub(crate) fields: Vec<Line>,
    /// Notes on members that this type has from messages inlined in it.
    pub(crate) inlined: Vec<(&'static str, Notes)>,
}

/// The line about one field.
pub(crate) struct Line {
    pub(crate) number: u32,
    /// With the marks that say when JSON leaves it out.
    pub(crate) member: &'static str,
    /// The type, with the marks of its shape.
    pub(crate) of: &'static str,
    pub(crate) notes: Notes,
}

/// The columns of a line after the first.
#[derive(Clone, Copy, Default)]
pub(crate) struct Notes {
    pub(crate) merging: &'static str,
    pub(crate) documents: &'static str,
    pub(crate) description: &'static str,
}

/// One column by type and field, without empty entries. Notes on a type itself are under the empty field.
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

/// Divides a table into types and fields. The error says which line is neither.
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
    fn a_line_that_is_no_field_is_refused() {
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
