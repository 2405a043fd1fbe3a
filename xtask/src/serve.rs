//! Serves a cluster to others until it is told to stop: opens the listener, writes the kubeconfig, prints where everything is.
//!
//! Does not know why the cluster is up.

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

/// Who the kubeconfig is for.
const ADMINISTRATOR: &str = "kubernetes-admin";

/// Why it did not come up, and the exit code that this has.
pub(crate) struct Refusal(pub(crate) Exit, pub(crate) String);

/// Where to serve.
pub(crate) struct Place<'a> {
    /// Where to listen; port 0 is any free one.
    pub(crate) listen: SocketAddr,
    /// Where to write the kubeconfig.
    pub(crate) kubeconfig: &'a Path,
    /// Without TLS, to everyone as administrator.
    pub(crate) plain_http: bool,
    /// What acts in the cluster, and what does not.
    pub(crate) scope: [String; 2],
}

/// What acts in a cluster, and what does not, a line each.
pub(crate) fn scope(plan: Option<&Plan>) -> [String; 2] {
    let controllers: Vec<&str> = unattended::kinds().collect();
    let controllers = controllers.join(", ");
    let Some(plan) = plan else {
        return [
            "runs        the API server alone".to_owned(),
            format!(
                "not run     a scheduler, a driver, a kubelet, and every controller: pods and claims stay Pending, and {controllers} make no pods"
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
        format!("not run     containers, and the controllers of {controllers}: create the pods yourself"),
    ]
}

/// Where drivers listen, each with its node; none: the central one.
pub(crate) type Sockets = Vec<(Option<String>, PathBuf)>;

/// The sockets of a scenario's driver.
pub(crate) fn sockets(standing: &LiveCluster) -> Sockets {
    let sockets = standing.sockets();
    sockets
        .map(|(node, socket)| (node.map(str::to_owned), socket.to_owned()))
        .collect()
}

/// Serves until Ctrl-C or SIGTERM. `sockets`: those of the drivers around the server, which are printed.
pub(crate) async fn serve(server: &ApiServer, sockets: &Sockets, place: &Place<'_>) -> Result<(), Refusal> {
    let environment =
        |what: String| move |error: std::io::Error| Refusal(Exit::Environment, format!("{what}: {error}"));
    let taken = environment(format!(
        "can't listen on {}; choose another address",
        place.listen
    ));
    let listener = TcpListener::bind(place.listen).await.map_err(&taken)?;
    let address = listener.local_addr().map_err(&taken)?;
    let token = server.add_user(User::new(ADMINISTRATOR).in_group("system:masters"));
    tell_sockets(sockets);
    let served = if place.plain_http {
        announce(place, &url("http", address), None, &token)?;
        server.serve_as(ADMINISTRATOR, listener, interrupted()).await
    } else {
        let tls =
            Tls::generate(address.ip()).map_err(|error| Refusal(Exit::Environment, error.to_string()))?;
        announce(place, &url("https", address), Some(tls.authority_pem()), &token)?;
        server.serve_tls(&tls, listener, interrupted()).await
    };
    served.map_err(environment("the listener failed".to_owned()))
}

/// Says of each object that is created and that nobody acts upon that it is one. Never ends by itself.
pub(crate) async fn tell_unattended(mut unattended: Unattended) {
    loop {
        eprintln!("note: {}", unattended.next().await);
    }
}

/// Says where drivers listen.
pub(crate) fn tell_sockets(sockets: &Sockets) {
    for (node, socket) in sockets {
        let node = node
            .as_ref()
            .map(|node| format!("  (node {node})"))
            .unwrap_or_default();
        println!("csi         {}{node}", socket.display());
    }
}

/// Writes the kubeconfig and says where everything is. The listener is bound already, so who reads `ready` can connect.
fn announce(place: &Place<'_>, url: &str, authority_pem: Option<&str>, token: &str) -> Result<(), Refusal> {
    let path = std::path::absolute(place.kubeconfig).unwrap_or_else(|_| place.kubeconfig.to_owned());
    let config = Kubeconfig {
        server: url,
        authority_pem,
        token,
    };
    config.write(&path).map_err(|error| {
        let folder = path.parent().unwrap_or(&path);
        let remedy = machine::remedy(&error, folder, "name another file with --kubeconfig");
        let why = format!("can't write {}: {error}; {remedy}", path.display());
        Refusal(Exit::Environment, why)
    })?;
    println!("server      {url}");
    println!("kubeconfig  {}", path.display());
    for line in &place.scope {
        println!("{line}");
    }
    println!(
        "try         kubectl --kubeconfig {} get namespaces",
        quoted(&path.display().to_string())
    );
    println!("ready");
    is_heard()
}

/// Whether it could be said where everything is. A cluster of which nobody knows where it is need not be there.
fn is_heard() -> Result<(), Refusal> {
    match out::is_lost() {
        true => Err(Refusal(
            Exit::Environment,
            "the cluster does not stay up, as nobody would learn where it is".to_owned(),
        )),
        false => Ok(()),
    }
}

/// Where this machine reaches a listener: one on all addresses is reached on loopback.
fn url(scheme: &str, mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    format!("{scheme}://{address}")
}
