//! Serves a cluster until interrupted: opens the listener, writes the kubeconfig, prints the addresses.
//!
//! Does not know which command serves the cluster.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use suites::harness::LiveCluster;
use suites::harness::machine;
use suites::harness::plan::Plan;
use suites::harness::standalone::{ApiServer, Kubeconfig, Tls, User};
use suites::harness::unattended::{self, Unattended};
use tokio::net::TcpListener;

use crate::Exit;
use crate::interrupt::interrupted;
use crate::out::{self, eprintln, println};
use suites::quoted;

/// User name in the kubeconfig.
const ADMINISTRATOR: &str = "kubernetes-admin";

/// Exit code and message of a failed start.
pub(crate) struct ServeError(pub(crate) Exit, pub(crate) String);

pub(crate) struct ServeOptions<'a> {
    /// Listen address; port 0 selects any free port.
    pub(crate) listen: SocketAddr,
    /// Path of the kubeconfig to write.
    pub(crate) kubeconfig: &'a Path,
    /// Whether to serve HTTP without TLS, where every client has administrator rights.
    pub(crate) plain_http: bool,
    /// Two lines: the controllers that run in the cluster, and the controllers that do not.
    pub(crate) scope: [String; 2],
}

/// Two lines: the controllers that run in a cluster, and the controllers that do not.
pub(crate) fn scope_lines(plan: Option<&Plan>) -> [String; 2] {
    let controllers: Vec<&str> = unattended::kinds().collect();
    let controllers = controllers.join(", ");
    let Some(plan) = plan else {
        return [
            "runs        the API server alone".to_owned(),
            format!(
                "not run     a scheduler, a driver, a kubelet, and every controller: pods and claims stay Pending, and {controllers} create no pods"
            ),
        ];
    };
    let roles: Vec<&str> = plan.roles.iter().map(|role| role.as_str()).collect();
    let roles = match roles.is_empty() {
        true => String::new(),
        false => format!("{}, and ", roles.join(", ")),
    };
    [
        format!(
            "runs        {roles}the controllers that create claims of generic ephemeral volumes, bind claims, and attach volumes"
        ),
        format!("not run     containers, and the controllers of {controllers}: create their pods yourself"),
    ]
}

/// CSI sockets with the node of each; `None` for the central driver.
pub(crate) type Sockets = Vec<(Option<String>, PathBuf)>;

pub(crate) fn sockets(cluster: &LiveCluster) -> Sockets {
    let sockets = cluster.sockets();
    sockets
        .map(|(node, socket)| (node.map(str::to_owned), socket.to_owned()))
        .collect()
}

/// Serves until Ctrl-C or SIGTERM. `sockets`: CSI sockets to print.
pub(crate) async fn serve(
    server: &ApiServer,
    sockets: &Sockets,
    options: &ServeOptions<'_>,
) -> Result<(), ServeError> {
    let environment =
        |what: String| move |error: std::io::Error| ServeError(Exit::Environment, format!("{what}: {error}"));
    let listen_error = environment(format!(
        "cannot listen on {}; choose another address",
        options.listen
    ));
    let listener = TcpListener::bind(options.listen).await.map_err(&listen_error)?;
    let address = listener.local_addr().map_err(&listen_error)?;
    let token = server.add_user(User::new(ADMINISTRATOR).in_group("system:masters"));
    print_sockets(sockets);
    let served = if options.plain_http {
        announce(options, &url("http", address), None, &token)?;
        server.serve_as(ADMINISTRATOR, listener, interrupted()).await
    } else {
        let tls =
            Tls::generate(address.ip()).map_err(|error| ServeError(Exit::Environment, error.to_string()))?;
        announce(options, &url("https", address), Some(tls.authority_pem()), &token)?;
        server.serve_tls(&tls, listener, interrupted()).await
    };
    served.map_err(environment("the listener failed".to_owned()))
}

/// Prints a note for each created object whose controller does not run in this cluster. Never returns.
pub(crate) async fn print_unattended(mut unattended: Unattended) {
    loop {
        eprintln!("note: {}", unattended.next().await);
    }
}

pub(crate) fn print_sockets(sockets: &Sockets) {
    for (node, socket) in sockets {
        let node = node
            .as_ref()
            .map(|node| format!("  (node {node})"))
            .unwrap_or_default();
        println!("csi         {}{node}", socket.display());
    }
}

/// Writes the kubeconfig and prints the addresses. The listener must be bound already, so that clients can connect as soon as they read
/// `ready`.
fn announce(
    options: &ServeOptions<'_>,
    url: &str,
    authority_pem: Option<&str>,
    token: &str,
) -> Result<(), ServeError> {
    let path = std::path::absolute(options.kubeconfig).unwrap_or_else(|_| options.kubeconfig.to_owned());
    let config = Kubeconfig {
        server: url,
        authority_pem,
        token,
    };
    config.write(&path).map_err(|error| {
        let folder = path.parent().unwrap_or(&path);
        let remedy = machine::remedy(&error, folder, "name another file with --kubeconfig");
        let why = format!("cannot write {}: {error}; {remedy}", path.display());
        ServeError(Exit::Environment, why)
    })?;
    println!("server      {url}");
    println!("kubeconfig  {}", path.display());
    for line in &options.scope {
        println!("{line}");
    }
    println!(
        "try         kubectl --kubeconfig {} get namespaces",
        quoted(&path.display().to_string())
    );
    println!("ready");
    check_printed()
}

/// Fails if the addresses could not be printed: without them, no client can connect to the cluster.
fn check_printed() -> Result<(), ServeError> {
    match out::is_output_lost() {
        true => Err(ServeError(
            Exit::Environment,
            "the cluster was stopped, because its address could not be printed".to_owned(),
        )),
        false => Ok(()),
    }
}

/// The URL under which this machine reaches a listener: the loopback address for a wildcard address.
fn url(scheme: &str, mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    format!("{scheme}://{address}")
}
