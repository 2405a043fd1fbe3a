//! The `axes` key: expands a file to one case per row of a covering array over named values.
//!
//! A value sets cells, which replace `$names` in the file as the cells of a table do. A cell may refer to other cells.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::Spanned;
use super::cells::{Cells, replace_references};
use super::cover::{Exclusion, Space, Strength, cover, subsets};
use super::coverage::PairCoverage;
use super::ordered::Ordered;
use super::table::{self, Row, TableError};

/// The axes of a case file, and the combinations of axis values that are excluded.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Axes {
    /// The cells that each value of an axis sets: axis → value → cells.
    axes: Spanned<Ordered<Ordered<Cells>>>,
    /// Default values of cells.
    #[serde(default)]
    cells: Cells,
    /// Excluded combinations: each maps some axes to one or several values.
    #[serde(default)]
    constraints: Vec<Spanned<BTreeMap<String, OneOrMore>>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "a value of the axis, or a list of values")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// Maximum number of values over all axes of a file, because the rows contain every pair of values.
const VALUES_MAX: usize = 200;

/// Separator between the axis values in the name of a row.
pub(super) const JOIN: char = '+';

impl Axes {
    /// Expands the case file to the rows of a covering array.
    pub(super) fn expand(&self, text: &str, strength: Strength) -> Result<Vec<Row>, TableError> {
        let space = self.space()?;
        let rows = cover(&space, strength);
        let filled = self.fill(text, &rows)?;
        self.check_cells_used(text)?;
        Ok(filled)
    }

    /// The row with this name, even if the covering array does not contain the row. None if an axis value in the name does not exist.
    pub(super) fn row(&self, text: &str, name: &str) -> Result<Option<Row>, TableError> {
        let space = self.space()?;
        match self.value_indexes(name).filter(|row| space.allows(row)) {
            Some(row) => Ok(self.fill(text, &[row])?.pop()),
            None => Ok(None),
        }
    }

    /// Counts, for every two axes, the pairs of values that occur in the rows with these names.
    pub(super) fn pairs(&self, names: &[&str]) -> Result<Vec<PairCoverage>, TableError> {
        let space = self.space()?;
        let rows: Vec<Vec<usize>> = names.iter().filter_map(|name| self.value_indexes(name)).collect();
        let name = |(axis, value): (usize, usize)| self.axes.value.0[axis].1.0[value].0.as_str();
        let of_axes = |axes: Vec<usize>| {
            let [first, second] = [axes[0], axes[1]].map(|axis| self.axes.value.0[axis].0.as_str());
            let mut pairs = PairCoverage::of(first, second);
            for pair in space.combinations(&axes) {
                let has = |row: &Vec<usize>| pair.iter().all(|(axis, value)| row[*axis] == *value);
                if space.is_possible(&pair) {
                    pairs.add(name(pair[0]), name(pair[1]), rows.iter().any(has));
                }
            }
            pairs
        };
        Ok(subsets(space.sizes.len(), 2).into_iter().map(of_axes).collect())
    }

    /// The indexes of the axis values in a row name, one index for each axis. None if `name` is not the name of a row.
    fn value_indexes(&self, name: &str) -> Option<Vec<usize>> {
        let words: Vec<&str> = name.split(JOIN).collect();
        let axes = Some(&self.axes.value.0).filter(|axes| axes.len() == words.len())?;
        let values = axes.iter().zip(words);
        values
            .map(|((_, values), word)| values.index_of(word).ok())
            .collect()
    }

    fn space(&self) -> Result<Space, TableError> {
        self.check()?;
        let excluded = self
            .constraints
            .iter()
            .map(|constraint| self.exclusion(constraint));
        Ok(Space {
            sizes: self
                .axes
                .value
                .0
                .iter()
                .map(|(_, values)| values.0.len())
                .collect(),
            excluded: excluded.collect::<Result<_, _>>()?,
        })
    }

    /// Converts an excluded combination from names to indexes of axes and values.
    fn exclusion(&self, constraint: &Spanned<BTreeMap<String, OneOrMore>>) -> Result<Exclusion, TableError> {
        let mut exclusion = Exclusion::new();
        for (axis, values) in &constraint.value {
            let unknown = |names| table::error_at(constraint, format!("`{axis}` is no axis; axes: {names}"));
            let at = self.axes.value.index_of(axis).map_err(unknown)?;
            let all = &self.axes.value.0[at].1;
            let numbered = values.list().iter().map(|value| {
                let unknown = |names| format!("`{value}` is no value of the axis `{axis}`; values: {names}");
                all.index_of(value)
                    .map_err(|names| table::error_at(constraint, unknown(names)))
            });
            exclusion.push((at, numbered.collect::<Result<_, _>>()?));
        }
        Ok(exclusion)
    }

    /// Checks that names of axis values are valid parts of a case id, and that only one axis sets each cell.
    fn check(&self) -> Result<(), TableError> {
        let error = |message: String| Err(table::error_at(&self.axes, message));
        if self.axes.value.0.len() < 2 {
            return error("there is only one axis; use a `table`, or add another axis".to_owned());
        }
        let values: usize = self.axes.value.0.iter().map(|(_, values)| values.0.len()).sum();
        if values > VALUES_MAX {
            let message = format!("the axes have {values} values; the limit is {VALUES_MAX}; split the file");
            return error(message);
        }
        let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
        for (axis, values) in &self.axes.value.0 {
            if values.0.is_empty() {
                return error(format!("axis `{axis}` has no values; add a value"));
            }
            for (value, cells) in &values.0 {
                let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b);
                if value.is_empty() || !value.bytes().all(is_plain) {
                    return error(format!(
                        "value `{value}` of `{axis}` is not lower-case-with-dashes"
                    ));
                }
                for cell in cells.keys() {
                    if !self.cells.contains_key(cell) {
                        return error(format!(
                            "cell `{cell}` of {axis} {value} has no entry in `cells`; add an entry"
                        ));
                    }
                    let owner = owners.entry(cell).or_insert(axis);
                    if *owner != axis {
                        return error(format!(
                            "cell `{cell}` is set by the axes `{owner}` and `{axis}`; use two cells"
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    fn fill(&self, text: &str, rows: &[Vec<usize>]) -> Result<Vec<Row>, TableError> {
        let columns: Vec<String> = self.cells.keys().cloned().collect();
        let (mut filled, mut bytes_left) = (Vec::new(), table::ROWS_BYTES_MAX);
        for row in rows {
            let chosen = self.axes.value.0.iter().zip(row);
            let chosen: Vec<&(String, Cells)> = chosen.map(|((_, values), at)| &values.0[*at]).collect();
            let mut cells = self.cells.clone();
            for (_, set) in &chosen {
                cells.extend(set.iter().map(|(name, value)| (name.clone(), value.clone())));
            }
            let values: Vec<Value> = columns
                .iter()
                .map(|name| replace_references(&cells[name], &cells, &mut bytes_left))
                .collect();
            if bytes_left == 0 {
                let most = table::ROWS_BYTES_MAX >> 20;
                let message = format!(
                    "the cells exceed {most} MiB after their `$name` references are replaced; use fewer references"
                );
                return Err(table::error_at(&self.axes, message));
            }
            let names: Vec<&str> = chosen.iter().map(|(name, _)| name.as_str()).collect();
            let mut used = vec![false; columns.len()];
            filled.push(Row {
                name: names.join(&JOIN.to_string()),
                text: table::insert_cells(text, &columns, &values, &mut used, &mut bytes_left)?,
            });
        }
        Ok(filled)
    }

    fn check_cells_used(&self, text: &str) -> Result<(), TableError> {
        let values = self.axes.value.0.iter().flat_map(|(_, values)| &values.0);
        let sets: Vec<&Cells> = values.map(|(_, cells)| cells).chain([&self.cells]).collect();
        let is_used = |name: &String| {
            let word = format!("${name}");
            text.contains(&word)
                || sets
                    .iter()
                    .any(|cells| cells.values().any(|it| it.to_string().contains(&word)))
        };
        match self.cells.keys().find(|name| !is_used(name)) {
            Some(name) => Err(table::error_at(
                &self.axes,
                format!("cell `{name}` is not used; write ${name} where it belongs"),
            )),
            None => Ok(()),
        }
    }
}

impl OneOrMore {
    fn list(&self) -> &[String] {
        match self {
            OneOrMore::One(only) => std::slice::from_ref(only),
            OneOrMore::More(list) => list,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::parse::{parse, parse_at, parse_one, parse_row};
    use super::*;

    const FILE: &str = "id: a/b
title: t
axes:
  mode: {central: {}, distributed: {mode: distributed}}
  class: {one: {}, two: {classes: [fast, slow]}}
  node: {n1: {}, 1.n: {node: n9}}
constraints: [{mode: distributed, class: two}]
cells: {mode: central, classes: [fast], node: n1, backend: {$node: 1Gi}}
cluster:
  mode: $mode
  nodes: [$node]
  classes: $classes
  backend: $backend
steps: [{id: s, expect: specification}]
";

    fn ids(strength: Strength) -> Vec<String> {
        let cases = parse_at("f.yaml", FILE, strength).expect("valid case");
        cases.into_iter().map(|case| case.id).collect()
    }

    #[test]
    fn row_names_join_their_values_in_axis_order() {
        let pairs = ids(Strength::Pairs);
        assert!(pairs.contains(&"a/b/central+two+1.n".to_owned()), "{pairs:?}");
        assert!(pairs.iter().all(|id| !id.contains("distributed+two")));
        let triples: BTreeSet<String> = ids(Strength::Triples).into_iter().collect();
        assert_eq!(triples.len(), 6, "{triples:?}");
        assert!(triples.is_superset(&pairs.into_iter().collect()));
    }

    /// The run folder stores the text of the row, from which the verdict can be computed again.
    #[test]
    fn the_text_of_a_row_parses_to_the_same_case() {
        let row = parse_row("f.yaml", FILE, "distributed+one+1.n").expect("valid case");
        let row = row.expect("existing row");
        let again = parse_one("scenario.yaml", &row.text).expect("valid case");
        assert_eq!((again.id, again.text), (row.id, row.text));
    }

    #[test]
    fn rows_are_found_by_name_unless_excluded() {
        let found = parse_row("f.yaml", FILE, "distributed+one+1.n").expect("valid case");
        let found = found.expect("existing row");
        assert_eq!(found.id, "a/b/distributed+one+1.n");
        assert!(found.text.contains(r#"backend: {"n9":"1Gi"}"#), "{}", found.text);
        assert_eq!(found.file.cluster.nodes[0].name, "n9");
        for name in ["distributed+two+n1", "central+one", "central+one+n2", "one"] {
            assert!(
                parse_row("f.yaml", FILE, name).expect("valid case").is_none(),
                "{name}"
            );
        }
    }

    #[test]
    fn invalid_axes_are_errors_with_their_file_position() {
        for (from, to, position, words) in [
            ("class: two}", "class: three}", "f.yaml:7:15", "values: one, two"),
            (
                "class: two}",
                "colour: red}",
                "f.yaml:7:15",
                "axes: mode, class, node",
            ),
            (
                "{mode: distributed}}",
                "{other: 1}}",
                "f.yaml:4:3",
                "no entry in `cells`",
            ),
            ("{node: n9}", "{classes: [slow]}", "f.yaml:4:3", "use two cells"),
            ("1.n:", "N:", "f.yaml:4:3", "lower-case-with-dashes"),
            ("mode: $mode", "mode: central", "f.yaml:4:3", "`mode` is not used"),
            (
                "nodes: [$node]",
                "nodes: [$nods]",
                "f.yaml:11:11",
                "`$nods` is not a column",
            ),
            (
                "axes:",
                "table: {columns: [row], rows: [[r]]}\naxes:",
                "f.yaml",
                "remove one",
            ),
        ] {
            let text = FILE.replace(from, to);
            let error = parse("f.yaml", &text).expect_err(words).to_string();
            assert!(error.starts_with(position) && error.contains(words), "{error}");
        }
        let alone = "id: a/b\ntitle: t\ncells: {a: 1}\nsteps: []\n";
        let error = parse("f.yaml", alone).expect_err("no axes").to_string();
        assert!(error.contains("belong to `axes`"), "{error}");
    }
}
