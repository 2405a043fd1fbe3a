//! `envtest-assets`: the programs that suites with envtest start.

use std::path::Path;
use std::process::{Command, Output};

use crate::program::text;

fn run(program: &Path, args: &[&str]) -> Output {
    Command::new(program).args(args).output().unwrap()
}

#[test]
fn the_programs_are_there_and_know_who_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let assets = folder.path().join("assets");
    let own = Path::new(env!("CARGO_BIN_EXE_csi-capacity"));
    // A second time they are written anew.
    for _ in 0..2 {
        let written = run(own, &["envtest-assets", assets.to_str().unwrap()]);
        let said = text(&written.stdout);
        assert!(written.status.success(), "{}", text(&written.stderr));
        assert!(said.starts_with("export KUBEBUILDER_ASSETS=/"), "{said}");
    }
    let server = run(&assets.join("kube-apiserver"), &["--help"]);
    assert!(server.status.success() && text(&server.stdout).contains("--client-ca-file"));
    let etcd = run(&assets.join("etcd"), &["--help"]);
    assert!(etcd.status.success() && text(&etcd.stdout).contains("--unsafe-no-fsync"));
    let unknown = run(&assets.join("kube-apiserver"), &["--x"]);
    assert_eq!(
        (unknown.status.code(), text(&unknown.stderr)),
        (Some(1), "Error: unknown flag: --x\n".to_owned())
    );
}
