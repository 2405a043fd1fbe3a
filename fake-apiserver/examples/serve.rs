//! Serves an empty cluster until it is killed: `cargo run -p fake-apiserver --example serve -- --port 0`.
//!
//! kubectl sends no token without TLS, so requests without one are those of the client `kubectl`; another token is
//! printed for clients that do send theirs. Options: `--port N` (0 for any), `--storage-protection`, `--kubelets`.

use fake_apiserver::{ApiServer, ServerOptions};
use std::io::Write;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = ServerOptions::default();
    let mut port: u16 = 0;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--port" => port = arguments.next().ok_or("--port needs a number")?.parse()?,
            "--storage-protection" => options.storage_protection = true,
            "--kubelets" => options.kubelet_less = false,
            other => return Err(format!("unknown option {other}; see the top of this file").into()),
        }
    }
    let server = ApiServer::new(options, None);
    let token = server.add_client("example");
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let address = listener.local_addr()?;
    writeln!(std::io::stdout(), "--server http://{address} --token {token}")?;
    server
        .serve_as("kubectl", listener, std::future::pending())
        .await?;
    Ok(())
}
