//! A study as an HTML page: statements with findings, plots, and tables.

use crate::study::{Cell, Finding, Study, Table};
use maud::{Markup, html};
use suites::Catalogue;
use suites::harness::invocation::program;
use suites::report::whole_page;

use super::svg;

pub(super) fn page(study: &Study) -> String {
    let title = format!("Study {}: {}", study.name, study.title);
    let failed = study.findings.iter().filter(|finding| !finding.holds()).count();
    let body = html! {
        header {
            h1 { (study.title) }
            p {
                (study.findings.len()) " findings, of which " (failed) " do not hold. Each finding names a statement of the KEPs, and has \
                 a bound that the measured value meets if the statement is true."
            }
        }
        main {
            @for plot in &study.plots { section { h2 { (plot.title) } (svg::figure(plot)) } }
            section {
                h2 { "Findings" }
                (findings(&study.findings))
            }
            @for table in &study.tables { section { h2 { (table.title) } (cells(table)) } }
        }
        footer {
            p {
                "Made with " code { (program()) " study " (study.name) " --seed " (study.seed) }
                ". The same result is in " code { "study-" (study.name) ".json" } "."
            }
        }
    };
    whole_page(&title, &body)
}

fn findings(findings: &[Finding]) -> Markup {
    html! {
        div.wide {
            table.demands {
                thead {
                    tr {
                        @for name in ["statement", "text", "value", "bound", ""] { th scope="col" { (name) } }
                    }
                }
                tbody { @for finding in findings { (row(finding)) } }
            }
        }
    }
}

fn row(finding: &Finding) -> Markup {
    let id = finding.statement();
    let statement = Catalogue::load()
        .entry(id)
        .map_or("", |entry| entry.text.as_str());
    html! {
        tr {
            th scope="row" { (id) }
            td { (statement) }
            td { (finding.shows()) ": " strong { (finding.value()) } }
            td { (finding.bound()) }
            @match finding.holds() {
                true => td.good { "✓ holds" },
                false => td.bad { "✗ does not hold" },
            }
        }
    }
}

fn cells(table: &Table) -> Markup {
    let is_number = |row: &[Cell]| row.iter().skip(1).all(Cell::is_number);
    let is_matrix = table.rows.iter().all(|row| is_number(row));
    html! {
        div.wide {
            table.matrix[is_matrix] {
                thead { tr { @for name in &table.columns { th scope="col" { (name) } } } }
                tbody {
                    @for row in &table.rows {
                        tr { @for cell in row { td { (cell) } } }
                    }
                }
            }
        }
    }
}
