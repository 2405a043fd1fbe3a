//! `list --requirements` and `list --requirement ID`: the requirements of the KEPs and the CSI spec, and their evidence.

use suites::harness::report::Paint;
use suites::harness::scenario::ScenarioError;
use suites::{Catalogue, Document, Entry, Evidence, EvidenceStatus, Traceability, plans_named};

use crate::Exit;
use crate::args::SelectArgs;
use crate::out::println;

/// Prints all requirements with their number of cases, by document and section, and the number of requirements with evidence.
pub(crate) fn table(args: &SelectArgs) -> Exit {
    match try_print(args) {
        Ok(()) => Exit::Passed,
        Err(error) => Exit::Usage.with_error(error),
    }
}

fn try_print(args: &SelectArgs) -> Result<(), ScenarioError> {
    let plans = plans_named(&args.files(), args.strength, &[])?;
    let traceability = Traceability::new(&plans);
    let catalogue = Catalogue::load();
    for document in catalogue.documents() {
        print_sections(catalogue, document, &traceability);
    }
    let count = |status| traceability.count(catalogue.ids(), status);
    println!(
        "{} of {} requirements have evidence, {} cannot be tested with a program, {} have no evidence",
        count(EvidenceStatus::Verified),
        catalogue.ids().count(),
        count(EvidenceStatus::NotTestable),
        count(EvidenceStatus::Missing)
    );
    Ok(())
}

fn print_sections(catalogue: &Catalogue, document: &Document, traceability: &Traceability) {
    let paint = Paint::of(&std::io::stdout());
    println!("{}: {}", paint.strong(&document.name), document.title);
    for section in &document.sections {
        println!("  {section}");
        for (id, entry) in catalogue.of_section(document, section) {
            let shown = evidence_in_short(id, entry, traceability);
            println!("    {id:<9} {shown:<24} {}", entry.text);
            if let Some(reason) = &entry.reason {
                println!("    {:<9} {:<24} {}", "", "", paint.dim(reason));
            }
        }
    }
    println!();
}

/// The number of cases and of other evidence, as a short text.
fn evidence_in_short(id: &str, entry: &Entry, traceability: &Traceability) -> String {
    let cases = traceability.cases(id).len();
    let evidence = |kind: &str| entry.shown_by.iter().filter(|it| it.kind() == kind).count();
    let mut parts = vec![pluralize(cases, "case")];
    parts.extend(Evidence::KINDS.map(|kind| pluralize(evidence(kind), kind)));
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match traceability.status(id) {
        EvidenceStatus::Verified => parts.join(", "),
        EvidenceStatus::NotTestable => "reason".to_owned(),
        EvidenceStatus::Missing => "not shown".to_owned(),
    }
}

/// `1 case`, `2 cases`; `None` for 0.
fn pluralize(number: usize, what: &str) -> Option<String> {
    match number {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{number} {what}s")),
    }
}

/// Prints the text of a requirement, and the document and section of its source.
pub(crate) fn print_statement(id: &str, entry: &Entry) {
    let paint = Paint::of(&std::io::stdout());
    println!("{}  {}", paint.strong(id), entry.text);
    let indent = |text: String| println!("{:width$}  {text}", "", width = id.len());
    if let Some(quote) = &entry.quote {
        indent(format!("“{quote}”"));
    }
    indent(match &entry.quote_from {
        Some(document) => format!("{document}; see {}", entry.source),
        None => entry.source.to_string(),
    });
    if let Some(beyond) = &entry.beyond {
        indent(format!("beyond the documents: {beyond}"));
    }
    println!();
}

/// Prints the evidence of a requirement other than cases, or the reason that there is none.
pub(crate) fn other_evidence(entry: &Entry, has_cases: bool) {
    for evidence in &entry.shown_by {
        println!("{:<8}  {evidence}", evidence.kind());
    }
    match &entry.reason {
        Some(reason) => println!("Not testable with a program: {reason}"),
        None if entry.shown_by.is_empty() && !has_cases => println!("There is no evidence yet."),
        None => {}
    }
}
