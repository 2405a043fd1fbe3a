//! The program: flags and a file to a driver on its sockets, the control if it is wanted, and a signal to stop.
//!
//! Everything else is the library's. Exit codes: 0 after a signal, 2 for wrong flags or a wrong file, 3 if a socket or port cannot be had.

mod file;

use std::{
    io::{self, Write},
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

use clap::Parser;
use fake_csi::{
    DriverSpec, FakeDriver, NodeIdentity, Pool, Running, Segment, SpecVersion,
    control::{CallRecord, Control},
    description::Size,
};
use file::{Setup, Socket};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Serves a CSI driver that keeps exact books of pools that do not exist, and fails, lags or lies as it is told.
///
/// Prints a line for each socket, one for the control if it is on, and `ready`. Ends on Ctrl-C or SIGTERM, and removes its sockets.
/// Details go to stderr with RUST_LOG, for example RUST_LOG=fake_csi=debug.
#[derive(Parser)]
#[command(version, after_help = EXAMPLE)]
struct Arguments {
    /// YAML file with the driver, its pools, costs, rules and sockets
    file: Option<PathBuf>,

    /// Listen on a Unix socket, besides those of the file; at most 107 bytes
    #[arg(long, value_name = "PATH", required_unless_present = "file")]
    socket: Option<PathBuf>,

    /// The socket of --socket is on this node, and serves the node service
    #[arg(long, value_name = "NAME", requires = "socket")]
    node: Option<String>,

    /// Topology of --node
    #[arg(long, value_name = "KEY=VALUE,…", requires = "node", value_parser = parse_segment)]
    segment: Option<Pairs>,

    /// Without a file: one pool of that size, reachable from everywhere
    #[arg(long, value_name = "SIZE", conflicts_with = "file")]
    capacity: Option<Size>,

    /// Without a file: name of the driver
    #[arg(long, conflicts_with = "file", default_value = "disk.example.com")]
    name: String,

    /// Without a file: release of the CSI specification that the driver is made for
    #[arg(long, value_name = "VERSION", conflicts_with = "file", default_value_t = SpecVersion::NEWEST)]
    csi_version: SpecVersion,

    /// Open the HTTP control here; port 0 is any free one
    #[arg(long, value_name = "ADDRESS")]
    control: Option<SocketAddr>,

    /// Let the control listen on an address that other machines reach
    #[arg(long, requires = "control")]
    allow_remote: bool,
}

const EXAMPLE: &str = "\
Example file:
  driver: {name: disk.example.com, topologyKeys: [zone]}
  sockets:
    - {path: /tmp/csi.sock, node: {id: n1, segment: {zone: a}}}
  costs:
    - {parameter: raid, value: mirrored, factor: 2}
  pools:
    - {segment: {zone: a}, capacity: 10Gi, largest: 4Gi}
    - {segment: {zone: b}, filesystem: {size: 100Gi, used: 20Gi}}
    - segment: {zone: c}
      devices:
        nvme0: {size: 1Ti, parameters: {storageType: NVME}}
        vg0: {size: 2Ti, parameters: {storageType: HDDLVG}, group: true}
  rules:
    - {method: GetCapacity, segment: {zone: a}, skip: 2, times: 1, code: UNAVAILABLE}";

/// Topology pairs of a flag; a type of its own, because a map is no flag value to clap.
#[derive(Clone)]
struct Pairs(Segment);

/// Why the program ends, and with which code.
struct Failure(u8, String);

const WRONG_USE: u8 = 2;
const ENVIRONMENT: u8 = 3;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(io::stderr)
        .init();
    match setup(arguments).and_then(|(setup, control)| run(setup, control)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(code, message)) => {
            // Nothing is left to do about a closed stderr.
            let _ = writeln!(io::stderr(), "error: {message}");
            ExitCode::from(code)
        }
    }
}

/// Address of the control, and whether others may reach it.
type ControlAt = Option<(SocketAddr, bool)>;

/// Flags and file to what is to be served.
fn setup(arguments: Arguments) -> Result<(Setup, ControlAt), Failure> {
    let mut setup = match &arguments.file {
        Some(path) => file::load(path).map_err(|message| Failure(WRONG_USE, message))?,
        None => Setup {
            spec: DriverSpec {
                version: arguments.csi_version,
                ..DriverSpec::new(arguments.name)
            },
            pools: arguments
                .capacity
                .map(|size| Pool::linear(Segment::new(), size.0, None))
                .into_iter()
                .collect(),
            ..Setup::default()
        },
    };
    let segment = arguments.segment.map(|pairs| pairs.0).unwrap_or_default();
    if arguments.file.is_none() {
        setup.spec.topology_keys = segment.keys().cloned().collect();
    }
    let node = arguments.node.map(|node_id| NodeIdentity { node_id, segment });
    setup
        .sockets
        .extend(arguments.socket.map(|path| Socket { path, node }));
    if setup.sockets.is_empty() {
        let message = "the file names no socket; add `sockets`, or use --socket";
        return Err(Failure(WRONG_USE, message.to_owned()));
    }
    Ok((
        setup,
        arguments.control.map(|address| (address, arguments.allow_remote)),
    ))
}

#[tokio::main]
async fn run(setup: Setup, control_at: ControlAt) -> Result<(), Failure> {
    let environment = |what: String| move |error: io::Error| Failure(ENVIRONMENT, format!("{what}: {error}"));
    // Before anything is printed: whoever reads `ready` may send a signal at once.
    let mut interrupted =
        signal(SignalKind::interrupt()).map_err(environment("no signal handler".to_owned()))?;
    let mut terminated =
        signal(SignalKind::terminate()).map_err(environment("no signal handler".to_owned()))?;

    let calls = Arc::new(CallRecord::default());
    let driver = FakeDriver::new(setup.spec, Some(calls.clone()));
    let wrong = |error: fake_csi::ScriptError| Failure(WRONG_USE, error.to_string());
    setup.pools.into_iter().for_each(|pool| driver.set_pool(pool));
    for cost in setup.costs {
        driver.add_cost(cost).map_err(wrong)?;
    }
    for rule in setup.rules {
        driver.script(rule).map_err(wrong)?;
    }
    let mut lines = Vec::new();
    let mut running: Vec<Running> = Vec::new();
    for Socket { path, node } in setup.sockets {
        let on_node = node
            .as_ref()
            .map(|node| format!(" node {}", node.node_id))
            .unwrap_or_default();
        let listening = driver.listen(&path, node).await;
        running.push(listening.map_err(environment(path.display().to_string()))?);
        lines.push(format!("csi unix:{}{on_node}", path.display()));
    }
    let mut control = None;
    if let Some((address, allow_remote)) = control_at {
        let listening = Control::listen(driver, calls, address, allow_remote).await;
        let listening = listening.map_err(environment(format!("control at {address}")))?;
        lines.push(format!("control {} token {}", listening.url(), listening.token()));
        control = Some(listening);
    }
    lines.push("ready\n".to_owned());
    tell(&lines.join("\n")).map_err(environment("stdout".to_owned()))?;

    tokio::select! {
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
    }
    // Dropping is enough for the sockets: clients may keep their connections open for as long as they like.
    drop(running);
    drop(control);
    Ok(())
}

fn tell(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn parse_segment(text: &str) -> Result<Pairs, String> {
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        Some((key.to_owned(), value.to_owned())).filter(|(key, _)| !key.is_empty())
    };
    text.split(',')
        .map(pair)
        .collect::<Option<Segment>>()
        .map(Pairs)
        .ok_or_else(|| "write KEY=VALUE, several with commas between them".to_owned())
}
