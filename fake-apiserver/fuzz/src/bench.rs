//! A server and a client that sends arbitrary bytes. The client implements only the part of HTTP/1.1 that this server uses.

use super::answer::Answer;
use super::hook::Hook;
use fake_apiserver::{ApiServer, Running, ServerOptions};
use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Number of runs per server. A new server is then started, so that leftover objects do not accumulate.
const RUNS_MAX: u32 = 20_000;
/// Read timeout: no response takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Errors for which kube-apiserver returns a 500: objects with a resourceVersion on create, and objects that are too large.
const FAILURES: [&str; 3] = [
    "resourceVersion should not be set on objects to be created",
    "etcdserver: request is too large",
    "trying to send message larger than max",
];

thread_local! {
    static BENCH: RefCell<Option<Bench>> = const { RefCell::new(None) };
}

/// A server, and a client that sends the fuzz inputs to it.
pub struct Bench {
    address: SocketAddr,
    token: String,
    stream: Option<TcpStream>,
    runs: u32,
    /// The webhook for all new ConfigMaps, started by the first target that uses it.
    hook: Option<Hook>,
    _running: Running,
    /// The last field, so that it is dropped last.
    _runtime: Runtime,
}

impl Bench {
    /// Runs `f` with the server of this thread.
    pub fn with(f: impl FnOnce(&mut Self)) {
        BENCH.with_borrow_mut(|kept| {
            // The server is put back after the run, so a run that panics discards it.
            let mut bench = kept
                .take()
                .filter(|bench| bench.runs < RUNS_MAX)
                .unwrap_or_else(Self::start);
            bench.runs += 1;
            f(&mut bench);
            *kept = Some(bench);
        });
    }

    fn start() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("the runtime starts");
        let options = ServerOptions {
            history: 1000,
            ..ServerOptions::default()
        };
        let extensions = vec![
            fake_apiserver_apiextensions::extension(),
            fake_apiserver_webhooks::extension(),
        ];
        let server = ApiServer::with_extensions(options, None, extensions);
        let running = runtime.block_on(server.start()).expect("a free port");
        let mut bench = Self {
            address: running.address(),
            token: server.add_client("fuzzer"),
            stream: None,
            runs: 0,
            hook: None,
            _running: running,
            _runtime: runtime,
        };
        let map = br#"{"metadata":{"name":"present","labels":{"a":"b"}},"data":{"a":"b"}}"#;
        let made = bench.send(
            "POST",
            "/api/v1/namespaces/default/configmaps",
            "application/json",
            map,
        );
        assert_eq!(made.code, 201, "{}", made.text());
        bench
    }

    /// Sends a body and returns the checked response.
    pub fn send(&mut self, method: &str, path: &str, media: &str, body: &[u8]) -> Answer {
        let answer = self.ask(method, path, &[("content-type", media.as_bytes())], body);
        let may_fail = media.contains("strategic")
            || media.contains("apply")
            || FAILURES.iter().any(|text| answer.text().contains(text));
        answer.check(body.len(), may_fail);
        answer
    }

    /// The webhook server. The first call registers it for all new ConfigMaps.
    pub fn hook(&mut self) -> &Hook {
        if self.hook.is_none() {
            let hook = Hook::start();
            let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
            let made = self.send(
                "POST",
                path,
                "application/json",
                hook.configuration().to_string().as_bytes(),
            );
            assert_eq!(made.code, 201, "{}", made.text());
            self.hook = Some(hook);
        }
        self.hook.as_ref().expect("the webhook server was started above")
    }

    /// Sends an object to the webhook that returns the fuzz input. kube-apiserver, too, may respond with a 500 then.
    pub fn answered(&mut self, path: &str, body: &[u8]) -> Answer {
        let answer = self.ask("POST", path, &[("content-type", b"application/json")], body);
        answer.check(body.len(), true);
        answer
    }

    /// Sends a GET and returns the checked response.
    pub fn get(&mut self, path: &str, accept: &[u8]) -> Answer {
        let answer = self.ask("GET", path, &[("accept", accept)], b"");
        answer.check(path.len() + accept.len(), false);
        answer
    }

    fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &[u8])], body: &[u8]) -> Answer {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n",
            self.token,
            body.len()
        )
        .into_bytes();
        for (name, value) in headers {
            request.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        request.extend(b"\r\n");
        request.extend(body);
        // The server may have closed an idle connection; on a new connection it must respond.
        let kept = self
            .stream
            .take()
            .and_then(|stream| self.answer(stream, &request));
        kept.or_else(|| {
            let stream = TcpStream::connect(self.address).expect("the server accepts connections");
            stream
                .set_read_timeout(Some(PATIENCE))
                .expect("a read timeout can be set");
            stream.set_nodelay(true).expect("TCP_NODELAY can be set");
            self.answer(stream, &request)
        })
        .unwrap_or_else(|| {
            panic!(
                "no response to {method} {path}: {}",
                String::from_utf8_lossy(body)
            )
        })
    }

    /// Sends a request and reads its response. None if the server closes the connection instead.
    fn answer(&mut self, mut stream: TcpStream, request: &[u8]) -> Option<Answer> {
        // A server that rejects a request early may close the connection before it has read all of it.
        drop(stream.write_all(request));
        let mut bytes = Vec::new();
        let head_end = loop {
            if let Some(at) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
                break at + 4;
            }
            read(&mut stream, &mut bytes)?;
        };
        let head = String::from_utf8_lossy(&bytes[..head_end]).to_lowercase();
        let header = |name: &str| {
            let found = head
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            found.map(|value| value.trim().to_owned())
        };
        let mut body = bytes.split_off(head_end);
        let length: usize =
            header("content-length").map_or(0, |text| text.parse().expect("the content length is a number"));
        while body.len() < length {
            read(&mut stream, &mut body)?;
        }
        let answer = Answer {
            code: head.split(' ').nth(1)?.parse().expect("a status code"),
            media: header("content-type").unwrap_or_default(),
            body,
            is_stream: header("transfer-encoding").is_some(),
        };
        let is_over = header("connection").is_some_and(|text| text == "close");
        if !answer.is_stream && !is_over {
            self.stream = Some(stream);
        }
        Some(answer)
    }
}

fn read(stream: &mut TcpStream, into: &mut Vec<u8>) -> Option<()> {
    let mut buffer = [0; 16 * 1024];
    let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
    into.extend(&buffer[..count]);
    Some(())
}
