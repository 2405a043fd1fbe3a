//! Processor time, memory and the number of pods: what a pod requests, and what a node has.
//!
//! Other resources (ephemeral storage, huge pages, devices) are not looked at.

use std::collections::BTreeMap;

use capacity_types::Quantity;
use k8s_openapi::api::core::v1::{Container, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

/// Amounts of each resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Thousandths of a processor.
    pub cpu_milli: i64,
    /// Bytes.
    pub memory: i64,
    /// Pods.
    pub pods: i64,
}

type Amounts = BTreeMap<String, ApiQuantity>;

/// Amounts are counted in these parts of a unit.
const MILLI: i128 = 1_000_000;
const UNIT: i128 = 1_000_000_000;

impl Resources {
    /// Reads a list of amounts. What is absent or unreadable is zero, as upstream.
    pub fn read(amounts: &Amounts) -> Self {
        Self {
            cpu_milli: amount(amounts, "cpu", MILLI),
            memory: amount(amounts, "memory", UNIT),
            pods: amount(amounts, "pods", UNIT),
        }
    }

    /// The requests of a pod: of its containers together, or more if an init container needs it; itself as one pod.
    /// Requests of the pod as a whole win (KEP-2837).
    pub fn of_pod(spec: &PodSpec) -> Self {
        let mut running = Self::default();
        let mut most = Self::default();
        for container in spec.init_containers.iter().flatten() {
            let requested = requested(container);
            if container.restart_policy.as_deref() == Some("Always") {
                running = running.plus(requested);
                most = most.max(running);
            } else {
                most = most.max(running.plus(requested));
            }
        }
        let containers = spec.containers.iter().map(requested);
        let all = containers.fold(running, Self::plus).max(most);
        let overhead = spec.overhead.as_ref().map(Self::read).unwrap_or_default();
        let as_a_whole = spec
            .resources
            .as_ref()
            .and_then(|resources| resources.requests.as_ref());
        let mut requested = as_a_whole
            .map_or(all, |amounts| all.replaced(amounts))
            .plus(overhead);
        requested.pods = 1;
        requested
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.each(other, i64::saturating_add)
    }

    /// This without the other.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.each(other, i64::saturating_sub)
    }

    fn max(self, other: Self) -> Self {
        self.each(other, i64::max)
    }

    fn each(self, other: Self, combine: fn(i64, i64) -> i64) -> Self {
        Self {
            cpu_milli: combine(self.cpu_milli, other.cpu_milli),
            memory: combine(self.memory, other.memory),
            pods: combine(self.pods, other.pods),
        }
    }

    fn replaced(self, amounts: &Amounts) -> Self {
        let whole = Self::read(amounts);
        let pick = |name: &str, new: i64, old: i64| if amounts.contains_key(name) { new } else { old };
        Self {
            cpu_milli: pick("cpu", whole.cpu_milli, self.cpu_milli),
            memory: pick("memory", whole.memory, self.memory),
            pods: self.pods,
        }
    }
}

fn requested(container: &Container) -> Resources {
    let requests = container
        .resources
        .as_ref()
        .and_then(|resources| resources.requests.as_ref());
    requests.map(Resources::read).unwrap_or_default()
}

/// Rounded up to whole parts.
fn amount(amounts: &Amounts, name: &str, part: i128) -> i64 {
    let quantity: Option<Quantity> = amounts.get(name).and_then(|quantity| quantity.0.parse().ok());
    let nanos = quantity.map_or(0, Quantity::nanos);
    let parts = nanos.div_euclid(part) + i128::from(nanos.rem_euclid(part) != 0);
    i64::try_from(parts).unwrap_or(i64::MAX)
}
