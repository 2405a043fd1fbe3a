//! Serves an empty cluster until killed: `cargo run -p fake-apiserver --example serve -- --port 0`.
//!
//! Prints its URL and a token. Options: `--port N` (0: any free port), `--storage-protection`, `--kubelets`, `--rbac`, `--tls`,
//! `--kubeconfig FILE` (use with `--tls`), `--service NAMESPACE/NAME=ADDRESS` (where webhook calls to that Service are sent; repeatable),
//! and `--tokenless`: requests without a token are authenticated as the user `kubectl`, who has all permissions (kubectl sends no token
//! without TLS).

use fake_apiserver::{ApiServer, Authorization, Kubeconfig, ServerOptions, Tls, User};
use std::future::pending;
use std::io::Write;
use std::path::Path;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = ServerOptions::default();
    let (mut port, mut tls, mut tokenless, mut kubeconfig) = (0_u16, false, false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--port" => port = arguments.next().ok_or("--port needs a number")?.parse()?,
            "--storage-protection" => {
                options.admission = options
                    .admission
                    .clone()
                    .with_plugin("StorageObjectInUseProtection");
            }
            "--kubelets" => options.kubelet_less = false,
            "--service" => {
                let place = arguments.next().ok_or("--service needs NAMESPACE/NAME=ADDRESS")?;
                let (name, address) = place
                    .split_once('=')
                    .ok_or("--service needs NAMESPACE/NAME=ADDRESS")?;
                options.services.insert(name.to_owned(), address.parse()?);
            }
            "--rbac" => options.authorization = Authorization::Rbac,
            "--tls" => tls = true,
            "--tokenless" => tokenless = true,
            "--kubeconfig" => kubeconfig = Some(arguments.next().ok_or("--kubeconfig needs a file")?),
            other => return Err(format!("unknown option {other}; see the top of this file").into()),
        }
    }
    let extensions = vec![
        fake_apiserver_apiextensions::extension(),
        fake_apiserver_webhooks::extension(),
    ];
    let server = ApiServer::with_extensions(options, None, extensions);
    let token = server.add_user(User::new("example").in_group("system:masters"));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let address = listener.local_addr()?;
    let made = if tls {
        Some(Tls::generate(address.ip())?)
    } else {
        None
    };
    let (scheme, insecure) = if tls {
        ("https", " --insecure")
    } else {
        ("http", "")
    };
    let url = format!("{scheme}://{address}");
    if let Some(file) = kubeconfig {
        let authority_pem = made.as_ref().map(Tls::authority_pem);
        let (server, token) = (url.as_str(), token.as_str());
        let config = Kubeconfig {
            server,
            authority_pem,
            token,
        };
        config.write(Path::new(&file))?;
    }
    writeln!(std::io::stdout(), "--server {url} --token {token}{insecure}")?;
    match &made {
        Some(tls) => server.serve_tls(tls, listener, pending()).await?,
        None if tokenless => server.serve_as("kubectl", listener, pending()).await?,
        None => server.serve(listener, pending()).await?,
    }
    Ok(())
}
