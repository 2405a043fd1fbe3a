//! All formats of a report, with text that tries to inject markup and commands into each format.

mod badge;
mod browser;
mod folder;
mod github;
mod html;
mod junit;
mod known;
mod markdown;
mod requirements;
mod schema;

use std::collections::BTreeMap;
use std::path::Path;

use suites::harness::scenario::Level;
use suites::report::{
    CaseRecord, CaseVerdict, FORMAT, FindingRecord, KnownRecord, Report, SettingsRecord, SystemRecord,
    write_all,
};
use suites::{Cause, FailureText};
use tempfile::TempDir;

/// Text with markup, commands and quotes of every report format, and with characters that no format allows.
const NASTY: &str = "a \"b\" 'c' <script>document.title='owned'</script> <img src=x onerror=\"document.title='owned'\"/> \
]]> <!-- --> &amp; % : , ` ``` |cell| @someone #1 *b* _i_ [l](u) \\ </details> </pre>\u{1b}[31mred\u{1b}[0m \u{0}\u{7}\u{202e}\u{ffff}\r\n\
::error::injected\n\n# heading\n";

/// The part of `NASTY` that a report in any format must show literally.
const CANARY: &str = "document.title='owned'";

/// Position of the known-failure entry in the manifest.
const PLACE: &str = "sut.yaml:9:11";

/// A case with this verdict, and with malicious text in all fields.
fn case(id: &str, verdict: &str) -> CaseRecord {
    let word = CaseVerdict::ALL
        .into_iter()
        .find(|known| known.as_str() == verdict);
    let is_explained = matches!(verdict, "fail" | "flaky" | "inconclusive" | "known-failure");
    CaseRecord {
        id: id.to_owned(),
        title: format!("title {NASTY}"),
        level: Level::Core,
        requirements: vec!["PUB-21".to_owned(), format!("X-{NASTY}")],
        features: vec!["publisher.central".to_owned()],
        file: "suites/cases/a,b:c.yaml".to_owned(),
        line: 7,
        verdict: word.unwrap(),
        reason: match verdict {
            "pass" => String::new(),
            _ => format!("reason {NASTY}"),
        },
        seconds: 1.5,
        repeated: 0,
        cause: is_explained.then_some(Cause::Timeout),
        failure_text: is_explained.then(|| FailureText {
            verdict: format!("verdict {NASTY}"),
            link: format!("link {NASTY}"),
            note: format!("note {NASTY}"),
            last_words: vec![format!("word {NASTY}")],
        }),
        known: (verdict == "known-failure").then(|| PLACE.to_owned()),
        explanation: is_explained.then(|| format!("FAIL {id}\n{NASTY}\n  last line")),
        folder: None,
        health: Vec::new(),
    }
}

fn report(cases: Vec<CaseRecord>) -> Report {
    let mut report = Report {
        format: FORMAT,
        harness: "0.1.0".to_owned(),
        system: SystemRecord {
            name: format!("name {NASTY}"),
            version: "1.2.3".to_owned(),
            roles: vec!["publisher".to_owned()],
            features: vec!["publisher.central".to_owned()],
        },
        started: "2026-01-02T03:04:05Z".to_owned(),
        seconds: 12.25,
        command: vec!["e2e".to_owned(), format!("--x={NASTY}")],
        settings: SettingsRecord {
            refresh_milliseconds: 100,
            patience: 1.0,
            attempts: 2,
            api_server: format!("v1.36 {NASTY}"),
        },
        partial: Vec::new(),
        limits: vec![format!("partial {NASTY}")],
        shards: None,
        unfinished: Vec::new(),
        findings: vec![FindingRecord {
            rule: "csi-arguments".to_owned(),
            role: "publisher".to_owned(),
            text: format!("finding {NASTY}"),
            count: 3,
            cases: 2,
            first: "publisher/value/a".to_owned(),
            seconds: 0.25,
            known: Some(PLACE.to_owned()),
        }],
        catalogue: 0,
        known_failures: vec![KnownRecord {
            place: PLACE.to_owned(),
            case: "scheduler/filter/known".to_owned(),
            fails: format!("words {NASTY}"),
            sometimes: false,
        }],
        counts: BTreeMap::new(),
        cases,
    };
    report.finalize();
    report
}

/// A report with one case of every verdict in two areas, including a provisional case.
fn every_verdict() -> Report {
    let mut cases = vec![
        case("publisher/value/pass", "pass"),
        case("publisher/value/fail", "fail"),
        case("publisher/value/flaky", "flaky"),
        case("publisher/value/error", "error"),
        case("scheduler/filter/inconclusive", "inconclusive"),
        case("scheduler/filter/known", "known-failure"),
        case("scheduler/filter/skip", "skip"),
        case("scheduler/filter/surprise", "pass"),
    ];
    cases[7].reason = format!("passes, though it is known to fail: {NASTY}");
    let mut provisional = case("scheduler/filter/provisional", "fail");
    provisional.level = Level::Provisional;
    cases.push(provisional);
    report(cases)
}

fn write_all_formats(report: &Report) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_all(report, folder.path()).unwrap();
    folder
}

fn read(folder: &TempDir, name: &str) -> String {
    let path = folder.path().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Parses XML; panics with the invalid line of the text.
fn parse(text: &str) -> roxmltree::Document<'_> {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    roxmltree::Document::parse_with_options(text, options).unwrap_or_else(|error| {
        let row = error.pos().row as usize;
        panic!("{error}: {:?}", text.lines().nth(row - 1))
    })
}

fn exists(folder: &TempDir, path: impl AsRef<Path>) -> bool {
    folder.path().join(path).exists()
}
