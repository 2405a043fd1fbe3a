//! Properties of all studies: findings hold with several seeds, tables have one cell per column, and results are reproducible.

use labs::study::{Bound, Finding, STUDIES, Setup, Size};

use super::{SMALL, failed_statements};

#[test]
fn all_findings_hold_with_every_seed() {
    for &(name, run) in STUDIES {
        for seed in 0..4 {
            let study = run(Setup { seed, ..SMALL });
            let failed = study.findings.iter().filter(|finding| !finding.holds());
            let failed: Vec<_> = failed
                .map(|finding| (finding.statement(), finding.shows(), finding.value()))
                .collect();
            assert!(study.holds(), "{name} with seed {seed}: {failed:#?}");
            assert!(failed_statements(&study).is_empty());
        }
    }
}

#[test]
fn a_study_is_determined_by_name_and_seed() {
    for &(name, run) in STUDIES {
        let study = run(SMALL);
        assert_eq!(
            (study.name, study.size, study.seed),
            (name, Size::Small, SMALL.seed)
        );
        assert!(!study.tables.is_empty() && !study.plots.is_empty(), "{name}");
        for table in &study.tables {
            let is_even = |row: &Vec<_>| row.len() == table.columns.len();
            assert!(
                !table.rows.is_empty() && table.rows.iter().all(is_even),
                "{name}: {}",
                table.title
            );
        }
        for plot in &study.plots {
            assert!(!plot.lines.is_empty(), "{name}: {}", plot.title);
            let mut points = plot.lines.iter().flat_map(|line| &line.points);
            assert!(
                points.all(|(x, y)| x.is_finite() && y.is_finite()),
                "{name}: {}",
                plot.title
            );
        }
        let text = |study| serde_json::to_string(&study);
        assert_eq!(text(study).ok(), text(run(SMALL)).ok(), "{name}");
    }
}

#[test]
fn nan_is_within_no_bound() {
    for bound in [
        Bound::Exactly(0.0),
        Bound::AtMost(1.0),
        Bound::AtLeast(0.0),
        Bound::Above(0.0),
    ] {
        assert!(!Finding::new("SCALE-01", "a share of nothing", f64::NAN, bound).holds());
    }
    assert!(!Finding::none("SCALE-01", "losses", 1).holds());
    assert!(Finding::none("SCALE-01", "losses", 0).holds());
}
