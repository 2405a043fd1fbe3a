//! TLS: certificates, protocols and kubeconfig files.

use fake_apiserver::{ApiServer, Authorization, Running, ServerOptions, User};
use k8s_openapi::api::core::v1::Namespace;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

async fn start_with_tls() -> (ApiServer, Running) {
    let options = ServerOptions {
        authorization: Authorization::Rbac,
        ..ServerOptions::default()
    };
    let server = ApiServer::new(options, None);
    let running = server.start_tls().await.expect("a free loopback port");
    (server, running)
}

fn connector(authority_pem: &str, protocols: &[&str]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(authority_pem.as_bytes()).expect("the authority's PEM is valid"))
        .expect("the authority certificate can be trusted");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider supports the default TLS versions");
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config).into()
}

async fn client(path: &std::path::Path) -> kube::Client {
    let file = Kubeconfig::read_from(path).expect("the kubeconfig is readable");
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .expect("the kubeconfig is complete");
    kube::Client::try_from(config).expect("the client configuration is valid")
}

#[tokio::test]
async fn kubeconfigs_are_sufficient_for_clients_and_private_to_their_owner() {
    let (server, running) = start_with_tls().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some/where/config");
    let token = server.add_user(User::new("admin").in_group("system:masters"));
    running.write_kubeconfig(&path, "not this one").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    running.write_kubeconfig(&path, &token).unwrap();
    assert_eq!(
        path.metadata().unwrap().permissions().mode() & 0o777,
        0o600,
        "permissions of an existing file are restricted"
    );
    assert_eq!(
        std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
        1,
        "no temporary file is left"
    );
    let namespaces: kube::Api<Namespace> = kube::Api::all(client(&path).await);
    let names: Vec<String> = namespaces
        .list(&Default::default())
        .await
        .unwrap()
        .into_iter()
        .filter_map(|ns| ns.metadata.name)
        .collect();
    assert_eq!(
        names,
        ["default", "kube-node-lease", "kube-public", "kube-system"]
    );
}

#[tokio::test]
async fn alpn_selects_http2_or_http1() {
    let (_, running) = start_with_tls().await;
    for (protocol, hello, answer) in [
        (
            "h2",
            &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"[..],
            None,
        ),
        (
            "http/1.1",
            b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
            Some("HTTP/1.1 200 OK"),
        ),
    ] {
        let socket = TcpStream::connect(running.address()).await.unwrap();
        let connector = connector(running.authority_pem().unwrap(), &[protocol]);
        let mut stream = connector
            .connect(ServerName::try_from("localhost").unwrap(), socket)
            .await
            .unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol.as_bytes()));
        stream.write_all(hello).await.unwrap();
        let mut first = [0; 15];
        stream.read_exact(&mut first).await.unwrap();
        match answer {
            Some(line) => assert_eq!(String::from_utf8_lossy(&first), line),
            None => assert_eq!(first[3], 4, "the first frame is SETTINGS"),
        }
    }
}

#[tokio::test]
async fn every_server_has_its_own_certificate_authority() {
    let (_, one) = start_with_tls().await;
    let (_, other) = start_with_tls().await;
    let socket = TcpStream::connect(one.address()).await.unwrap();
    let connector = connector(other.authority_pem().unwrap(), &[]);
    let refused = connector
        .connect(ServerName::try_from("127.0.0.1").unwrap(), socket)
        .await;
    assert!(refused.is_err(), "a certificate of another authority was trusted");
}
