//! Tests of the program with kube-apiserver's command line, started as by envtest and scripts.

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service, ServiceAccount};
use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fake-apiserver");

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "clients");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(
            CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key pair can be generated"))
                .expect("the authority certificate can be signed"),
        )
    }

    /// Certificate and key of a user, in PEM, signed by the test CA.
    fn user(&self, name: &str, groups: &[&str]) -> (String, String) {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key pair can be generated");
        let made = params
            .signed_by(&key, &self.0)
            .expect("the client certificate can be signed");
        (made.pem(), key.serialize_pem())
    }
}

/// The first line that the API server program writes to stderr; it contains the address.
fn first_line(child: &mut Child) -> String {
    let reported = child.stderr.take().expect("stderr is piped");
    let mut lines = BufReader::new(reported).lines();
    let line = lines.next().expect("a log line");
    line.expect("stderr is UTF-8")
}

/// The API server program in a child process, with the address on which it listens.
struct Running {
    child: Child,
    address: SocketAddr,
}

impl Running {
    fn start(folder: &Path, flags: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args([
                "--secure-port=0",
                "--authorization-mode=RBAC",
                "--etcd-servers=http://127.0.0.1:1",
            ])
            .arg(format!("--cert-dir={}", folder.display()))
            .arg(format!("--client-ca-file={}", folder.join("ca.crt").display()))
            .args(flags)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let line = first_line(&mut child);
        let address = line.strip_prefix("Serving securely on ").expect("a log line");
        Self {
            address: address.parse().expect("the logged address is valid"),
            child,
        }
    }

    fn client(&self, folder: &Path, user: Option<&(String, String)>) -> Client {
        use base64::Engine;
        let encoded = |pem: &String| base64::engine::general_purpose::STANDARD.encode(pem);
        let mut config = kube::Config::new(
            format!("https://{}", self.address)
                .parse()
                .expect("the URL is valid"),
        );
        let chain =
            std::fs::read(folder.join("apiserver.crt")).expect("the program has written its certificate");
        let trusted = rustls_pem(&chain);
        config.root_cert = Some(trusted);
        config.auth_info.client_certificate_data = user.map(|(certificate, _)| encoded(certificate));
        config.auth_info.client_key_data = user.map(|(_, key)| encoded(key).into());
        Client::try_from(config).expect("the client configuration is valid")
    }

    /// Sends SIGTERM to the program, as envtest does, and waits for the exit code.
    fn terminate(mut self) -> Option<i32> {
        let requested = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .expect("`kill` is installed");
        assert!(requested.success());
        self.child.wait().expect("the program can be waited for").code()
    }
}

/// Kills the program if a test fails before it stops the program.
impl Drop for Running {
    fn drop(&mut self) {
        // An error means that the program has already exited.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Parses the certificates of a PEM file to DER, which the `kube` crate requires.
fn rustls_pem(text: &[u8]) -> Vec<Vec<u8>> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    let all = CertificateDer::pem_slice_iter(text);
    all.map(|one| one.expect("the certificate is valid PEM").to_vec())
        .collect()
}

fn folder_with(authority: &Authority) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    std::fs::write(folder.path().join("ca.crt"), authority.0.pem())
        .expect("the temporary folder is writable");
    folder
}

async fn text(client: &Client, path: &str) -> Result<String, u16> {
    let request = hyper::Request::get(path)
        .body(Vec::new())
        .expect("the request is well formed");
    client.request_text(request).await.map_err(|error| match error {
        kube::Error::Api(status) => status.code,
        other => panic!("{other}"),
    })
}

#[tokio::test]
async fn privileged_containers_require_allow_privileged() {
    let authority = Authority::new();
    let folder = folder_with(&authority);
    let folder = folder.path();
    let pod = serde_json::from_value(json!({
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "c", "image": "i", "securityContext": {"privileged": true}}]},
    }));
    let pod: Pod = pod.expect("the pod is well formed");
    for (flag, refused) in [("--allow-privileged", false), ("--allow-privileged=false", true)] {
        let running = Running::start(folder, &[flag, "--disable-admission-plugins=ServiceAccount"]);
        let admin = running.client(folder, Some(&authority.user("admin", &["system:masters"])));
        let pods = Api::<Pod>::default_namespaced(admin);
        let made = pods.create(&PostParams::default(), &pod).await;
        let reported = made.err().map(|why| why.to_string()).unwrap_or_default();
        let text = "spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy";
        assert_eq!(reported.contains(text), refused, "{flag}: {reported}");
    }
}

#[tokio::test]
async fn client_certificates_authenticate_and_snapshots_restore_objects() {
    let authority = Authority::new();
    let folder = folder_with(&authority);
    let folder = folder.path();
    let snapshot = format!("--snapshot={}", folder.join("objects.json").display());
    let flags = [
        &*snapshot,
        "--allow-privileged=true",
        "--service-cluster-ip-range=10.1.0.0/24",
        "--disable-admission-plugins=ServiceAccount",
    ];
    let running = Running::start(folder, &flags);
    let anonymous = running.client(folder, None);
    for path in ["/healthz", "/readyz", "/livez"] {
        assert_eq!(text(&anonymous, path).await, Ok("ok".to_owned()), "{path}");
    }
    assert_eq!(text(&anonymous, "/api/v1/nodes").await, Err(403));
    let guest = running.client(folder, Some(&authority.user("guest", &[])));
    assert_eq!(text(&guest, "/api/v1/nodes").await, Err(403));
    let untrusted = Authority::new().user("admin", &["system:masters"]);
    let untrusted = running.client(folder, Some(&untrusted));
    assert_eq!(text(&untrusted, "/api/v1/nodes").await, Err(401));
    let admin = running.client(folder, Some(&authority.user("admin", &["system:masters"])));
    let own = Api::<Service>::default_namespaced(admin.clone());
    let own = own
        .get("kubernetes")
        .await
        .expect("the kubernetes service exists");
    assert_eq!(
        own.spec.expect("services have a spec").cluster_ip.as_deref(),
        Some("10.1.0.1")
    );
    let maps = Api::<ConfigMap>::default_namespaced(admin);
    let map = serde_json::from_value(json!({"metadata": {"name": "kept"}, "data": {"a": "b"}}))
        .expect("the ConfigMap is well formed");
    let made = maps
        .create(&PostParams::default(), &map)
        .await
        .expect("the ConfigMap is created");
    assert_eq!(running.terminate(), Some(0));

    let running = Running::start(folder, &flags);
    let admin = running.client(folder, Some(&authority.user("admin", &["system:masters"])));
    let maps = Api::<ConfigMap>::default_namespaced(admin);
    let found = maps.get("kept").await.expect("the ConfigMap was restored");
    assert_eq!((found.uid_of(), found.data), (made.uid_of(), made.data));
    assert_eq!(
        maps.list(&ListParams::default())
            .await
            .expect("ConfigMaps can be listed")
            .items
            .len(),
        1
    );
    assert_eq!(running.terminate(), Some(0));
}

/// Creates a service account and returns a token of the account.
async fn token_of_an_account(admin: &Client) -> String {
    let account = serde_json::from_value(json!({"metadata": {"name": "robot"}})).expect("a valid account");
    let accounts = Api::<ServiceAccount>::default_namespaced(admin.clone());
    let made = accounts.create(&PostParams::default(), &account).await;
    made.expect("the service account is created");
    let request = serde_json::from_value(json!({"spec": {"audiences": []}})).expect("valid request");
    let issued = accounts
        .create_token_request("robot", &PostParams::default(), &request)
        .await
        .expect("the token request is accepted");
    let status = issued.status.expect("the token request has a status");
    status.token.expect("the status contains a token")
}

#[tokio::test]
async fn service_account_tokens_are_signed_with_the_configured_key() {
    let authority = Authority::new();
    let folder = folder_with(&authority);
    let folder = folder.path();
    let key = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/keys/rsa.key");
    let flags = [
        &*format!("--service-account-signing-key-file={}", key.display()),
        "--service-account-issuer=https://accounts.example.com",
        "--api-audiences=here,there",
        "--disable-admission-plugins=ServiceAccount",
    ];
    let running = Running::start(folder, &flags);
    let admin = running.client(folder, Some(&authority.user("admin", &["system:masters"])));
    let token = token_of_an_account(&admin).await;
    use base64::Engine;
    let part = |at: usize| -> Value {
        let part = token.split('.').nth(at).expect("a JWT has three parts");
        let encoding = &base64::engine::general_purpose::URL_SAFE_NO_PAD;
        serde_json::from_slice(&encoding.decode(part).expect("the part is base64url")).expect("it is JSON")
    };
    assert_eq!(part(0)["alg"], "RS256");
    assert_eq!(part(1)["iss"], "https://accounts.example.com");
    assert_eq!(part(1)["aud"], json!(["here", "there"]));
    let mut config = kube::Config::new(
        format!("https://{}", running.address)
            .parse()
            .expect("the URL is valid"),
    );
    config.root_cert = Some(rustls_pem(
        &std::fs::read(folder.join("apiserver.crt")).expect("the program has written its certificate"),
    ));
    config.auth_info.token = Some(token.into());
    let robot = Client::try_from(config).expect("the client configuration is valid");
    assert_eq!(
        text(&robot, "/api/v1/nodes").await,
        Err(403),
        "the account is authenticated but not authorized"
    );
    running.terminate();
}

/// Passes all flags that envtest passes; envtest passes a certificate as `--service-account-key-file`.
#[tokio::test]
async fn service_account_key_file_may_be_a_certificate() {
    let authority = Authority::new();
    let folder = folder_with(&authority);
    let folder = folder.path();
    let (certificate, key) = authority.user("accounts", &[]);
    let put = |name: &str, text: String| {
        let file = folder.join(name);
        std::fs::write(&file, text).expect("the temporary folder is writable");
        file
    };
    let (certificate, key) = (put("sa-signer.crt", certificate), put("sa-signer.key", key));
    let flags = [
        "--advertise-address=127.0.0.1",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true",
        "--bind-address=127.0.0.1",
        "--disable-admission-plugins=ServiceAccount",
        "--service-account-issuer=https://127.0.0.1:6443/",
        &*format!("--service-account-key-file={}", certificate.display()),
        &*format!("--service-account-signing-key-file={}", key.display()),
    ];
    let running = Running::start(folder, &flags);
    let admin = running.client(folder, Some(&authority.user("admin", &["system:masters"])));
    let token = token_of_an_account(&admin).await;
    let review =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
    let requested = hyper::Request::post("/apis/authentication.k8s.io/v1/tokenreviews")
        .header("content-type", "application/json")
        .body(review.to_string().into_bytes())
        .expect("the request is well formed");
    let reported: Value = admin.request(requested).await.expect("the review is accepted");
    assert_eq!(reported["status"]["authenticated"], true, "{reported}");
    assert_eq!(running.terminate(), Some(0));
}

trait Uid {
    fn uid_of(&self) -> Option<String>;
}

impl Uid for ConfigMap {
    fn uid_of(&self) -> Option<String> {
        self.metadata.uid.clone()
    }
}

fn run(words: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(words)
        .output()
        .expect("the program starts")
}

#[test]
fn flags_are_those_of_kube_apiserver() {
    let help = run(&["--help"]);
    let listed = String::from_utf8(help.stdout).expect("stdout is UTF-8");
    assert!(help.status.success() && listed.contains("--secure-port string"));
    assert!(
        !listed.contains("insecure-port"),
        "envtest treats a server with this flag as an old release"
    );
    for (words, text) in [
        (["--x"], "Error: unknown flag: --x\n"),
        (["--insecure-port=0"], "Error: unknown flag: --insecure-port\n"),
        (
            ["--enable-admission-plugins=Nonsense"],
            "Error: enable-admission-plugins plugin \"Nonsense\" is unknown\n",
        ),
        (
            ["--service-account-signing-key-file=/dev/null"],
            "Error: /dev/null: no key in PEM format: no items found; use an RSA or ECDSA key\n",
        ),
        (
            ["--client-ca-file=/nowhere/ca.crt"],
            "Error: /nowhere/ca.crt: No such file or directory (os error 2); name a file that can be read\n",
        ),
    ] {
        let refused = Command::new(PROGRAM)
            .args(["--secure-port=0"])
            .args(words)
            .output()
            .expect("the program starts");
        assert_eq!(refused.status.code(), Some(1), "{words:?}");
        assert_eq!(String::from_utf8(refused.stderr).expect("stderr is UTF-8"), text);
    }
}

#[tokio::test]
async fn as_etcd_the_program_responds_to_health_checks() {
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let program = folder.path().join("etcd");
    std::fs::hard_link(PROGRAM, &program)
        .or_else(|_| std::fs::copy(PROGRAM, &program).map(drop))
        .expect("the program can be linked or copied");
    let help = Command::new(&program)
        .arg("--help")
        .output()
        .expect("the program starts");
    assert!(
        String::from_utf8(help.stdout)
            .expect("stdout is UTF-8")
            .contains("--unsafe-no-fsync")
    );
    let mut child = Command::new(&program)
        .args([
            "--listen-client-urls=http://127.0.0.1:0",
            "--unsafe-no-fsync",
            "--data-dir=x",
        ])
        .arg("--listen-peer-urls=http://localhost:0")
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let line = first_line(&mut child);
    let address = line
        .strip_prefix("Serving client traffic on ")
        .expect("a log line");
    let config = kube::Config::new(format!("http://{address}").parse().expect("the URL is valid"));
    let client = Client::try_from(config).expect("the client configuration is valid");
    let health = text(&client, "/health")
        .await
        .expect("the health endpoint responds");
    assert_eq!(health, r#"{"health":"true","reason":""}"#);
    child.kill().expect("the program can be killed");
    child.wait().expect("the program can be waited for");
}

#[test]
fn envtest_assets_installs_working_programs() {
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let assets = folder.path().join("assets");
    let run = |program: &Path, arguments: &[&str]| -> Output {
        let ended = Command::new(program).args(arguments).output();
        ended.expect("the program starts")
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // The second iteration tests that files of the first iteration are replaced.
    for _ in 0..2 {
        let written = run(
            Path::new(PROGRAM),
            &["envtest-assets", &assets.display().to_string()],
        );
        let printed = text(&written.stdout);
        assert!(written.status.success(), "{}", text(&written.stderr));
        assert!(printed.starts_with("export KUBEBUILDER_ASSETS='/"), "{printed}");
    }
    let server = run(&assets.join("kube-apiserver"), &["--help"]);
    assert!(server.status.success() && text(&server.stdout).contains("--client-ca-file"));
    let etcd = run(&assets.join("etcd"), &["--help"]);
    assert!(etcd.status.success() && text(&etcd.stdout).contains("--unsafe-no-fsync"));
    let unknown = run(&assets.join("kube-apiserver"), &["--x"]);
    assert_eq!(
        (unknown.status.code(), text(&unknown.stderr)),
        (Some(1), "Error: unknown flag: --x\n".to_owned())
    );
    let without = run(Path::new(PROGRAM), &["envtest-assets"]);
    assert_eq!(without.status.code(), Some(2));
}
