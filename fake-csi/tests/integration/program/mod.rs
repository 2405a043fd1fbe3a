//! Tests of the binary and its HTTP control as a child process with a real port, raw HTTP, and YAML files.

mod binary;
mod control;
mod description;

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use csi_proto::v1::{GetCapacityRequest, Topology, controller_client::ControllerClient};
use serde_json::Value;
use tonic::transport::{Channel, Endpoint};

/// A running program; killed if its test fails.
struct Program {
    child: Child,
    /// Lines that the program printed before `ready`.
    lines: Vec<String>,
    folder: tempfile::TempDir,
}

/// Exit code and output of a program that failed to start.
struct FailedStart {
    code: Option<i32>,
    stderr: String,
}

fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().tempdir_in("/tmp").expect("tempdir")
}

impl Program {
    /// Starts the program with a configuration file and flags; `$DIR` in both is the folder of the test.
    fn start(file: Option<&str>, flags: &[&str]) -> Result<Program, FailedStart> {
        let folder = folder();
        let here = folder.path().display().to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fake-csi"));
        if let Some(text) = file {
            let path = folder.path().join("driver.yaml");
            std::fs::write(&path, text.replace("$DIR", &here)).expect("the file can be written");
            command.arg(path);
        }
        command.args(flags.iter().map(|flag| flag.replace("$DIR", &here)));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be spawned");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let lines: Vec<String> = stdout
            .lines()
            .map_while(Result::ok)
            .take_while(|line| line != "ready")
            .collect();
        let mut program = Program { child, lines, folder };
        if program.has_printed_ready() {
            return Ok(program);
        }
        let status = program.child.wait().expect("the program exits");
        let mut stderr = String::new();
        program
            .child
            .stderr
            .take()
            .expect("stderr is piped")
            .read_to_string(&mut stderr)
            .expect("stderr is UTF-8");
        Err(FailedStart {
            code: status.code(),
            stderr,
        })
    }

    /// Whether the program printed its sockets, which precede `ready`. A program that fails to start prints nothing on stdout.
    fn has_printed_ready(&self) -> bool {
        self.lines.iter().any(|line| line.starts_with("csi unix:"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn control(&self) -> Http {
        let line = self
            .lines
            .iter()
            .find(|line| line.starts_with("control "))
            .expect("the control address is printed");
        let words: Vec<&str> = line.split(' ').collect();
        Http {
            address: words[1].trim_start_matches("http://").to_owned(),
            token: words[3].to_owned(),
        }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status()
            .expect("kill can be run");
        assert!(sent.success());
    }

    fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("the program exits")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// HTTP client of the driver's HTTP control, over a raw TCP stream.
struct Http {
    address: String,
    token: String,
}

impl Http {
    fn request(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let authorization = format!("Authorization: Bearer {}\r\n", self.token);
        let (code, text) = self.raw(method, path, &authorization, body.as_bytes());
        (code, serde_json::from_str(&text).expect("the response is JSON"))
    }

    fn get(&self, path: &str) -> Value {
        let (code, value) = self.request("GET", path, "");
        assert_eq!(code, 200, "{value}");
        value
    }

    fn raw(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("the control accepts connections");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("the head can be sent");
        // The server may respond before it has read the whole body.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).expect("the response is UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
        let code = head
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .expect("the response has a status code");
        (code, body.to_owned())
    }
}

async fn connect(socket: &Path) -> Channel {
    let address = format!("unix:{}", socket.display());
    Endpoint::from_shared(address)
        .expect("the socket path is a valid address")
        .connect()
        .await
        .expect("the driver accepts connections")
}

/// `available_capacity` and `maximum_volume_size` of a segment.
async fn get_capacity(
    channel: &Channel,
    segment: &[(&str, &str)],
) -> Result<(i64, Option<i64>), tonic::Status> {
    let request = GetCapacityRequest {
        accessible_topology: Some(Topology {
            segments: pairs(segment),
        }),
        ..Default::default()
    };
    let response = ControllerClient::new(channel.clone())
        .get_capacity(request)
        .await?
        .into_inner();
    Ok((response.available_capacity, response.maximum_volume_size))
}

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}
