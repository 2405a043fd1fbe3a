//! Evaluates the journals of recorded runs of real programs: each must have the verdict that was filed as correct.
//!
//! Fails if a change of the harness, the specification or a manifest changes a verdict. If the new verdict is correct, file it with a
//! reason: `UPDATE="why it is another verdict" cargo test -p suites recorded_runs`.

use std::path::{Path, PathBuf};

use suites::Recording;
use suites::harness::manifest::Manifest;

fn suites() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn folder() -> PathBuf {
    suites().join("tests/fixtures/runs")
}

/// The manifest of a recorded program in the recorded version. The program need not exist on this host.
fn manifest(recording: &Recording) -> Manifest {
    let path = suites().join(format!("manifests/{}.yaml", recording.program));
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().map(|line| match line {
        line if line.starts_with("version: ") => format!("version: {}", recording.version),
        // The program of a manifest must exist, so the first word of `argv` is replaced by a program that exists on every host.
        "      - csi-provisioner" | "      - kube-scheduler" | "      - hostpathplugin" => {
            "      - sh".to_owned()
        }
        line => line.to_owned(),
    });
    Manifest::parse(&path, &lines.collect::<Vec<_>>().join("\n")).unwrap()
}

#[test]
fn recorded_runs_have_their_filed_verdicts() {
    let update = std::env::var("UPDATE").ok().filter(|reason| !reason.is_empty());
    let mut wrong = Vec::new();
    for mut recording in Recording::load_all(&folder()).unwrap() {
        let name = format!("{} {}", recording.program, recording.version);
        let judged = recording.judge(&manifest(&recording));
        for (run, judged) in recording.runs.iter_mut().zip(judged) {
            let case = &run.case;
            match judged {
                Err(why) => wrong.push(format!("{case}, {name}: cannot be judged: {why}")),
                Ok(judged) if judged != run.filed => match &update {
                    None => wrong.push(format!("{case}, {name}:\n  filed  {}\n  now    {judged}", run.filed)),
                    Some(reason) => {
                        run.reason = (judged != run.recorded).then(|| reason.clone());
                        run.filed = judged;
                    }
                },
                Ok(_) if run.filed != run.recorded && run.reason.is_none() => wrong.push(format!(
                    "{case}, {name}: the filed verdict is not the recorded verdict, and has no `reason`\n  filed     {}\n  recorded  {}",
                    run.filed, run.recorded
                )),
                Ok(_) => {}
            }
        }
        if update.is_some() {
            recording.save_verdicts(&folder()).unwrap();
        }
    }
    assert!(
        wrong.is_empty(),
        "{} recorded runs have a different verdict; if the new verdict is correct, file it with UPDATE=\"the reason\":\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
