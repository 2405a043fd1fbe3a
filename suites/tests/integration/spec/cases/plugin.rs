//! Responses of a case's CSI plugin, which is called over its socket for every class and segment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capacity_spec::world::{CapacityResponse, Driver, Parameters, ReportedCapacity};
use capacity_types::Segment;
use fake_csi::{
    CostFactor, CsiClient, CsiRequest, DriverSpec, Effect, FakeDriver, Method, Pool, ResponseValue, Rule,
    RuleId, Running, Storage, VolumeInfo, channel,
};
use suites::harness::plan::Plan;

/// Timeout of a CSI call: slow calls end earlier, and calls without a response do not.
const LIMIT: Duration = Duration::from_secs(10);

pub(crate) struct Plugin {
    pub(crate) driver: FakeDriver,
    client: CsiClient,
    _running: Running,
    _folder: tempfile::TempDir,
    scripts: BTreeMap<String, RuleId>,
    /// Fault rules of the case for calls to which the plugin never responds.
    silent: Vec<(Option<String>, Rule)>,
    pub(crate) is_down: bool,
}

impl Plugin {
    pub(crate) async fn start(plan: &Plan) -> Self {
        let spec = DriverSpec {
            topology_keys: plan.segments.keys().to_vec(),
            advertise_get_capacity: plan.driver.get_capacity,
            reports_reserved: plan.driver.reports_reserved,
            version: plan.driver.version,
            ..DriverSpec::new(plan.driver.name.clone())
        };
        let driver = FakeDriver::new(spec, None);
        for (parameter, value, factor) in plan.driver.costs.clone() {
            let cost = CostFactor {
                parameter,
                value,
                numerator: factor,
                denominator: 1,
            };
            driver.add_cost(cost).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("csi.sock");
        let running = driver.listen(&socket, None).await.unwrap();
        let plugin = Plugin {
            driver,
            client: CsiClient::new(channel(&socket).unwrap(), LIMIT),
            _running: running,
            _folder: folder,
            scripts: BTreeMap::new(),
            silent: Vec::new(),
            is_down: false,
        };
        for (segment, storage) in &plan.driver.pools {
            plugin.set_pool(segment, Some(storage));
        }
        plugin
    }

    pub(crate) fn set_pool(&self, segment: &Segment, storage: Option<&Storage>) {
        match storage {
            Some(storage) => self.driver.set_pool(Pool {
                segment: segment.clone(),
                parameters: BTreeMap::new(),
                storage: storage.clone(),
            }),
            None => self.driver.remove_pool(segment),
        }
    }

    /// Adds a fault rule of the case. A rule for a limited number of calls is ignored, because it has no effect once the cluster is idle.
    pub(crate) fn add_rule(&mut self, id: Option<&String>, rule: &Rule) {
        if rule.times.is_some() {
            return;
        }
        let effect = match &rule.effect {
            Effect::Disconnect | Effect::LoseAnswer => {
                Effect::Code(fake_csi::Code::Unavailable, "cut".to_owned())
            }
            Effect::Hang => {
                self.silent.push((id.cloned(), rule.clone()));
                return;
            }
            Effect::Delay(_) => return,
            effect => effect.clone(),
        };
        let rule = Rule {
            skip: 0,
            effect,
            ..rule.clone()
        };
        let rule = self.driver.add_rule(rule).unwrap();
        if let Some(name) = id {
            self.scripts.insert(name.clone(), rule);
        }
    }

    pub(crate) fn remove_rule(&mut self, name: &str) {
        if let Some(id) = self.scripts.remove(name) {
            self.driver.remove_rule(id);
        }
        self.silent.retain(|(id, _)| id.as_deref() != Some(name));
    }

    /// Calls GetCapacity for each of these segments and parameters. `before`: the responses to the previous calls.
    pub(crate) async fn call_get_capacity(
        &self,
        segments: &BTreeSet<Segment>,
        parameters: &BTreeSet<Parameters>,
        before: Option<&Driver>,
    ) -> Driver {
        let mut driver = Driver {
            get_capacity: self.driver.spec().advertise_get_capacity,
            ..Driver::default()
        };
        for parameters in parameters {
            for segment in segments {
                let answer = match self.call(segment, parameters).await {
                    Some(capacity) => CapacityResponse::Reported(capacity),
                    None => CapacityResponse::Error {
                        before: before
                            .map(|it| observed(it.response(segment, parameters)))
                            .unwrap_or_default(),
                    },
                };
                let answers = driver.responses.entry(parameters.clone()).or_default();
                answers.insert(segment.clone(), answer);
            }
        }
        driver
    }

    async fn call(&self, segment: &Segment, parameters: &Parameters) -> Option<ReportedCapacity> {
        if self.is_silent(Method::GetCapacity, Some(segment), parameters) {
            return None;
        }
        let has_topology = !self.driver.spec().topology_keys.is_empty();
        let request = CsiRequest::Capacity {
            segment: has_topology.then(|| segment.clone()),
            parameters: parameters.clone(),
        };
        let reply = self.client.call(request).await;
        let number = |name: &str| match reply.values.get(name) {
            Some(ResponseValue::Number(number)) => Some(*number),
            _ => None,
        };
        Some(ReportedCapacity {
            available: number("available").filter(|_| reply.code == "OK")?,
            maximum: number("maximum"),
        })
    }

    /// Whether a CSI call never gets a response, because of a fault rule or a stopped plugin.
    fn is_silent(&self, method: Method, segment: Option<&Segment>, parameters: &Parameters) -> bool {
        let applies = |(_, script): &(Option<String>, Rule)| {
            let matches_segment = script.segment.is_none() || script.segment.as_ref() == segment;
            let mut wanted = script.parameters.iter();
            script.method == method
                && matches_segment
                && wanted.all(|(key, value)| parameters.get(key) == Some(value))
        };
        self.is_down || self.silent.iter().any(applies)
    }

    /// Creates a volume; `None` if the plugin rejects it.
    pub(crate) async fn create(
        &self,
        name: &str,
        bytes: i64,
        segment: Option<Segment>,
        parameters: Parameters,
    ) -> Option<VolumeInfo> {
        let has_topology = !self.driver.spec().topology_keys.is_empty();
        let is_silent = self.is_silent(Method::CreateVolume, segment.as_ref(), &parameters);
        let request = CsiRequest::Create {
            name: name.to_owned(),
            bytes,
            segment: segment.filter(|_| has_topology),
            parameters,
        };
        if is_silent || self.client.call(request).await.code != "OK" {
            return None;
        }
        self.driver
            .volumes()
            .into_iter()
            .find(|volume| volume.name == name)
    }

    /// Deletes a volume, identified by the name in its CreateVolume call.
    pub(crate) async fn delete(&self, name: &str) {
        let volume = self
            .driver
            .volumes()
            .into_iter()
            .find(|volume| volume.name == name);
        if let Some(volume) = volume {
            self.client.call(CsiRequest::Delete { id: volume.id }).await;
        }
    }
}

fn observed(answer: &CapacityResponse) -> BTreeSet<ReportedCapacity> {
    match answer {
        CapacityResponse::Reported(capacity) => BTreeSet::from([*capacity]),
        CapacityResponse::Error { before } => before.clone(),
    }
}
