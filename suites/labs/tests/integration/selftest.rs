//! The counts in a self-test report, by case and by file, computed from given results.

use std::sync::Arc;

use labs::selftest::{Pairing, Selftest, SelftestReport, Trial, TrialResult};
use suites::{Defect, case_files, plan};

/// Two cases from rows of one table, and one case from a separate file.
const CASES: [&str; 3] = [
    "scheduler/filter/limit/exactly",
    "scheduler/filter/limit/one-byte-more",
    "publisher/value/hang",
];

fn defect(name: &str, violates: &[&str]) -> Defect {
    Defect {
        name: name.to_owned(),
        text: String::new(),
        violates: violates.iter().map(|id| (*id).to_owned()).collect(),
        source: None,
        wire: Vec::new(),
        claims: Default::default(),
        cases: Vec::new(),
    }
}

fn trial(defect: &str, case: &str, found: TrialResult) -> Trial {
    Trial {
        defect: Some(defect.to_owned()),
        case: case.to_owned(),
        found,
        link: String::new(),
        explanation: None,
        seconds: 0.0,
        runs: 1,
    }
}

fn report(pairing: Pairing, trials: &[Trial]) -> SelftestReport {
    SelftestReport::new(&selftest(pairing).scope(), trials, Vec::new())
}

fn selftest(pairing: Pairing) -> Selftest {
    let load = |id: &str| Arc::new(plan(&case_files(), id).unwrap().unwrap());
    Selftest {
        observe: None,
        defects: vec![
            defect("scheduler-a", &["SCHED-10"]),
            defect("publisher-b", &["FAIL-09", "SCHED-08"]),
        ],
        plans: CASES.map(load).to_vec(),
        is_whole: true,
        pairing,
        jobs: 1,
        build: Arc::new(|_| unreachable!("nothing is run")),
        sut: None,
        manifest: None,
        shard: None,
    }
}

fn trials() -> Vec<Trial> {
    let [exactly, more, hang] = CASES;
    vec![
        trial("scheduler-a", exactly, TrialResult::Failed),
        trial("scheduler-a", more, TrialResult::Passed),
        trial("publisher-b", hang, TrialResult::Passed),
    ]
}

#[test]
fn a_file_needs_one_row_that_can_fail_and_each_row_counts_alone() {
    let demands = report(Pairing::Full, &trials()).demands.unwrap();
    let files = &demands.files;
    let of_table = plan(&case_files(), CASES[0]).unwrap().unwrap().requirements.len();
    assert_eq!((demands.named, demands.broken), (2 * of_table + 1, 1));
    assert_eq!((files.named, files.broken), (of_table + 1, 1));
    let open: Vec<_> = files
        .unbroken
        .iter()
        .map(|it| (&*it.requirement, it.core))
        .collect();
    assert!(
        open.contains(&("FAIL-09", false)),
        "a missed defect does not count: {open:?}"
    );
    assert!(
        open.contains(&("SCHED-08", true)),
        "a defect that ran with another case does not count: {open:?}"
    );
    assert!(!open.iter().any(|(id, _)| *id == "SCHED-10"), "{open:?}");
    let file = &files
        .unbroken
        .iter()
        .find(|it| it.requirement == "FAIL-09")
        .unwrap()
        .file;
    assert!(file.ends_with("publisher/value/hang.yaml"), "{file}");
}

#[test]
fn requirements_without_a_detected_violation_are_listed_on_both_pages() {
    let report = report(Pairing::Full, &trials());
    let sentence = report.demands.as_ref().unwrap().files.to_string();
    for page in [labs::selftest::html(&report), labs::selftest::markdown(&report)] {
        let page = page.replace("&#39;", "'").replace("&apos;", "'");
        assert!(page.contains("FAIL-09") && page.contains("hang"), "{page}");
        assert!(page.contains(sentence.split('\'').next().unwrap()), "{page}");
    }
}

#[test]
fn requirements_are_not_counted_unless_every_defect_ran_with_every_case() {
    assert_eq!(report(Pairing::Named, &trials()).demands, None);
}

/// The results of one run with the second defect and of all runs without a defect are missing.
#[test]
fn an_interrupted_selftest_reports_the_defects_that_ran_with_all_cases() {
    let selftest = selftest(Pairing::Full);
    let begun = vec![
        trial("scheduler-a", CASES[0], TrialResult::Failed),
        trial("scheduler-a", CASES[1], TrialResult::Passed),
    ];
    let (part, complete_trials) = selftest.finished_part(begun.clone());
    let names: Vec<&str> = part.defects.iter().map(|defect| defect.name.as_str()).collect();
    assert_eq!(
        (names.as_slice(), complete_trials),
        (&["scheduler-a"][..], begun.clone())
    );
    let report = SelftestReport::new(&part, &begun, Vec::new());
    assert_eq!((report.problems.len(), report.demands), (0, None));

    // The report leaves out a defect while one of its runs is inconclusive and must be repeated.
    let open = vec![
        trial("scheduler-a", CASES[0], TrialResult::Undecided),
        trial("scheduler-a", CASES[1], TrialResult::Passed),
    ];
    let (part, complete_trials) = selftest.finished_part(open);
    assert!(part.defects.is_empty() && complete_trials.is_empty());
}

#[test]
fn a_program_that_fails_without_a_defect_detects_nothing() {
    let [exactly, more, _] = CASES;
    let healthy = |case: &str, found| Trial {
        defect: None,
        ..trial("", case, found)
    };
    let caught_by = |of_first: TrialResult, sut: Option<&str>| {
        let trials = [
            trial("scheduler-a", exactly, TrialResult::Failed),
            trial("scheduler-a", more, TrialResult::Passed),
            healthy(exactly, of_first),
            healthy(more, TrialResult::Passed),
        ];
        let selftest = Selftest {
            sut: sut.map(str::to_owned),
            ..selftest(Pairing::Named)
        };
        SelftestReport::new(&selftest.scope(), &trials, Vec::new()).defects[0]
            .caught_by
            .clone()
    };
    assert_eq!(caught_by(TrialResult::Passed, Some("sut.yaml")), [exactly]);
    assert!(caught_by(TrialResult::Failed, Some("sut.yaml")).is_empty());
    assert_eq!(
        caught_by(TrialResult::Failed, None),
        [exactly],
        "a failing reference is a separate problem"
    );
}
