//! Runs every case as a separate test, against the built-in references in simulated time, so that load on the host has no effect.

fn main() -> std::process::ExitCode {
    suites::libtest_main(&suites::case_files(), references::built_in(None))
}
