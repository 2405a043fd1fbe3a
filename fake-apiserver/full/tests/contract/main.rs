//! Contract tests: conversations with an API server, compared with the recorded responses of kube-apiserver 1.36.
//!
//! Each `*.yaml` in this folder contains conversations, each `*.answers.json` the recorded responses. By default, the tests run against a
//! fake API server in this process. With `CONTRACT_KUBECONFIG` they run against that cluster, in temporary namespaces. If
//! `CONTRACT_RECORD=1` is also set, the responses of the cluster replace the recorded ones: in all files, or in those whose name contains
//! the argument. The cluster must run the controllers for service accounts, namespaces and garbage collection, and no others.

mod conversation;
mod normal;
mod server;

use conversation::{Conversation, read_all};
use libtest_mimic::{Arguments, Failed, Trial};
use server::Server;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::runtime::Runtime;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    let runtime = Arc::new(Runtime::new().expect("the runtime starts"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract");
    if std::env::var_os("CONTRACT_RECORD").is_some() {
        return record(&runtime, &folder, arguments.filter.as_deref().unwrap_or_default());
    }
    if kubeconfig().is_some() {
        // Responses about cluster-wide objects are stable only without concurrent writes.
        arguments.test_threads = Some(1);
    }
    let trials = read_all(&folder).into_iter().flat_map(|file| {
        let runtime = runtime.clone();
        let area = file.area.clone();
        file.conversations.into_iter().map(move |conversation| {
            let runtime = runtime.clone();
            let name = format!("{area}/{}", conversation.name.replace(' ', "-"));
            Trial::test(name, move || runtime.block_on(check(conversation)))
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// The kubeconfig of the cluster to test; None for the fake.
fn kubeconfig() -> Option<PathBuf> {
    std::env::var_os("CONTRACT_KUBECONFIG").map(PathBuf::from)
}

async fn check(conversation: Conversation) -> Result<(), Failed> {
    let server = Server::connect(kubeconfig().as_deref()).await;
    let differences = conversation.compare_with_recorded(&server).await;
    server.clean_up().await;
    if differences.is_empty() {
        return Ok(());
    }
    Err(differences.join("\n").into())
}

fn record(runtime: &Runtime, folder: &Path, area: &str) -> ExitCode {
    let kubeconfig = kubeconfig()
        .expect("CONTRACT_RECORD requires CONTRACT_KUBECONFIG: responses of the fake must not be recorded");
    for mut file in read_all(folder)
        .into_iter()
        .filter(|file| file.area.contains(area))
    {
        runtime.block_on(async {
            for conversation in &mut file.conversations {
                let server = Server::connect(Some(&kubeconfig)).await;
                conversation.record(&server).await;
                server.clean_up().await;
            }
        });
        file.write_answers();
    }
    ExitCode::SUCCESS
}
