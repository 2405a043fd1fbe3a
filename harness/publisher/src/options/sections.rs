//! Groups of options: leader election, HTTP endpoint, cleaner.

use std::{net::SocketAddr, time::Duration};

use super::values::{Labels, parse_duration, parse_labels};

/// Leader election: one instance works, all other instances wait.
#[derive(Clone, Debug, clap::Args)]
pub struct LeaderElectionOptions {
    /// Work only while holding the Lease named after the driver.
    #[arg(id = "leader_election", long = "leader-election", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub enabled: bool,

    /// Namespace of the Lease [default: that of the pod].
    #[arg(
        id = "leader_election_namespace",
        long = "leader-election-namespace",
        value_name = "NAME",
        env = "POD_NAMESPACE"
    )]
    pub namespace: Option<String>,

    /// Time after the last renewal until another instance may acquire the Lease; whole seconds.
    #[arg(id = "lease_duration", long = "leader-election-lease-duration", value_name = "DURATION", value_parser = parse_duration, default_value = "15s")]
    pub lease_duration: Duration,

    /// Time without a successful renewal after which the program exits.
    #[arg(id = "renew_deadline", long = "leader-election-renew-deadline", value_name = "DURATION", value_parser = parse_duration, default_value = "10s")]
    pub renew_deadline: Duration,

    /// Time between two attempts to acquire or renew the Lease.
    #[arg(id = "retry_period", long = "leader-election-retry-period", value_name = "DURATION", value_parser = parse_duration, default_value = "5s")]
    pub retry_period: Duration,

    /// Labels of the Lease.
    #[arg(id = "leader_election_labels", long = "leader-election-labels", value_name = "KEY:VALUE,…", value_parser = parse_labels, default_value = "", hide_default_value = true)]
    pub labels: Labels,
}

impl Default for LeaderElectionOptions {
    fn default() -> Self {
        LeaderElectionOptions {
            enabled: false,
            namespace: None,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(5),
            labels: Labels::default(),
        }
    }
}

/// Metrics and health over HTTP.
#[derive(Clone, Debug, clap::Args)]
pub struct HttpOptions {
    /// Address for metrics and health, such as 127.0.0.1:8080; without a host it means all interfaces.
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub http_endpoint: Option<SocketAddr>,

    /// Deprecated name of --http-endpoint.
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address, hide = true)]
    pub metrics_address: Option<SocketAddr>,

    /// HTTP path of the metrics.
    #[arg(long, value_name = "PATH", default_value = "/metrics")]
    pub metrics_path: String,
}

impl Default for HttpOptions {
    fn default() -> Self {
        HttpOptions {
            http_endpoint: None,
            metrics_address: None,
            metrics_path: "/metrics".to_owned(),
        }
    }
}

/// The cleaner: deletes the objects of nodes that no longer run the driver (KEP-1472, "without central controller"). Needs no driver, and
/// publishes nothing.
#[derive(Clone, Debug, clap::Args)]
pub struct CleanerOptions {
    /// Only delete orphaned objects of distributed instances on removed nodes; needs no CSI socket.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    pub clean_orphans: bool,

    /// Name of the driver whose orphaned objects are deleted.
    #[arg(long, value_name = "NAME")]
    pub driver_name: Option<String>,

    /// Time for which the driver must be absent from a node before the node's objects are deleted.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "5m")]
    pub orphan_after: Duration,
}

impl Default for CleanerOptions {
    fn default() -> Self {
        CleanerOptions {
            clean_orphans: false,
            driver_name: None,
            orphan_after: Duration::from_secs(300),
        }
    }
}

/// As in Go programs, `:8080` means all interfaces.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let whole = match text.strip_prefix(':') {
        Some(port) => format!("[::]:{port}"),
        None => text.replace("localhost:", "127.0.0.1:"),
    };
    whole.parse().map_err(|_| {
        format!("{text:?} is not an address; use HOST:PORT or :PORT, such as 127.0.0.1:8080 or :8080")
    })
}
