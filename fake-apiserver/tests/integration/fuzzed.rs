//! Runs the fuzz targets on their seeds and on mutated seeds, so that a plain test run covers the targets without cargo-fuzz.

#[path = "../../fuzz/src/lib.rs"]
pub mod fuzz;
mod mutated;

use mutated::mutated;
use proptest::test_runner::{Config, TestRunner};
use std::path::{Path, PathBuf};

fn fuzz_path(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(of)
}

/// The names of the files in a folder, without file extension.
fn names(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(fuzz_path(folder)).expect("the folder exists");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("the folder is readable").path();
        path.file_stem()
            .expect("folder entries have names")
            .to_string_lossy()
            .into_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = fuzz_path("seeds").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        std::fs::read(entry.expect("the folder is readable").path()).expect("seeds can be read")
    };
    entries.map(read).collect()
}

/// Each fuzz target runs in a thread with its own server, so that targets share no state. `PROPTEST_CASES`: number of inputs per target in
/// addition to the seeds of the target.
#[test]
fn no_input_violates_the_property_of_a_fuzz_target() {
    let runs = fuzz::TARGETS.map(|(name, _)| {
        let run = move || {
            let seeds = seeds(name);
            seeds.iter().for_each(|seed| fuzz::run(name, seed));
            let mut runner = TestRunner::new(Config {
                failure_persistence: None,
                ..Config::default()
            });
            let ran = runner.run(&mutated(seeds), |bytes| {
                fuzz::run(name, &bytes);
                Ok(())
            });
            ran.unwrap_or_else(|failure| panic!("{name}: {failure}"));
        };
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)
            .expect("the operating system starts a thread")
    });
    let failed = runs.into_iter().filter_map(|run| run.join().err()).count();
    assert_eq!(failed, 0, "the number of failed targets");
}

#[test]
fn every_target_has_a_program_and_seeds() {
    let targets = fuzz::TARGETS.map(|(name, _)| name.to_owned());
    assert_eq!(names("fuzz_targets"), targets);
    assert_eq!(names("seeds"), targets);
    let manifest = std::fs::read_to_string(fuzz_path("Cargo.toml")).expect("fuzz/Cargo.toml exists");
    for name in targets {
        let program = format!("[[bin]]\nname = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\n");
        assert!(manifest.contains(&program), "{name} is not in the manifest");
        let source = std::fs::read_to_string(fuzz_path("fuzz_targets").join(format!("{name}.rs")));
        assert!(
            source.is_ok_and(|text| text.contains(&format!("run(\"{name}\", bytes)"))),
            "{name} runs another target"
        );
    }
}
