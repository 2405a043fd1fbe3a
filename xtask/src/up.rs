//! `up`: serves the API server alone, or the cluster of a scenario, until interrupted.
//!
//! Only checks the arguments and starts the cluster: the module `serve` serves it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use suites::harness::invocation::program;
use suites::harness::plan::{Plan, resolve_cluster};
use suites::harness::scenario::{self, ScenarioError};
use suites::harness::standalone::{ApiServer, Authorization, ServerOptions, api_server};
use suites::harness::{LiveCluster, StartError};

use crate::Exit;
use crate::follow::Followed;
use crate::kubeconfig_file::KubeconfigFile;
use crate::runtime::runtime;
use crate::serve::{self, ServeError, ServeOptions};
use references::built_in;

/// Arguments of `up`.
#[derive(Args)]
pub(crate) struct UpArgs {
    /// A scenario, or a file with only a `cluster`; runs its driver, publisher and scheduler, but no steps
    scenario: Option<PathBuf>,
    /// Row of the scenario's table
    #[arg(long, requires = "scenario")]
    row: Option<String>,
    /// Poll interval of the scenario's publisher
    #[arg(long, default_value = "1s", value_parser = refresh)]
    refresh: Duration,
    /// Listen address; port 0 selects any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = address)]
    listen: SocketAddr,
    /// Allow a listen address that other machines can reach
    #[arg(long)]
    allow_remote: bool,
    /// Allow calls of webhooks on other machines
    #[arg(long, conflicts_with = "scenario")]
    allow_remote_webhooks: bool,
    /// Static tokens: a file with lines of token,user,uid,"group1,group2"
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Write the kubeconfig into this file and leave it there [default: a temporary file]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Serve HTTP without TLS, with administrator rights for every client and without tokens
    #[arg(long)]
    plain_http: bool,
}

/// Serves the API server or the cluster until Ctrl-C or SIGTERM.
pub(crate) fn run(args: &UpArgs) -> Result<Exit, Exit> {
    let runtime = runtime()?;
    let kubeconfig = KubeconfigFile::of(args.kubeconfig.as_deref())?;
    let checked = validate_arguments(args).and_then(|tokens| Ok((tokens, plan(args)?)));
    let served = checked.and_then(|(tokens, plan)| {
        let served = serve(args, &kubeconfig.path, tokens.as_deref(), plan.as_ref());
        runtime.block_on(served)
    });
    served.map_err(|ServeError(exit, why)| exit.with_error(why))?;
    Ok(Exit::Passed)
}

/// Validates the arguments, and reads the token file.
fn validate_arguments(args: &UpArgs) -> Result<Option<String>, ServeError> {
    let usage = |why: String| Err(ServeError(Exit::Usage, why));
    let is_remote = !args.listen.ip().is_loopback();
    if is_remote && !args.allow_remote {
        return usage(format!(
            "{} is reachable from other machines; listen on 127.0.0.1, or add --allow-remote",
            args.listen
        ));
    }
    if is_remote && args.plain_http {
        let listen = args.listen;
        return usage(format!(
            "--plain-http gives every client administrator rights, so it is not allowed on {listen}; remove --plain-http"
        ));
    }
    match &args.token_file {
        None => Ok(None),
        Some(file) => match std::fs::read_to_string(file) {
            Ok(text) => Ok(Some(text)),
            Err(error) => usage(format!(
                "{}: {error}; name a token file that can be read",
                file.display()
            )),
        },
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "write an IP address and a port, such as 127.0.0.1:6443".to_owned())
}

fn refresh(text: &str) -> Result<Duration, String> {
    suites::harness::plan::duration(text)
}

/// Reads the scenario file, if one is given, and resolves its plan.
fn plan(args: &UpArgs) -> Result<Option<Plan>, ServeError> {
    let Some(file) = &args.scenario else {
        return Ok(None);
    };
    let usage = |why: String| ServeError(Exit::Usage, why);
    let wrong = |error: ScenarioError| usage(error.to_string());
    let mut rows = scenario::load_cluster(file).map_err(wrong)?;
    if let Some(row) = &args.row {
        rows.retain(|scenario| scenario.id.rsplit('/').next() == Some(row));
    }
    match rows.as_slice() {
        [only] => resolve_cluster(only).map(Some).map_err(wrong),
        [] => Err(usage(format!(
            "{} has no row `{}`; see `{program} list`",
            file.display(),
            args.row.as_deref().unwrap_or_default(),
            program = program()
        ))),
        several => {
            let rows: Vec<&str> = several
                .iter()
                .filter_map(|scenario| scenario.id.rsplit('/').next())
                .collect();
            Err(usage(format!(
                "{} has several rows; choose one with --row: {}",
                file.display(),
                rows.join(", ")
            )))
        }
    }
}

async fn start(args: &UpArgs, plan: Option<&Plan>) -> Result<(ApiServer, Option<LiveCluster>), ServeError> {
    let Some(plan) = plan else {
        let options = ServerOptions {
            authorization: Authorization::Rbac,
            default_service_accounts: true,
            remote_webhooks: args.allow_remote_webhooks,
            ..ServerOptions::default()
        };
        return Ok((api_server(options, None), None));
    };
    let cluster = LiveCluster::start(plan, &built_in(None), args.refresh).await;
    let cluster = cluster.map_err(|error| {
        let exit = match error {
            StartError::Refused { .. } => Exit::Usage,
            _ => Exit::Environment,
        };
        ServeError(exit, error.to_string())
    })?;
    let Some(api) = cluster.api().cloned() else {
        let why = "the cluster of a scenario has its API server in memory".to_owned();
        return Err(ServeError(Exit::Environment, why));
    };
    Ok((api, Some(cluster)))
}

async fn serve(
    args: &UpArgs,
    kubeconfig: &Path,
    tokens: Option<&str>,
    plan: Option<&Plan>,
) -> Result<(), ServeError> {
    let (server, mut cluster) = start(args, plan).await?;
    if let (Some(text), Some(file)) = (tokens, &args.token_file) {
        let wrong = |error| ServeError(Exit::Usage, format!("{}: {error}", file.display()));
        server.add_token_file(text).map_err(wrong)?;
    }
    let serve_options = ServeOptions {
        listen: args.listen,
        kubeconfig,
        plain_http: args.plain_http,
        scope: serve::scope_lines(plan),
    };
    let sockets = cluster.as_ref().map(serve::sockets).unwrap_or_default();
    let serving = serve::serve(&server, &sockets, &serve_options);
    let read = || self::plan(args).and_then(|plan| plan.ok_or(ServeError(Exit::Usage, String::new())));
    let read = || read().map_err(|ServeError(_, why)| why);
    let served = match (&mut cluster, plan, &args.scenario) {
        (Some(cluster), Some(plan), Some(file)) => {
            let followed = Followed {
                file: file.clone(),
                plan: plan.clone(),
                read: &read,
            };
            let unattended = cluster.unreconciled_objects();
            tokio::select! {
                served = serving => served,
                () = serve::print_unattended(unattended) => Ok(()),
                () = followed.follow(cluster) => Ok(()),
            }
        }
        _ => serving.await,
    };
    if let Some(cluster) = cluster {
        cluster.stop().await;
    }
    served
}
