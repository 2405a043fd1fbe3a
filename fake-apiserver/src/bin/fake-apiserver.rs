//! The server as a program: see [`fake_apiserver::program`].

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args();
    let path = words.next().unwrap_or_default();
    let arguments: Vec<String> = words.collect();
    fake_apiserver::program::main(&path, &arguments)
}
