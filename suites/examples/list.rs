//! Prints the id and title of each conformance case: `cargo run -p suites --example list`.

use std::io::Write;

use suites::harness::scenario::CaseFiles;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = CaseFiles::Folder(concat!(env!("CARGO_MANIFEST_DIR"), "/cases").into());
    let mut out = std::io::stdout().lock();
    for plan in suites::plans(&files)? {
        writeln!(out, "{}: {}", plan.id(), plan.title)?;
    }
    Ok(())
}
