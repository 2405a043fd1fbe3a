//! The driver's endpoints (of the fake driver, or recording proxies in front of an external driver), and the CSI calls that a case makes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use capacity_types::Segment;
use fake_csi::{CsiClient, CsiRequest, CsiResponse, Forwarder, Method, NodeIdentity, ResponseValue};
use futures::future::join_all;
use serde_json::Value;
use tokio::time::Instant;

use super::Cluster;
use crate::journal::{HarnessCallFact, Observation, ProcessEvent, ProcessFact};
use crate::network::Network;
use crate::plan::{CsiCall, CsiCallKind, Plan};
use crate::scenario::{ResponseSpec, Role};
use crate::segment::Segments;
use crate::start_error::StartError;

/// Timeout of a CSI call that the case makes.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval between repeated CSI calls that wait for an expected response: a driver sends no notification of changes.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Timeout for a driver's first successful Probe after its start, multiplied by `patience`.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);

const PROBE_INTERVAL: Duration = Duration::from_millis(20);

impl Cluster {
    /// Opens the driver's socket for a node; without a node, the socket of the central driver.
    pub(super) async fn open_endpoint(
        &mut self,
        node: Option<(&String, &Segment)>,
    ) -> Result<(), StartError> {
        self.sockets += 1;
        let endpoint = Endpoint {
            socket: self.folder.path().join(format!("{}.sock", self.sockets)),
            segment: node.map(|(_, segment)| segment.clone()),
            running: None,
        };
        let name = node.map(|(node, _)| node.clone());
        let segment = endpoint.segment.clone().unwrap_or_default();
        self.sockets_of_driver
            .insert(name.clone(), segment, endpoint.socket.clone());
        self.endpoints.insert(name.clone(), endpoint);
        self.listen_on_endpoint(name).await
    }

    /// Listens on the socket of a driver endpoint, unless the socket is already open.
    async fn listen_on_endpoint(&mut self, name: Option<String>) -> Result<(), StartError> {
        let Some(endpoint) = self.endpoints.get(&name).filter(|it| it.running.is_none()) else {
            return Ok(());
        };
        let (socket, segment) = (endpoint.socket.clone(), endpoint.segment.clone());
        let io = |source| StartError::Io {
            what: "listen on the driver's socket",
            source,
        };
        let running = if self.external.is_some() {
            self.open_forwarder(name.clone(), &socket).await?
        } else {
            let identity = name.clone().map(|node_id| NodeIdentity {
                node_id,
                segment: segment.unwrap_or_default(),
            });
            match &self.network {
                Network::Host => self.driver.listen(&socket, identity).await.map_err(io)?,
                Network::Memory(memory) => self.driver.serve(memory.listen(&socket), identity),
            }
        };
        if let Some(endpoint) = self.endpoints.get_mut(&name) {
            endpoint.running = Some(running);
        }
        Ok(())
    }

    /// Stops the driver: calls in flight fail, and the sockets are removed. The driver's volumes remain.
    pub(super) async fn stop_driver(&mut self) {
        let endpoints = self.endpoints.values_mut();
        let running = endpoints.filter_map(|endpoint| endpoint.running.take());
        let ending = join_all(running.map(fake_csi::Running::stop));
        // Both futures run concurrently, because a hanging CSI call ends only when the driver's process ends.
        tokio::join!(ending, self.fleet.stop(Role::Driver));
        if let Some(external) = &mut self.external {
            external.forwarders.clear();
        }
    }

    /// Starts the stopped driver again, at the same socket paths as before.
    pub(super) async fn start_driver_again(&mut self) -> Result<(), StartError> {
        let names: Vec<_> = self.endpoints.keys().cloned().collect();
        for name in names {
            self.listen_on_endpoint(name).await?;
        }
        Ok(())
    }

    /// Starts the external driver unless it is already running, and opens a recording proxy in front of its socket.
    async fn open_forwarder(
        &mut self,
        node: Option<String>,
        socket: &Path,
    ) -> Result<fake_csi::Running, StartError> {
        let io = |source| StartError::Io {
            what: "open the proxy of the driver's socket",
            source,
        };
        let client = Role::Driver.client_name(node.as_deref());
        let running = self
            .external
            .as_ref()
            .and_then(|external| external.socket.clone());
        let driver_socket = match running {
            Some(path) => path,
            None => {
                let path = socket.with_extension("driver");
                // The driver needs a node name even if one process serves all nodes.
                let access_node = node.clone().or_else(|| self.first_node.clone());
                let access = self.program_access(Role::Driver, &client, (access_node, Some(path.clone())))?;
                self.fleet
                    .start(Role::Driver, &client, access)
                    .map_err(StartError::NoSystem)?;
                path
            }
        };
        self.wait_for_probe(&client, &driver_socket).await.map_err(io)?;
        let observer = self.external.as_ref().map(|it| it.observer.clone() as Arc<_>);
        let channel = self.network.channel(&driver_socket).map_err(io)?;
        let forwarder = Forwarder::new(channel, node, observer);
        let listening = forwarder.listen(socket).map_err(io)?;
        if let Some(external) = &mut self.external {
            external.forwarders.insert(client, forwarder);
        }
        Ok(listening)
    }

    /// Waits until the driver responds to Probe with ready=true, or has exited. Records a timeout as `NotReady`.
    async fn wait_for_probe(&self, client: &str, socket: &Path) -> std::io::Result<()> {
        let limit = PROBE_TIMEOUT.mul_f64(self.patience);
        let caller = CsiClient::new(self.network.channel(socket)?, limit);
        let due = Instant::now() + limit;
        loop {
            let reply = caller.call(CsiRequest::Probe).await;
            let is_ready = reply.values.get("ready") == Some(&ResponseValue::Number(1));
            if is_ready || self.has_ended(client) {
                return Ok(());
            }
            if Instant::now() >= due {
                let answer = format!("{} {}", reply.code, reply.message.unwrap_or_default());
                let what = format!(
                    "the driver did not answer Probe with ready within {limit:?}: {}",
                    answer.trim()
                );
                self.journal.append(Observation::Process(ProcessFact {
                    client: client.into(),
                    role: Role::Driver,
                    event: ProcessEvent::NotReady(what),
                }));
                return Ok(());
            }
            tokio::time::sleep(PROBE_INTERVAL).await;
        }
    }

    fn has_ended(&self, client: &str) -> bool {
        self.journal.since(0).iter().any(|fact| {
            matches!(&fact.what, Observation::Process(process)
                if *process.client == *client && matches!(process.event, ProcessEvent::Exited(_)))
        })
    }

    /// Makes a CSI call of the case to the driver instance on the call's node, and records the response.
    pub(super) async fn call(&self, plan: &Plan, call: &CsiCall) -> Result<(), StartError> {
        let io = |source| StartError::Io {
            what: "call the driver",
            source,
        };
        let reply = match self.build_request(call) {
            Ok(request) => {
                let socket = self.socket_for(&plan.segments, call.segment.as_ref());
                let caller = CsiClient::new(self.network.channel(&socket).map_err(io)?, CALL_TIMEOUT);
                self.call_until(&caller, request, &call.until).await
            }
            Err(message) => CsiResponse {
                code: "NOT_ASKED",
                message: Some(message),
                values: BTreeMap::new(),
            },
        };
        self.journal.append(Observation::Answer(HarnessCallFact {
            name: call.name.clone(),
            call: call.kind.method(),
            class: call.class.clone(),
            segment: call.segment.as_ref().map(|segment| plan.segments.format(segment)),
            code: reply.code.to_owned(),
            message: reply.message,
            values: reply
                .values
                .into_iter()
                .map(|(name, figure)| (name.to_owned(), json_of(&figure)))
                .collect(),
        }));
        Ok(())
    }

    /// Repeats a CSI call until its response matches `until`, for at most [`CALL_TIMEOUT`]. Returns the last response.
    async fn call_until(&self, caller: &CsiClient, request: CsiRequest, until: &ResponseSpec) -> CsiResponse {
        let end = Instant::now() + CALL_TIMEOUT;
        loop {
            let reply = caller.call(request.clone()).await;
            let values: BTreeMap<&str, Value> = reply
                .values
                .iter()
                .map(|(name, it)| (*name, json_of(it)))
                .collect();
            let lookup =
                |answer: &str, name: &str| self.response_value(answer, name)?.as_i64().map(i128::from);
            let mut unmet = until.iter().filter(|(name, relations)| {
                let got = values.get(name.as_str());
                !relations.any.iter().any(|relation| relation.holds(got, &lookup))
            });
            if unmet.next().is_none() || Instant::now() > end {
                return reply;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Socket of the driver instance on the node of a segment. If no node has the segment, socket of the central driver.
    fn socket_for(&self, segments: &Segments, segment: Option<&Segment>) -> PathBuf {
        let node = segment.map(|segment| segments.format(segment));
        let own = self.endpoints.get(&node);
        let endpoint = own.or_else(|| self.endpoints.values().next());
        endpoint.map(|it| it.socket.clone()).unwrap_or_default()
    }

    /// Builds the CSI request of a call of the case. Values from earlier responses are inserted; an error names a missing value.
    fn build_request(&self, call: &CsiCall) -> Result<CsiRequest, String> {
        let segment = call.segment.clone();
        Ok(match &call.kind {
            CsiCallKind::Plain(Method::GetPluginInfo) => CsiRequest::PluginInfo,
            CsiCallKind::Plain(Method::GetPluginCapabilities) => CsiRequest::PluginCapabilities,
            CsiCallKind::Plain(Method::Probe) => CsiRequest::Probe,
            CsiCallKind::Plain(Method::ControllerGetCapabilities) => CsiRequest::ControllerCapabilities,
            CsiCallKind::Plain(_) => CsiRequest::NodeInfo,
            CsiCallKind::Capacity(parameters) => CsiRequest::Capacity {
                segment,
                parameters: parameters.clone(),
            },
            CsiCallKind::Create {
                volume,
                size,
                parameters,
            } => {
                let bytes =
                    size.value(|answer, name| self.response_value(answer, name)?.as_i64().map(i128::from))?;
                let too_large =
                    |_| format!("{size} is {bytes}, which does not fit into an int64, the type of CSI sizes");
                CsiRequest::Create {
                    name: volume.clone(),
                    bytes: i64::try_from(bytes).map_err(too_large)?,
                    segment,
                    parameters: parameters.clone(),
                }
            }
            CsiCallKind::Delete(of) => {
                let id = self.response_value(of, "id");
                let id = id.as_ref().and_then(Value::as_str);
                CsiRequest::Delete {
                    id: id
                        .ok_or_else(|| format!("the call `{of}` has not created a volume to delete"))?
                        .to_owned(),
                }
            }
        })
    }

    /// The field `name` of the earlier response that the case refers to as `answer`.
    fn response_value(&self, answer: &str, name: &str) -> Option<Value> {
        let (_, answer) = self.state.response_of_call(answer)?;
        answer.values.get(name).cloned()
    }
}

fn json_of(figure: &ResponseValue) -> Value {
    match figure {
        ResponseValue::Number(number) => Value::from(*number),
        ResponseValue::Text(text) => Value::from(text.clone()),
    }
}

/// A socket of the driver. The path of the socket remains the same while the driver is stopped.
pub(super) struct Endpoint {
    pub(super) socket: PathBuf,
    /// Topology segment of the driver's node; `None` for a central driver.
    pub(super) segment: Option<Segment>,
    /// The running gRPC server, which closes the socket on drop. `None` while the driver is stopped.
    pub(super) running: Option<fake_csi::Running>,
}
