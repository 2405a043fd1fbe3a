//! Every case against the built-in references, as a test of its own.

fn main() -> std::process::ExitCode {
    suites::libtest_main(&suites::cases_folder(), xtask::built_in(None))
}
