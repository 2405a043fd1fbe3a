//! The tables of docs/manifest.md match the code.
//!
//! `UPDATE=1 cargo test -p suites --test integration manifest_page` regenerates the tables.

use std::path::Path;

use harness::manifest::PLACEHOLDERS;
use harness::plan::features;
use harness::settings::SETTINGS;

use crate::page::{check_or_update, with_table};

fn table(head: &[&str], rows: impl IntoIterator<Item = (String, String)>) -> String {
    let rows = rows
        .into_iter()
        .map(|(name, text)| format!("| `{name}` | {text} |\n"));
    format!(
        "| {} |\n|{}\n{}",
        head.join(" | "),
        "---|".repeat(head.len()),
        rows.collect::<String>()
    )
}

#[test]
fn the_tables_match_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/manifest.md");
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
            format!("{} | {role}; `cluster.{}`", setting.values, setting.case_key),
        )
    });
    let claims = table(&["feature", "what it means to have it"], claims);
    let names = table(&["name", "what it stands for"], names);
    let settings = table(&["setting", "values", "role, and key in a case"], settings);
    check_or_update(&path, "manifest_page", |page| {
        let page = with_table(page, "features", &claims);
        with_table(&with_table(&page, "names", &names), "settings", &settings)
    });
}
