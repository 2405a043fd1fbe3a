//! Contract tests: conversations with a Kubernetes API server, and the answers that kube-apiserver 1.36 gave.
//!
//! Each `*.yaml` beside this file holds conversations, each `*.answers.json` what the real server answered. By default
//! they are held against a fake of this process. With `CONTRACT_KUBECONFIG` they are held against the server that it
//! names, in namespaces of their own, which are deleted afterwards; with `CONTRACT_RECORD=1` as well, that server's
//! answers are written down as the right ones, all or those of the areas whose names contain the argument. The server
//! needs service accounts and the controllers for them, for namespaces and for garbage; no others.

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
    let runtime = Arc::new(Runtime::new().expect("a runtime can be started"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract");
    if std::env::var_os("CONTRACT_RECORD").is_some() {
        return record(&runtime, &folder, arguments.filter.as_deref().unwrap_or_default());
    }
    if kubeconfig().is_some() {
        // Cluster-wide answers are only stable while nobody else writes.
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

/// The server to hold the conversations against, if it is not the fake.
fn kubeconfig() -> Option<PathBuf> {
    std::env::var_os("CONTRACT_KUBECONFIG").map(PathBuf::from)
}

async fn check(conversation: Conversation) -> Result<(), Failed> {
    let server = Server::connect(kubeconfig().as_deref()).await;
    let differences = conversation.hold(&server).await;
    server.clean_up().await;
    if differences.is_empty() {
        return Ok(());
    }
    Err(differences.join("\n").into())
}

fn record(runtime: &Runtime, folder: &Path, area: &str) -> ExitCode {
    let kubeconfig =
        kubeconfig().expect("CONTRACT_RECORD needs CONTRACT_KUBECONFIG: the fake's answers prove nothing");
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
