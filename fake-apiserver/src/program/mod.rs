//! The server as a program that is called as kube-apiserver is, and an etcd that only says that it is well: what envtest and
//! scripts that start a control plane need.
//!
//! Owns command lines, files and signals. What a server does is in the library.

mod apiserver;
mod etcd;
mod flags;
mod options;
mod out;
mod signals;

use std::path::Path;
use std::process::ExitCode;

/// The name by which the program plays etcd.
const ETCD: &str = "etcd";
/// The names by which it plays the API server.
const API_SERVER: [&str; 2] = ["kube-apiserver", "fake-apiserver"];

/// Whether a program of that path is meant to be one of these.
pub fn is_meant(path: &str) -> bool {
    let name = name(path);
    name == ETCD || API_SERVER.contains(&name)
}

/// Does what the command line says; the path is that of the program.
pub fn main(path: &str, arguments: &[String]) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            out::tell(&format!(
                "Error: the runtime does not start: {error}; check the limits of the process"
            ));
            return ExitCode::FAILURE;
        }
    };
    match name(path) {
        ETCD => runtime.block_on(etcd::main(arguments)),
        _ => runtime.block_on(apiserver::main(arguments)),
    }
}

fn name(path: &str) -> &str {
    let file = Path::new(path).file_stem();
    file.and_then(|file| file.to_str()).unwrap_or_default()
}
