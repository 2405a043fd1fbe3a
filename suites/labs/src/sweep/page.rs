//! `sweep.html`: the grid of points and faults of a case, and the failures.

use maud::{Markup, html};

use super::{CellRecord, CellResult, FAULTS, Fault};
use suites::report::escape::printable_text;
use suites::report::whole_page;

/// Renders the grid and the failures of one case as an HTML page.
pub fn page(case: &str, cells: &[CellRecord]) -> String {
    let failed = cells.iter().filter(|cell| cell.held.symbol() == "F").count();
    let title = format!("{case}: {} cells, {failed} failed", cells.len());
    let columns: Vec<&Fault> = FAULTS
        .iter()
        .filter(|fault| cells.iter().any(|cell| cell.fault == fault.name))
        .collect();
    let body = html! {
        header {
            h1 { (title) }
            p.quiet {
                "Each cell is a run of the case with one fault at one point. A dot: the specification holds afterwards. F: the \
                 specification is violated. k: it is violated, and the manifest lists the failure as known. u: the run did not reach \
                 the point. ?: undecided. E: the run could not be started."
            }
        }
        main {
            section { (grid(&columns, cells)) }
            section {
                h2 { "Faults" }
                dl { @for fault in &columns { dt { code { (fault.name) } } dd { (fault.text) } } }
            }
            (failures(cells))
        }
    };
    whole_page(&title, &body)
}

fn grid(columns: &[&Fault], cells: &[CellRecord]) -> Markup {
    let mut rows: Vec<Vec<&CellRecord>> = Vec::new();
    for it in cells {
        match rows.last_mut() {
            Some(row) if row[0].point == it.point => row.push(it),
            _ => rows.push(vec![it]),
        }
    }
    html! {
        table {
            thead { tr { th { "point" } @for fault in columns { th { (fault.name) } } } }
            tbody {
                @for row in &rows {
                    tr {
                        th { (row[0].point) }
                        @for fault in columns {
                            td {
                                @if let Some(cell) = row.iter().find(|cell| cell.fault == fault.name) {
                                    (cell.held.symbol())
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn failures(cells: &[CellRecord]) -> Markup {
    html! {
        @for cell in cells {
            @if let CellResult::Failed { text, .. } = &cell.held {
                section {
                    h2 { code { (cell.name) } }
                    pre { (printable_text(text)) }
                }
            }
        }
    }
}

impl CellResult {
    /// The character that represents the result in the grid.
    pub fn symbol(&self) -> &'static str {
        match self {
            CellResult::Held => ".",
            CellResult::Failed { .. } => "F",
            CellResult::Known(_) => "k",
            CellResult::Unmet => "u",
            CellResult::Undecided => "?",
            CellResult::Broken(_) | CellResult::Internal(_) => "E",
        }
    }
}
