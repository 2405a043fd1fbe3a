//! A study as text: tables, and findings with the statements of the KEPs.

use std::fmt::Write as _;

use crate::study::{Cell, Finding, Study, Table};
use suites::Catalogue;
use suites::harness::report::Paint;

/// Renders the study as text, with colours if `paint` has them.
pub fn text(study: &Study, paint: Paint) -> String {
    let mut text = format!("{}: {}\n", paint.strong(study.name), study.title);
    for table in &study.tables {
        text.push('\n');
        push_table(&mut text, table, paint);
    }
    text.push('\n');
    for finding in &study.findings {
        push_finding(&mut text, finding, paint);
    }
    let failed = study.findings.iter().filter(|finding| !finding.holds()).count();
    let held = study.findings.len() - failed;
    let _ = write!(text, "\nseed {}: {held} hold, {failed} do not", study.seed);
    text
}

fn push_table(text: &mut String, table: &Table, paint: Paint) {
    let _ = writeln!(text, "{}", paint.strong(&table.title));
    let widths: Vec<usize> = (0..table.columns.len())
        .map(|column| {
            let cells = table.rows.iter().filter_map(|row| row.get(column));
            let cells = cells.map(|cell| cell.to_string().chars().count());
            cells
                .chain([table.columns[column].chars().count()])
                .max()
                .unwrap_or_default()
        })
        .collect();
    let is_number = |column: usize| {
        table
            .rows
            .first()
            .and_then(|row| row.get(column))
            .is_some_and(Cell::is_number)
    };
    let mut push_line = |cells: Vec<String>| {
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let width = widths[column];
            let _ = match is_number(column) {
                true => write!(line, "  {cell:>width$}"),
                false => write!(line, "  {cell:<width$}"),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    };
    push_line(table.columns.clone());
    for row in &table.rows {
        push_line(row.iter().map(ToString::to_string).collect());
    }
}

fn push_finding(text: &mut String, finding: &Finding, paint: Paint) {
    let word = match finding.holds() {
        true => paint.good("holds"),
        false => paint.bad("FAILS"),
    };
    let id = finding.statement();
    let statement = Catalogue::load()
        .entry(id)
        .map_or("", |entry| entry.text.as_str());
    let _ = writeln!(text, "{word}  {id:<9} {}", paint.dim(statement));
    let _ = writeln!(
        text,
        "                 {}: {} ({})",
        finding.shows(),
        finding.value(),
        finding.bound()
    );
}
