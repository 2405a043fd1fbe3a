//! The program `fake-csi`: builds a driver from flags and a file, serves it and the optional control, and stops on a signal.
//!
//! Exit codes: 0 after a signal, 2 for invalid flags or files, 3 if a socket or port cannot be bound. The library contains the driver.

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

/// Serves a CSI driver without real storage: exact accounting of simulated pools, and injected errors, delays and wrong values.
///
/// Prints a line for each socket, one for the control if it is enabled, and `ready`. Stops on Ctrl-C or SIGTERM and removes its sockets.
/// RUST_LOG enables logs on stderr, for example RUST_LOG=fake_csi=debug.
#[derive(Parser)]
#[command(version, after_help = EXAMPLE)]
struct Arguments {
    /// YAML file with the driver, its pools, costs, rules and sockets
    file: Option<PathBuf>,

    /// Unix socket to listen on, in addition to those of the file; at most 107 bytes
    #[arg(long, value_name = "PATH", required_unless_present = "file")]
    socket: Option<PathBuf>,

    /// Node name for the node service on the socket of --socket
    #[arg(long, value_name = "NAME", requires = "socket")]
    node: Option<String>,

    /// Topology segment of --node
    #[arg(long, value_name = "KEY=VALUE,…", requires = "node", value_parser = parse_segment)]
    segment: Option<SegmentFlag>,

    /// Without a file: size of a single pool that is accessible from everywhere
    #[arg(long, value_name = "SIZE", conflicts_with = "file")]
    capacity: Option<Size>,

    /// Without a file: driver name
    #[arg(long, conflicts_with = "file", default_value = "disk.example.com")]
    name: String,

    /// Without a file: release of the CSI specification that the driver implements
    #[arg(long, value_name = "VERSION", conflicts_with = "file", default_value_t = SpecVersion::NEWEST)]
    csi_version: SpecVersion,

    /// Address of the HTTP control; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS")]
    control: Option<SocketAddr>,

    /// Allow a non-loopback address for --control
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
    - {segment: {zone: a}, capacity: 10Gi, maximum: 4Gi}
    - {segment: {zone: b}, filesystem: {size: 100Gi, used: 20Gi}}
    - segment: {zone: c}
      devices:
        nvme0: {size: 1Ti, parameters: {storageType: NVME}}
        vg0: {size: 2Ti, parameters: {storageType: HDDLVG}, group: true}
  rules:
    - {method: GetCapacity, segment: {zone: a}, skip: 2, times: 1, code: UNAVAILABLE}";

/// Topology segment in a flag; a separate type, because clap does not parse a map as one value.
#[derive(Clone)]
struct SegmentFlag(Segment);

/// Error message and exit code.
struct Failure(u8, String);

const USAGE_ERROR: u8 = 2;
const ENVIRONMENT_ERROR: u8 = 3;

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
            // If stderr is closed, the error cannot be reported.
            let _ = writeln!(io::stderr(), "error: {message}");
            ExitCode::from(code)
        }
    }
}

/// Address of the control, and whether a non-loopback address is allowed.
type ControlAddress = Option<(SocketAddr, bool)>;

fn setup(arguments: Arguments) -> Result<(Setup, ControlAddress), Failure> {
    let mut setup = match &arguments.file {
        Some(path) => file::load(path).map_err(|message| Failure(USAGE_ERROR, message))?,
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
        let message = "the file has no socket; add `sockets`, or use --socket";
        return Err(Failure(USAGE_ERROR, message.to_owned()));
    }
    Ok((
        setup,
        arguments.control.map(|address| (address, arguments.allow_remote)),
    ))
}

#[tokio::main]
async fn run(setup: Setup, control_address: ControlAddress) -> Result<(), Failure> {
    let environment =
        |what: String| move |error: io::Error| Failure(ENVIRONMENT_ERROR, format!("{what}: {error}"));
    // Signal handlers are installed before `ready` is printed: a client that reads `ready` may send a signal at once.
    let mut interrupted =
        signal(SignalKind::interrupt()).map_err(environment("cannot install a signal handler".to_owned()))?;
    let mut terminated =
        signal(SignalKind::terminate()).map_err(environment("cannot install a signal handler".to_owned()))?;

    let calls = Arc::new(CallRecord::default());
    let driver = FakeDriver::new(setup.spec, Some(calls.clone()));
    let invalid = |error: fake_csi::RuleError| Failure(USAGE_ERROR, error.to_string());
    setup.pools.into_iter().for_each(|pool| driver.set_pool(pool));
    for cost in setup.costs {
        driver.add_cost(cost).map_err(invalid)?;
    }
    for rule in setup.rules {
        driver.add_rule(rule).map_err(invalid)?;
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
    if let Some((address, allow_remote)) = control_address {
        let listening = Control::listen(driver, calls, address, allow_remote).await;
        let listening = listening.map_err(environment(format!("control at {address}")))?;
        lines.push(format!("control {} token {}", listening.url(), listening.token()));
        control = Some(listening);
    }
    lines.push("ready\n".to_owned());
    print(&lines.join("\n")).map_err(environment("stdout".to_owned()))?;

    tokio::select! {
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
    }
    // Dropping a socket closes it without waiting for connections, which clients may keep open indefinitely.
    drop(running);
    drop(control);
    Ok(())
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn parse_segment(text: &str) -> Result<SegmentFlag, String> {
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        Some((key.to_owned(), value.to_owned())).filter(|(key, _)| !key.is_empty())
    };
    text.split(',')
        .map(pair)
        .collect::<Option<Segment>>()
        .map(SegmentFlag)
        .ok_or_else(|| "write KEY=VALUE pairs, separated by commas".to_owned())
}
