//! The fake API server as a program with kube-apiserver's command line, and an etcd without storage: for envtest and for scripts that start
//! a control plane.
//!
//! Owns command lines, files and signals. The API server itself is in the crate `fake-apiserver`.

mod apiserver;
mod assets;
mod etcd;
mod flags;
mod options;
mod out;
mod signals;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args();
    let path = words.next().unwrap_or_default();
    let arguments: Vec<String> = words.collect();
    if let Some((command, rest)) = arguments.split_first()
        && command == assets::COMMAND
    {
        return assets::main(rest);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            out::stderr_line(&format!(
                "Error: the tokio runtime does not start: {error}; check the limits of the process"
            ));
            return ExitCode::FAILURE;
        }
    };
    let name = Path::new(&path).file_stem();
    match name.and_then(|name| name.to_str()) {
        Some(assets::ETCD) => runtime.block_on(etcd::main(&arguments)),
        _ => runtime.block_on(apiserver::main(&arguments)),
    }
}
