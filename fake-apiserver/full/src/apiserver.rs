//! The API server program: reads files, serves until SIGTERM or SIGINT, and writes a snapshot.

use super::flags::{self, FlagValues};
use super::options::{self, FLAGS, IDLE};
use super::{out, signals};
use fake_apiserver::{
    AccountTokens, ApiServer, Certificate, KeyError, PublicKey, ServerOptions, SigningKey, Tls,
};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::net::TcpListener;

const ABOUT: &str = "A Kubernetes API server in memory, for tests, with the command line of kube-apiserver.

Usage:
  kube-apiserver [flags]

Flags:
";

/// The file names of kube-apiserver's certificate and key in `--cert-dir`.
const FILES: [&str; 2] = ["apiserver.crt", "apiserver.key"];

/// Runs the API server with these command line arguments, until SIGTERM or SIGINT.
pub(super) async fn main(arguments: &[String]) -> ExitCode {
    let typed = match flags::parse_or_exit(&[FLAGS, IDLE], ABOUT, "Kubernetes v1.36.0\n", arguments, 1) {
        Ok(typed) => typed,
        Err(ended) => return ended,
    };
    match serve(&typed).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            out::stderr_line(&format!("Error: {why}"));
            ExitCode::FAILURE
        }
    }
}

async fn serve(typed: &FlagValues) -> Result<(), String> {
    let address = options::listen_address(typed)?;
    let listener = TcpListener::bind(address).await;
    let listener =
        listener.map_err(|why| format!("failed to listen on {address}: {why}; choose another port"))?;
    let listen = listener.local_addr().unwrap_or(address);
    let authority = typed.last("client-ca-file").map(read_file).transpose()?;
    let tls = Tls::of(&certificate(typed, listen)?, authority.as_deref());
    let tls = tls.map_err(|why| why.to_string())?;
    let options = ServerOptions {
        account_tokens: account_tokens(typed)?,
        ..options::server_options(typed, listen, authority)?
    };
    let server = ApiServer::with_extensions(options, None, fake_apiserver_full::extensions());
    if let Some(file) = typed.last("token-auth-file") {
        let added = server.add_token_file(&read_file(file)?);
        added.map_err(|why| format!("{file}: {why}"))?;
    }
    let snapshot = typed.last("snapshot").map(Path::new);
    if let Some(file) = snapshot.filter(|file| file.exists()) {
        let restored = server.restore(&read_file(&file.display().to_string())?);
        restored.map_err(|why| format!("{}: {why}", file.display()))?;
    }
    let ending =
        signals::termination_signal().map_err(|why| format!("failed to install signal handlers: {why}"))?;
    out::stderr_line(&format!("Serving securely on {listen}"));
    let served = server.serve_tls(&tls, listener, ending).await;
    served.map_err(|why| format!("{listen}: {why}"))?;
    if let Some(file) = snapshot {
        write_snapshot(file, &server.snapshot())?;
    }
    Ok(())
}

fn read_file(file: &str) -> Result<String, String> {
    fs::read_to_string(file).map_err(|why| format!("{file}: {why}; name a file that can be read"))
}

/// Reads the keys, issuers and audiences of service account tokens from the flags, and from the key files that the flags name.
fn account_tokens(typed: &FlagValues) -> Result<AccountTokens, String> {
    let texts =
        |name: &str| -> Vec<String> { typed.split_values(name).into_iter().map(str::to_owned).collect() };
    let wrong = |file: &str, why: KeyError| format!("{file}: {why}");
    let signing = typed.last("service-account-signing-key-file");
    let signing_key =
        signing.map(|file| SigningKey::from_pem(&read_file(file)?).map_err(|why| wrong(file, why)));
    let mut keys = Vec::new();
    for file in typed.split_values("service-account-key-file") {
        keys.extend(PublicKey::all_from_pem(&read_file(file)?).map_err(|why| wrong(file, why))?);
    }
    let mut issuers = texts("service-account-issuer");
    if issuers.is_empty() {
        issuers = AccountTokens::default().issuers;
    }
    Ok(AccountTokens {
        issuers,
        audiences: texts("api-audiences"),
        signing_key: signing_key.transpose()?,
        keys,
    })
}

/// Reads the serving certificate, or generates one and stores it in `--cert-dir` for the next start.
fn certificate(typed: &FlagValues, listen: SocketAddr) -> Result<Certificate, String> {
    let folder = typed.last("cert-dir").map(PathBuf::from);
    let named = ["tls-cert-file", "tls-private-key-file"].map(|flag| typed.last(flag).map(PathBuf::from));
    let files = match (named, &folder) {
        ([Some(chain), Some(key)], _) => Some([chain, key]),
        ([None, None], Some(folder)) => Some(FILES.map(|name| folder.join(name))),
        ([None, None], None) => None,
        _ => return Err("--tls-cert-file and --tls-private-key-file must be set together".to_owned()),
    };
    let is_named = typed.last("tls-cert-file").is_some();
    if let Some([chain, key]) = files
        .as_ref()
        .filter(|files| is_named || files.iter().all(|file| file.exists()))
    {
        return Ok(Certificate {
            chain_pem: read_file(&chain.display().to_string())?,
            key_pem: read_file(&key.display().to_string())?,
        });
    }
    let made = Certificate::generate(listen.ip()).map_err(|why| why.to_string())?;
    if let (Some(folder), Some([chain, key])) = (folder, files) {
        let placed = fs::create_dir_all(&folder)
            .and_then(|()| fs::write(chain, &made.chain_pem))
            .and_then(|()| write_secret(&key, &made.key_pem));
        placed.map_err(|why| format!("{}: {why}; name a folder that can be written", folder.display()))?;
    }
    Ok(made)
}

/// Writes a file that only its owner can read.
fn write_secret(file: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    let mut opened = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file)?;
    opened.write_all(text.as_bytes())
}

/// Writes the snapshot of all objects atomically. Only the owner can read the file, since it contains Secrets.
fn write_snapshot(file: &Path, text: &str) -> Result<(), String> {
    let new = file.with_extension("new");
    let written = write_secret(&new, text).and_then(|()| fs::rename(&new, file));
    written.map_err(|why| format!("{}: {why}; the objects were not saved", file.display()))
}
