//! The cleaner cases as tests of this crate: `cargo test -p example-cleaner`, with a filter, or under nextest.

use std::process::ExitCode;
use std::sync::Arc;

use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use kube::client::ConfigExt;
use suites::harness::scenario::{CaseFiles, Role};
use suites::harness::system::{BoxError, ProgramInputs, System, Systems};
use tower::{ServiceBuilder, ServiceExt};

fn main() -> ExitCode {
    let system = System {
        name: "my-cleaner".to_owned(),
        run: Arc::new(|access, stop| Box::pin(clean(access, stop.cancelled_owned()))),
        metrics_url: None,
        is_child: false,
    };
    let mut systems = Systems::default();
    systems.by_role.insert(Role::Cleaner, system);
    suites::libtest_main(&CaseFiles::Embedded(built_in_files::CASES), systems)
}

/// Starts the program with the API server address and token of a case.
async fn clean(access: ProgramInputs, stopped: impl Future<Output = ()> + Send) -> Result<(), BoxError> {
    let client = client(&access)?;
    let clients = example_cleaner::Clients {
        main: client.clone(),
        publishing: client,
        driver: access.network.channel("".as_ref())?,
        metrics: None,
    };
    let settings = access.settings;
    Ok(example_cleaner::clean(
        clients,
        settings.driver,
        access.namespace,
        settings.orphan_after,
        stopped,
    )
    .await?)
}

/// A client on the in-memory network of the case.
fn client(access: &ProgramInputs) -> Result<kube::Client, BoxError> {
    let mut config = kube::Config::new(access.api_url.parse()?);
    config.auth_info.token = Some(access.token.clone().into());
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .service(
            Client::builder(TokioExecutor::new())
                .build(access.network.http())
                .map_err(BoxError::from),
        );
    Ok(kube::Client::new(service, access.namespace.clone()))
}
