//! Opens `report.html` in a real browser with scripts enabled. Ignored by default: `BROWSER=chromium cargo test -p suites --test
//! integration report -- --ignored`.

use std::process::Command;

use super::{CANARY, every_verdict, write_all_formats};

/// Runs a headless Chromium-like browser on `report.html`, and returns the standard output of the browser.
fn browser(arguments: &[&str]) -> String {
    let program = std::env::var("BROWSER").unwrap_or_else(|_| "chromium".to_owned());
    let folder = write_all_formats(&every_verdict());
    let profile = folder.path().join("profile");
    let output = Command::new(&program)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .arg(folder.path().join("report.html"))
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}; name a browser in BROWSER"));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "needs a browser; name it in BROWSER"]
fn a_browser_shows_every_case_and_runs_no_script() {
    let page = browser(&["--dump-dom"]);
    assert_eq!(page.matches("<article ").count(), 6, "{page}");
    assert!(
        page.contains("<title>Storage capacity: 2 of 8 cases failed"),
        "{page}"
    );
    assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    assert!(page.contains(CANARY), "{page}");
    assert!(page.contains("This run has no readable journal"), "{page}");
}
