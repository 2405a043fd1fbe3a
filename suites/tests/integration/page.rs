//! Checks tables in documentation pages against the code. With `UPDATE=1`, regenerates the tables instead.

use std::path::Path;

/// Replaces the text between the markers of `mark` in the page by the table.
pub(crate) fn with_table(page: &str, mark: &str, table: &str) -> String {
    let (begin, end) = (
        format!("<!-- {mark}: begin -->\n"),
        format!("<!-- {mark}: end -->"),
    );
    let (before, rest) = page.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}{begin}{table}{end}{after}")
}

/// Checks a documentation page, or rewrites the page if `UPDATE` is set. `name`: the test to run with `UPDATE=1`.
pub(crate) fn check_or_update(path: &Path, name: &str, wanted: impl Fn(&str) -> String) {
    let page = std::fs::read_to_string(path).unwrap();
    let wanted = wanted(&page);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, wanted).unwrap();
        return;
    }
    assert!(
        page == wanted,
        "the tables in {} are stale; run UPDATE=1 cargo test -p suites --test integration {name}",
        path.display()
    );
}
