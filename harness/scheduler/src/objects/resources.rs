//! Resource requests of pods and allocatable resources of nodes: CPU, memory, ephemeral storage, pod count and extended resources.

use std::collections::BTreeMap;

use capacity_types::Quantity;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

/// An amount of each resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// CPU in milli-CPU.
    pub cpu_milli: i64,
    /// Memory in bytes.
    pub memory: i64,
    /// `ephemeral-storage` in bytes.
    pub ephemeral_storage: i64,
    /// Number of pods.
    pub pods: i64,
    /// Extended resources (`domain/name`), huge pages and similar, by name.
    pub scalar: BTreeMap<String, i64>,
}

type Amounts = BTreeMap<String, ApiQuantity>;

/// Nano-units per milli-unit.
const MILLI: i128 = 1_000_000;
const UNIT: i128 = 1_000_000_000;
const HUGE_PAGES: &str = "hugepages-";
const ATTACHABLE_VOLUMES: &str = "attachable-volumes-";

impl Resources {
    /// Parses a resource list. As upstream, absent and invalid amounts count as zero.
    pub fn read(amounts: &Amounts) -> Self {
        let scalar = amounts.keys().filter(|name| is_scalar(name));
        Self {
            cpu_milli: amount(amounts, "cpu", MILLI),
            memory: amount(amounts, "memory", UNIT),
            ephemeral_storage: amount(amounts, "ephemeral-storage", UNIT),
            pods: amount(amounts, "pods", UNIT),
            scalar: scalar
                .map(|name| (name.clone(), amount(amounts, name, UNIT)))
                .collect(),
        }
    }

    /// The requests of a pod: the sum over its containers and sidecars, or an init container's request if larger, plus the pod's overhead.
    /// Pod-level requests take precedence (KEP-2837). The amount of `pods` is 1.
    pub fn of_pod(pod: &Pod) -> Self {
        let absent = PodSpec::default();
        let spec = pod.spec.as_ref().unwrap_or(&absent);
        let status = pod.status.as_ref();
        let of_containers = status.and_then(|status| status.container_statuses.as_deref());
        let of_init = status.and_then(|status| status.init_container_statuses.as_deref());
        let mut sidecars = Self::default();
        let mut maximum = Self::default();
        for container in spec.init_containers.iter().flatten() {
            let requested = container_requests(container, of_init);
            if container.restart_policy.as_deref() == Some("Always") {
                sidecars.add(&requested);
                maximum.max_with(&sidecars);
            } else {
                let mut with_sidecars = sidecars.clone();
                with_sidecars.add(&requested);
                maximum.max_with(&with_sidecars);
            }
        }
        let mut all = sidecars;
        for container in &spec.containers {
            all.add(&container_requests(container, of_containers));
        }
        all.max_with(&maximum);
        let pod_level = spec
            .resources
            .as_ref()
            .and_then(|resources| resources.requests.as_ref());
        if let Some(amounts) = pod_level {
            all.override_with(amounts);
        }
        if let Some(overhead) = &spec.overhead {
            all.add(&Self::read(overhead));
        }
        all.pods = 1;
        all
    }

    /// Adds the amounts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.combine_with(other, i64::saturating_add);
    }

    /// Subtracts the amounts of `other`.
    pub fn subtract(&mut self, other: &Self) {
        self.combine_with(other, i64::saturating_sub);
    }

    /// Whether any amount is larger than in `other`.
    pub fn exceeds(&self, other: &Self) -> bool {
        let scalar = |(name, amount): (&String, &i64)| *amount > other.scalar.get(name).copied().unwrap_or(0);
        self.cpu_milli > other.cpu_milli
            || self.memory > other.memory
            || self.ephemeral_storage > other.ephemeral_storage
            || self.pods > other.pods
            || self.scalar.iter().any(scalar)
    }

    fn max_with(&mut self, to: &Self) {
        self.combine_with(to, i64::max);
    }

    fn combine_with(&mut self, other: &Self, combine: fn(i64, i64) -> i64) {
        self.cpu_milli = combine(self.cpu_milli, other.cpu_milli);
        self.memory = combine(self.memory, other.memory);
        self.ephemeral_storage = combine(self.ephemeral_storage, other.ephemeral_storage);
        self.pods = combine(self.pods, other.pods);
        for (name, amount) in &other.scalar {
            let own = self.scalar.entry(name.clone()).or_default();
            *own = combine(*own, *amount);
        }
    }

    fn override_with(&mut self, amounts: &Amounts) {
        let pod_level = Self::read(amounts);
        if amounts.contains_key("cpu") {
            self.cpu_milli = pod_level.cpu_milli;
        }
        if amounts.contains_key("memory") {
            self.memory = pod_level.memory;
        }
        let huge = pod_level
            .scalar
            .into_iter()
            .filter(|(name, _)| name.starts_with(HUGE_PAGES));
        self.scalar.extend(huge);
    }
}

/// Whether the resource is stored by name: extended resources, huge pages and similar.
fn is_scalar(name: &str) -> bool {
    name.contains('/') || name.starts_with(HUGE_PAGES) || name.starts_with(ATTACHABLE_VOLUMES)
}

/// The requests of a container; during a resize, the largest of the amounts in its spec, its status and `allocatedResources`.
fn container_requests(container: &Container, statuses: Option<&[ContainerStatus]>) -> Resources {
    let requests = container
        .resources
        .as_ref()
        .and_then(|resources| resources.requests.as_ref());
    let mut requested = requests.map(Resources::read).unwrap_or_default();
    let mut statuses = statuses.unwrap_or_default().iter();
    if let Some(status) = statuses.find(|status| status.name == container.name) {
        let actual = status
            .resources
            .as_ref()
            .and_then(|resources| resources.requests.as_ref());
        for amounts in [actual, status.allocated_resources.as_ref()]
            .into_iter()
            .flatten()
        {
            requested.max_with(&Resources::read(amounts));
        }
    }
    requested
}

/// The amount of a resource in multiples of `unit` nano-units, rounded up.
fn amount(amounts: &Amounts, name: &str, unit: i128) -> i64 {
    let quantity: Option<Quantity> = amounts.get(name).and_then(|quantity| quantity.0.parse().ok());
    let nanos = quantity.map_or(0, Quantity::nanos);
    let parts = nanos.div_euclid(unit) + i128::from(nanos.rem_euclid(unit) != 0);
    i64::try_from(parts).unwrap_or(i64::MAX)
}
