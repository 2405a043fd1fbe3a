//! `report.md` and the job summary escape untrusted text.

use suites::report::github::append_summary;

use super::{CANARY, case, every_verdict, read, report, write_all_formats};

/// Removes fenced blocks from the page, because markup has no effect in them.
fn outside_of_blocks(page: &str) -> String {
    let mut out = String::new();
    let mut fence: Option<&str> = None;
    for line in page.lines() {
        let ticks = line.trim_end_matches("text");
        let is_fence = ticks.len() >= 3 && ticks.bytes().all(|byte| byte == b'`');
        match fence {
            Some(open) if ticks == open => fence = None,
            Some(_) => {}
            None if is_fence => fence = Some(ticks),
            None => out.push_str(&format!("{line}\n")),
        }
    }
    assert_eq!(fence, None, "a block is never closed");
    out
}

#[test]
fn no_untrusted_text_is_markup() {
    let page = read(&write_all_formats(&every_verdict()), "report.md");
    let outside = outside_of_blocks(&page);
    for tag in ["<script", "<img", "</pre>", "<!--"] {
        assert!(!outside.contains(tag), "{tag} in {outside}");
    }
    for line in outside.lines() {
        assert!(!line.starts_with("::error"), "{line}");
        assert!(line != "# heading", "{line}");
        assert!(!line.contains("@someone"), "a mention: {line}");
    }
    assert_eq!(
        outside.matches("</details>").count(),
        outside.matches("<details>").count()
    );
    let strange = |letter: char| letter.is_control() && letter != '\n';
    assert!(
        !page.contains(strange),
        "the page contains an unescaped control character"
    );
    assert!(page.contains(CANARY), "the explanation is in the page");
}

#[test]
fn a_fence_is_longer_than_any_in_the_text() {
    let mut case = case("a/b/c", "fail");
    case.explanation = Some("````\n<b>x</b>\n````\n``````".to_owned());
    let page = read(&write_all_formats(&report(vec![case])), "report.md");
    assert!(page.contains("\n```````text\n````\n"), "{page}");
    assert!(!outside_of_blocks(&page).contains("<b>x</b>"), "{page}");
}

#[test]
fn areas_are_rows_and_verdicts_columns() {
    let page = read(&write_all_formats(&every_verdict()), "report.md");
    for row in [
        "| | area | passed | failed | flaky | could not be run | undecided | known to fail | skipped |",
        "| ❌ | publisher/value | 1 | 1 | 1 | 1 | | | |",
        "| ✅ | scheduler/filter | 1 | 1 | | | 1 | 1 | 1 |",
    ] {
        assert!(page.contains(row), "no {row} in {page}");
    }
    assert!(page.contains("Known failures:"), "{page}");
    assert!(page.contains("- partial: partial a"), "{page}");
}

#[test]
fn the_summary_is_appended_and_stays_below_the_upload_limit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("summary.md");
    std::fs::write(&file, "before\n").unwrap();
    let many = (0..500).map(|number| {
        let mut case = case(&format!("a/b/{number:03}"), "fail");
        case.explanation = Some("word ".repeat(2_000));
        case
    });
    append_summary(&report(many.collect()), &file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("before\n## Storage capacity"), "{}", &text[..60]);
    assert!(text.len() < 250 * 1024, "{} bytes", text.len());
    assert!(text.contains("<b>a/b/000</b>"), "the first one is explained");
    assert!(text.contains("more, whose explanations are in the full report"));
    outside_of_blocks(&text);
}
