//! `up`: the API server alone, or a scenario's whole cluster, until it is told to stop.
//!
//! Thin: reads what was typed, opens the listener, tells where the server is. Serving is the server's business.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::{eprintln, println};
use clap::Args;
use suites::harness::plan::{Plan, lower};
use suites::harness::scenario::{self, ScenarioError};
use suites::harness::standalone::{ApiServer, Authorization, Kubeconfig, ServerOptions, Tls, User};
use suites::harness::{Standing, StartError};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::Exit;
use crate::built_in::built_in;

/// Arguments of `up`.
#[derive(Args)]
pub(crate) struct UpArgs {
    /// A scenario: its cluster is set up, its driver, publisher and scheduler run, its steps are not taken
    scenario: Option<PathBuf>,
    /// Which row of the scenario's table
    #[arg(long, requires = "scenario")]
    row: Option<String>,
    /// How often the scenario's publisher asks its driver
    #[arg(long, default_value = "1s", value_parser = refresh)]
    refresh: Duration,
    /// Where to listen; port 0 is any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Listen on an address that other machines reach
    #[arg(long)]
    allow_remote: bool,
    /// Further tokens: a file with lines of token,user,uid,"group1,group2"
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Where to write the kubeconfig
    #[arg(long, value_name = "FILE", default_value = "target/up/kubeconfig")]
    kubeconfig: PathBuf,
    /// Serve without TLS, to everyone as administrator: clients send no token then
    #[arg(long)]
    plain_http: bool,
}

/// Who the kubeconfig is for.
const ADMINISTRATOR: &str = "kubernetes-admin";

/// Why it did not come up, and the exit code that this has.
struct Refusal(Exit, String);

/// Serves until Ctrl-C or SIGTERM.
pub(crate) fn run(args: &UpArgs) -> Exit {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!(
                "error: the asynchronous runtime does not start: {error}; check the limits of the process"
            );
            return Exit::Environment;
        }
    };
    let checked = check(args).and_then(|tokens| Ok((tokens, plan(args)?)));
    let served = checked.and_then(|(tokens, plan)| {
        let served = serve(args, tokens.as_deref(), plan.as_ref());
        runtime.block_on(served)
    });
    match served {
        Ok(()) => Exit::Passed,
        Err(Refusal(exit, why)) => {
            eprintln!("error: {why}");
            exit
        }
    }
}

/// Checks what was typed, and reads the token file.
fn check(args: &UpArgs) -> Result<Option<String>, Refusal> {
    let usage = |why: String| Err(Refusal(Exit::Usage, why));
    let is_remote = !args.listen.ip().is_loopback();
    if is_remote && !args.allow_remote {
        return usage(format!(
            "{} is reached from other machines; listen on 127.0.0.1, or add --allow-remote",
            args.listen
        ));
    }
    if is_remote && args.plain_http {
        let listen = args.listen;
        return usage(format!(
            "--plain-http makes everyone administrator, so not on {listen}; leave it out"
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

fn refresh(text: &str) -> Result<Duration, String> {
    suites::harness::plan::duration(text)
}

/// Reads the scenario, if there is one.
fn plan(args: &UpArgs) -> Result<Option<Plan>, Refusal> {
    let Some(file) = &args.scenario else {
        return Ok(None);
    };
    let usage = |why: String| Refusal(Exit::Usage, why);
    let wrong = |error: ScenarioError| usage(error.to_string());
    let mut rows = scenario::load_file(file).map_err(wrong)?;
    if let Some(row) = &args.row {
        rows.retain(|scenario| scenario.id.rsplit('/').next() == Some(row));
    }
    match rows.as_slice() {
        [only] => lower(only).map(Some).map_err(wrong),
        [] => Err(usage(format!(
            "{} has no row `{}`; see `cargo xtask list`",
            file.display(),
            args.row.as_deref().unwrap_or_default()
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

/// The API server alone, or the one of a scenario's cluster.
async fn start(args: &UpArgs, plan: Option<&Plan>) -> Result<(ApiServer, Option<Standing>), Refusal> {
    let Some(plan) = plan else {
        let options = ServerOptions {
            authorization: Authorization::Rbac,
            default_service_accounts: true,
            ..ServerOptions::default()
        };
        return Ok((ApiServer::new(options, None), None));
    };
    let standing = Standing::start(plan, &built_in(None), args.refresh).await;
    let standing = standing.map_err(|error| {
        let exit = match error {
            StartError::Refused { .. } => Exit::Usage,
            _ => Exit::Environment,
        };
        Refusal(exit, error.to_string())
    })?;
    Ok((standing.api().clone(), Some(standing)))
}

async fn serve(args: &UpArgs, tokens: Option<&str>, plan: Option<&Plan>) -> Result<(), Refusal> {
    let environment =
        |what: String| move |error: std::io::Error| Refusal(Exit::Environment, format!("{what}: {error}"));
    let (server, standing) = start(args, plan).await?;
    if let (Some(text), Some(file)) = (tokens, &args.token_file) {
        let wrong = |error| Refusal(Exit::Usage, format!("{}: {error}", file.display()));
        server.add_token_file(text).map_err(wrong)?;
    }
    let mut stop = Stop::new().map_err(environment("signals can't be heard".to_owned()))?;
    let taken = environment(format!("can't listen on {}; choose another address", args.listen));
    let listener = TcpListener::bind(args.listen).await.map_err(&taken)?;
    let address = listener.local_addr().map_err(&taken)?;
    let token = server.add_user(User::new(ADMINISTRATOR).in_group("system:masters"));
    tell_sockets(standing.as_ref());
    let served = if args.plain_http {
        announce(args, &url("http", address), None, &token)?;
        server.serve_as(ADMINISTRATOR, listener, stop.told()).await
    } else {
        let tls =
            Tls::generate(address.ip()).map_err(|error| Refusal(Exit::Environment, error.to_string()))?;
        announce(args, &url("https", address), Some(tls.authority_pem()), &token)?;
        server.serve_tls(&tls, listener, stop.told()).await
    };
    if let Some(standing) = standing {
        standing.stop().await;
    }
    served.map_err(environment("the listener failed".to_owned()))
}

/// Says where the driver of a scenario is.
fn tell_sockets(standing: Option<&Standing>) {
    for (node, socket) in standing.iter().flat_map(|standing| standing.sockets()) {
        let node = node.map(|node| format!("  (node {node})")).unwrap_or_default();
        println!("csi         {}{node}", socket.display());
    }
}

/// Writes the kubeconfig and says where everything is. The listener is bound already, so who reads `ready` can connect.
fn announce(args: &UpArgs, url: &str, authority_pem: Option<&str>, token: &str) -> Result<(), Refusal> {
    let path = std::path::absolute(&args.kubeconfig).unwrap_or_else(|_| args.kubeconfig.clone());
    let config = Kubeconfig {
        server: url,
        authority_pem,
        token,
    };
    config.write(&path).map_err(|error| {
        let why = format!(
            "can't write {}: {error}; name another file with --kubeconfig",
            path.display()
        );
        Refusal(Exit::Environment, why)
    })?;
    println!("server      {url}");
    println!("kubeconfig  {}", path.display());
    println!(
        "try         kubectl --kubeconfig {} get namespaces",
        quoted(&path)
    );
    println!("ready");
    Ok(())
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Where this machine reaches a listener: one on all addresses is reached on loopback.
fn url(scheme: &str, mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    format!("{scheme}://{address}")
}

/// The signals that end the server.
struct Stop {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Stop {
    /// Listens from now on, so that no signal is lost while the server comes up.
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn told(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
