//! A scheduler extender that reserves a device at the driver for each PVC of a pod, on every candidate node, before the scheduler assigns
//! the pod.
//!
//! The first filter request for a pod only makes the reservation and returns an error, as if a controller fulfilled reservations later
//! (Dell CSI bare-metal proposal). A reservation ends when its volumes are created or an action of the case ends it; until then, other
//! volumes cannot use the devices.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;
use fake_csi::{FakeDriver, ReservedVolume};
use parking_lot::Mutex;
use serde_json::Value;

use super::super::api::Client;
use super::super::object_ref::object_ref;
use capacity_types::pod::claims_of;

/// CreateVolume parameter that contains the name of the PVC (external-provisioner `--extra-create-metadata`).
const CLAIM_NAME: &str = "csi.storage.k8s.io/pvc/name";

/// Reserves devices at the fake driver.
pub(super) struct DeviceReserver {
    driver: FakeDriver,
    client: Client,
    driver_name: String,
    /// UIDs of the pods for which a reservation was requested.
    requested: Mutex<BTreeSet<String>>,
}

pub(super) enum Reservation {
    /// No PVC of the pod needs a new volume from the driver.
    NotNeeded,
    /// Devices for all PVCs of the pod are reserved on these nodes.
    Held(BTreeSet<String>),
}

impl DeviceReserver {
    pub(super) fn new(driver: FakeDriver, client: Client, driver_name: &str) -> Self {
        DeviceReserver {
            driver,
            client,
            driver_name: driver_name.to_owned(),
            requested: Mutex::default(),
        }
    }

    /// Reserves devices for a pod on the candidate nodes and returns an error, so that the scheduler retries the pod. For a pod with a
    /// reservation, returns the reserved nodes.
    pub(super) async fn reserve(
        &self,
        pod: &Value,
        nodes: &BTreeMap<String, Segment>,
    ) -> Result<Reservation, String> {
        let volumes = self.volumes(pod).await;
        if volumes.is_empty() {
            return Ok(Reservation::NotNeeded);
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &pod["metadata"];
        let (uid, name) = (text(&metadata["uid"]), text(&metadata["name"]));
        // The set stays locked during the whole call, so that concurrent requests do not reserve twice.
        let mut requested = self.requested.lock();
        if !requested.contains(&uid) {
            let reservation = fake_csi::Reservation {
                name: name.clone(),
                segments: nodes.values().cloned().collect(),
                volumes,
            };
            return match self.driver.reserve(&reservation) {
                Ok(_) => {
                    requested.insert(uid);
                    Err(format!("disks for pod {name} are being reserved; retry"))
                }
                // No node is feasible. When another reservation ends, the resulting change in the cluster makes the scheduler retry the
                // pod.
                Err(fake_csi::ReserveError::NoDevices(_)) => Ok(Reservation::Held(BTreeSet::new())),
                Err(error) => Err(error.to_string()),
            };
        }
        let held = self.driver.reserved(Some(&name));
        if held.is_empty() {
            requested.remove(&uid);
            return Err(format!(
                "the reservation for pod {name} does not exist any more; retry"
            ));
        }
        let is_held =
            |segment: &Segment| held.iter().filter(|held| held.segment == *segment).count() == volumes.len();
        let nodes = nodes.iter().filter(|(_, segment)| is_held(segment));
        Ok(Reservation::Held(nodes.map(|(node, _)| node.clone()).collect()))
    }

    /// The PVCs of a pod for which the driver must still create volumes.
    async fn volumes(&self, pod: &Value) -> Vec<ReservedVolume> {
        let namespace = pod["metadata"]["namespace"].as_str().unwrap_or_default();
        let mut volumes = Vec::new();
        for claim in claims_of(pod) {
            volumes.extend(self.volume(namespace, &claim).await);
        }
        volumes
    }

    async fn volume(&self, namespace: &str, name: &str) -> Option<ReservedVolume> {
        let claim = self
            .client
            .get(&object_ref("persistentvolumeclaims", Some(namespace), name))
            .await
            .ok()?;
        let spec = &claim["spec"];
        if !spec["volumeName"].is_null() {
            return None;
        }
        let class = spec["storageClassName"].as_str()?;
        let class = self
            .client
            .get(&object_ref("storageclasses", None, class))
            .await
            .ok()?;
        if class["provisioner"] != self.driver_name.as_str() {
            return None;
        }
        let size = spec["resources"]["requests"]["storage"].as_str()?;
        let size = crate::scenario::Size::parse(size).ok()?;
        Some(ReservedVolume {
            holder: [(CLAIM_NAME.to_owned(), name.to_owned())].into(),
            bytes: u64::try_from(size.bytes()).ok()?,
            parameters: serde_json::from_value(class["parameters"].clone()).unwrap_or_default(),
        })
    }
}
