//! Every case against the built-in references, as a test of its own, in simulated time: what else the machine does decides nothing.

fn main() -> std::process::ExitCode {
    suites::libtest_main(&suites::case_files(), references::built_in(None))
}
