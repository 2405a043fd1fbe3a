//! Kubeconfig files: server address, certificate authority and token.
//!
//! Owns the format and how the file is written. Does not know the permissions of the token.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rand::RngExt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What a client needs to connect to the server.
#[derive(Clone, Copy)]
pub struct Kubeconfig<'a> {
    /// URL of the API server, such as `https://127.0.0.1:6443`.
    pub server: &'a str,
    /// The certificate authority of the server, in PEM; `None` without TLS.
    pub authority_pem: Option<&'a str>,
    /// Bearer token that authenticates the client.
    pub token: &'a str,
}

impl Kubeconfig<'_> {
    /// The kubeconfig file as YAML.
    pub fn text(&self) -> String {
        let authority = self.authority_pem.map_or_else(String::new, |pem| {
            format!("    certificate-authority-data: {}\n", STANDARD.encode(pem))
        });
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             clusters:\n\
             - name: fake-apiserver\n\
             \x20 cluster:\n\
             \x20   server: {server}\n\
             {authority}\
             users:\n\
             - name: client\n\
             \x20 user:\n\
             \x20   token: {token:?}\n\
             contexts:\n\
             - name: fake-apiserver\n\
             \x20 context:\n\
             \x20   cluster: fake-apiserver\n\
             \x20   user: client\n\
             current-context: fake-apiserver\n",
            server = self.server,
            token = self.token,
        )
    }

    /// Writes the kubeconfig file atomically, with mode 0600 from its creation on. Creates missing folders and replaces an existing file.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            fs::create_dir_all(folder)?;
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{:08x}", rand::rng().random::<u32>()));
        let draft = path.with_file_name(name);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        let written = file
            .write_all(self.text().as_bytes())
            .and_then(|()| fs::rename(&draft, path));
        if written.is_err() {
            // Removes the temporary file, which contains the token. The error of writing is returned, not an error of removing.
            fs::remove_file(&draft).ok();
        }
        written
    }
}
