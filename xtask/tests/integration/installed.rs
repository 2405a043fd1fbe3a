//! Runs the installed program in an empty folder, not started by cargo, to verify that everything it needs is built in.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use crate::program::text;

/// An empty working directory, and a folder for temporary files.
struct WorkingFolder {
    here: tempfile::TempDir,
    temporary: tempfile::TempDir,
}

impl WorkingFolder {
    fn new() -> Self {
        WorkingFolder {
            here: tempfile::tempdir().unwrap(),
            temporary: tempfile::tempdir().unwrap(),
        }
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_csi-capacity"))
            .args(args)
            .env_clear()
            .env("PATH", self.here.path())
            .env("TMPDIR", self.temporary.path())
            .current_dir(self.here.path())
            .output()
            .unwrap()
    }

    /// Runs the program and checks the exit code. Returns standard output and standard error.
    fn run_expecting(&self, code: i32, args: &[&str]) -> (String, String) {
        let output = self.run(args);
        let messages = (text(&output.stdout), text(&output.stderr));
        assert_eq!(
            output.status.code(),
            Some(code),
            "{args:?}:\n{}{}",
            messages.0,
            messages.1
        );
        messages
    }

    fn is_untouched(&self) -> bool {
        names(self.here.path()).is_empty()
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn the_installed_program_has_the_cases_of_the_checkout() {
    let listed = WorkingFolder::new().run_expecting(0, &["list"]).0;
    let of_checkout = crate::program::run_expecting(0, &["list"]).0;
    assert_eq!(listed, of_checkout);
}

#[test]
fn running_cases_leaves_nothing_in_the_working_directory() {
    let folder_under_test = WorkingFolder::new();
    let (out, _) = folder_under_test.run_expecting(0, &["e2e", "--simulate", "publisher/value/maximum"]);
    assert!(out.contains("1 passed, 0 failed"), "{out}");
    assert!(folder_under_test.is_untouched());
}

#[test]
fn a_failure_prints_commands_of_the_installed_program() {
    let folder_under_test = WorkingFolder::new();
    let arguments = [
        "e2e",
        "--simulate",
        "--defect=publisher-ignores-maximum",
        "publisher/value/maximum",
    ];
    let (out, _) = folder_under_test.run_expecting(1, &arguments);
    let runs = folder_under_test.temporary.path().display().to_string();
    for part in [
        "built-in/publisher/value/maximum.yaml:",
        "rerun   csi-capacity e2e --defect=publisher-ignores-maximum --simulate=0 publisher/value/maximum",
        &format!("judge   csi-capacity judge {runs}/csi-capacity-"),
    ] {
        assert!(out.contains(part), "no “{part}” in:\n{out}");
    }
    folder_under_test.run_expecting(1, &["rerun"]);
    assert!(folder_under_test.is_untouched());
}

#[test]
fn a_mutant_is_rejected_with_a_hint_to_a_checkout() {
    let (_, error) = WorkingFolder::new().run_expecting(
        3,
        &["e2e", "--defect=publisher-deletes-manual", "publisher/prior"],
    );
    assert!(error.contains("in a checkout of csi-capacity-harness"), "{error}");
    assert!(error.contains("run `cargo xtask` there"), "{error}");
}

#[test]
fn built_in_manifests_are_found_by_name() {
    let folder_under_test = WorkingFolder::new();
    let program = folder_under_test.here.path().join("csi-provisioner");
    std::fs::write(&program, "").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let (out, error) =
        folder_under_test.run_expecting(0, &["list", "publisher/prior", "--sut=external-provisioner"]);
    assert!(error.contains("cases run for external-provisioner"), "{error}");
    assert!(out.contains("known to fail until"), "{out}");
    let (_, error) = folder_under_test.run_expecting(2, &["list", "--sut=external-provisoner"]);
    let listed = error.contains("these manifests are built in: csi-driver-host-path, ");
    assert!(listed && error.contains(", external-provisioner, "), "{error}");
}

#[test]
fn a_temporary_folder_of_another_user_is_not_used() {
    let (folder_under_test, theirs) = (WorkingFolder::new(), tempfile::tempdir().unwrap());
    folder_under_test.run_expecting(0, &["e2e", "--simulate", "publisher/value/maximum"]);
    let own = names(folder_under_test.temporary.path());
    let own = folder_under_test
        .temporary
        .path()
        .join(own.iter().find(|name| name.starts_with("csi-capacity-")).unwrap());
    let mode = std::fs::metadata(&own).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    std::fs::remove_dir_all(&own).unwrap();
    symlink(theirs.path(), &own).unwrap();
    let (_, error) = folder_under_test.run_expecting(3, &["e2e", "--simulate", "publisher/value/maximum"]);
    assert!(error.contains("set TMPDIR to another folder"), "{error}");
    assert!(names(theirs.path()).is_empty());
}
