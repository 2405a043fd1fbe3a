//! The tables of docs/manifest.md are those of the code.
//!
//! `UPDATE=1 cargo test -p suites --test integration manifest_page` writes them anew.

use std::path::Path;

use harness::manifest::PLACEHOLDERS;
use harness::plan::features;
use harness::settings::SETTINGS;

fn table(head: [&str; 2], rows: impl IntoIterator<Item = (String, String)>) -> String {
    let rows = rows
        .into_iter()
        .map(|(name, text)| format!("| `{name}` | {text} |\n"));
    format!(
        "| {} | {} |\n|---|---|\n{}",
        head[0],
        head[1],
        rows.collect::<String>()
    )
}

/// The page with that table between its marks.
fn with(page: &str, mark: &str, table: &str) -> String {
    let (begin, end) = (
        format!("<!-- {mark}: begin -->\n"),
        format!("<!-- {mark}: end -->"),
    );
    let (before, rest) = page.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}{begin}{table}{end}{after}")
}

#[test]
fn the_tables_are_those_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/manifest.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut claims: Vec<(String, String)> = features()
        .map(|feature| (feature.name.to_owned(), feature.text.to_owned()))
        .collect();
    claims.sort();
    let names = PLACEHOLDERS
        .iter()
        .map(|(name, text)| (format!("{{{name}}}"), (*text).to_owned()));
    let settings = SETTINGS.iter().map(|setting| {
        let role = setting.role.as_str();
        (
            setting.name.to_owned(),
            format!("{role}; `cluster.{}` of a case", setting.case_key),
        )
    });
    let mut wanted = with(
        &page,
        "features",
        &table(["feature", "what it means to have it"], claims),
    );
    wanted = with(&wanted, "names", &table(["name", "what it stands for"], names));
    wanted = with(
        &wanted,
        "settings",
        &table(["setting", "whose, and where a case has it"], settings),
    );
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, wanted).unwrap();
        return;
    }
    let remedy = "run UPDATE=1 cargo test -p suites --test integration manifest_page";
    assert!(
        page == wanted,
        "the tables in docs/manifest.md are stale; {remedy}"
    );
}
