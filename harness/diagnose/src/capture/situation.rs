//! Selects the API objects to capture: the pods, their PVCs, and all objects that affect these pods.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::options::CaptureOptions;
use capacity_types::pod::{claim_of, claims_of, class_of, volumes_of};

/// Why the pod or driver to capture cannot be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// The pod to capture does not exist.
    #[error("no pod is named {0}/{1}; name an existing pod")]
    NoPod(String, String),
    /// The driver to capture does not exist.
    #[error("no StorageClass has the provisioner {0}, and there is no CSIDriver {0}; use another --driver")]
    NoDriver(String),
    /// Several drivers track capacity, so one must be named.
    #[error("there are several drivers; choose one with --driver, or a pod with --pod: {0}")]
    Several(String),
    /// No StorageClass of a CSI driver exists.
    #[error(
        "there is no StorageClass of a CSI driver; include StorageClasses, CSIDrivers and CSIStorageCapacity objects in the dump"
    )]
    Nothing,
}

type ObjectsByName<'a> = BTreeMap<&'a str, &'a Value>;

/// The API objects to capture: pods, and the objects that affect these pods.
pub(super) struct Situation<'a> {
    pub(super) driver: String,
    /// All nodes of the cluster.
    pub(super) nodes: ObjectsByName<'a>,
    /// All CSINodes of the cluster.
    pub(super) csi_nodes: ObjectsByName<'a>,
    /// The CSIDriver objects of `driver` and of the provisioners of `classes`.
    pub(super) drivers: ObjectsByName<'a>,
    pub(super) classes: ObjectsByName<'a>,
    pub(super) capacities: Vec<&'a Value>,
    pub(super) claims: Vec<&'a Value>,
    pub(super) volumes: Vec<&'a Value>,
    pub(super) pods: Vec<&'a Value>,
    /// The pods that have a node and are not captured.
    pub(super) other_pods: Vec<&'a Value>,
    pub(super) namespaces: ObjectsByName<'a>,
    /// All VolumeAttachments of the cluster.
    pub(super) attachments: Vec<&'a Value>,
    pub(super) known_volumes: Volumes<'a>,
}

impl<'a> Situation<'a> {
    pub(super) fn find(objects: &'a [Value], options: &CaptureOptions) -> Result<Self, CaptureError> {
        let cluster = Cluster(objects);
        let named = cluster.by_name("StorageClass");
        let candidates = match &options.pod {
            Some((namespace, name)) => {
                let pod = cluster.of("Pod").find(|pod| has_key(pod, namespace, name));
                vec![pod.ok_or_else(|| CaptureError::NoPod(namespace.clone(), name.clone()))?]
            }
            None => cluster.of("Pod").filter(|pod| is_pending(pod)).collect(),
        };
        let driver = match &options.driver {
            Some(driver) => cluster.check_driver(driver)?,
            None => cluster.driver(&candidates, options.pod.is_some(), &named)?,
        };
        let is_own = |class: &&Value| class["provisioner"] == driver.as_str();
        let uses_it = |pod: &&&Value| {
            let mut classes = cluster.class_names(pod).into_iter();
            classes.any(|name| named.get(name.as_str()).is_some_and(is_own))
        };
        let pods: Vec<&Value> = candidates
            .iter()
            .filter(|pod| options.pod.is_some() || uses_it(pod))
            .copied()
            .collect();
        let mut wanted: BTreeSet<String> = pods.iter().flat_map(|pod| cluster.class_names(pod)).collect();
        if pods.is_empty() {
            let own = named.iter().filter(|(_, class)| is_own(class));
            wanted.extend(own.map(|(name, _)| (*name).to_owned()));
        }
        let classes: ObjectsByName<'a> = named
            .into_iter()
            .filter(|(name, _)| wanted.contains(*name))
            .collect();
        let provisioners: BTreeSet<&str> = classes
            .values()
            .filter_map(|class| class["provisioner"].as_str())
            .chain([driver.as_str()])
            .collect();
        let drivers = cluster.by_name("CSIDriver");
        let claims = cluster.with_clone_sources(cluster.claims_of(&pods));
        Ok(Situation {
            nodes: cluster.by_name("Node"),
            csi_nodes: cluster.by_name("CSINode"),
            drivers: drivers
                .into_iter()
                .filter(|(name, _)| provisioners.contains(name))
                .collect(),
            capacities: cluster.capacities_of(&wanted),
            volumes: cluster.volumes_for(&claims, &wanted),
            driver,
            classes,
            claims,
            other_pods: cluster
                .of("Pod")
                .filter(|pod| uses_node_resources(pod) && !pods.iter().any(|it| std::ptr::eq(*it, *pod)))
                .collect(),
            namespaces: cluster.by_name("Namespace"),
            attachments: cluster.of("VolumeAttachment").collect(),
            known_volumes: Volumes::of(objects),
            pods,
        })
    }
}

impl<'a> Situation<'a> {
    /// Whether the pod cannot be scheduled yet, because an ephemeral PVC must be created or a PVC with Immediate binding must be bound.
    pub(super) fn waits_for_volume(&self, pod: &Value) -> bool {
        let names = claims_of(pod);
        let lacks_claim = |volume: &Value| {
            !volume["ephemeral"].is_null()
                && claim_of(pod, volume).is_some_and(|name| self.claim(namespace_of(pod), &name).is_none())
        };
        if volumes_of(pod).iter().any(lacks_claim) {
            return true;
        }
        let is_own = |claim: &&&Value| {
            namespace_of(claim) == namespace_of(pod) && names.iter().any(|name| name == name_of(claim))
        };
        let is_immediate = |claim: &&Value| {
            let class = class_of(claim).and_then(|name| self.classes.get(name));
            class.is_some_and(|class| class["volumeBindingMode"] != "WaitForFirstConsumer")
        };
        let mut own = self.claims.iter().filter(is_own);
        own.any(|claim| {
            claim["spec"]["volumeName"]
                .as_str()
                .unwrap_or_default()
                .is_empty()
                && is_immediate(claim)
        })
    }

    /// The captured PVC with this namespace and name; `None` if no such PVC is captured.
    pub(super) fn claim(&self, namespace: &str, name: &str) -> Option<&'a Value> {
        let mut claims = self.claims.iter().copied();
        claims.find(|claim| has_key(claim, namespace, name))
    }
}

struct Cluster<'a>(&'a [Value]);

impl<'a> Cluster<'a> {
    fn of(&self, kind: &'static str) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.0.iter().filter(move |object| object["kind"] == kind)
    }

    fn by_name(&self, kind: &'static str) -> ObjectsByName<'a> {
        self.of(kind).map(|object| (name_of(object), object)).collect()
    }

    fn check_driver(&self, driver: &str) -> Result<String, CaptureError> {
        let provisions = self
            .of("StorageClass")
            .any(|class| class["provisioner"] == driver);
        let has_object = self.of("CSIDriver").any(|object| name_of(object) == driver);
        match provisions || has_object {
            true => Ok(driver.to_owned()),
            false => Err(CaptureError::NoDriver(driver.to_owned())),
        }
    }

    /// The driver to capture, among the provisioners of the pods' PVCs or, without PVCs, of all classes. Prefers one that tracks capacity.
    fn driver(
        &self,
        pods: &[&Value],
        is_one_pod: bool,
        classes: &ObjectsByName<'_>,
    ) -> Result<String, CaptureError> {
        let of_classes = |names: &mut dyn Iterator<Item = &str>| -> BTreeSet<String> {
            let provisioners = names.filter_map(|name| classes.get(name)?["provisioner"].as_str());
            let is_csi = |name: &&str| !name.starts_with("kubernetes.io/");
            provisioners.filter(is_csi).map(str::to_owned).collect()
        };
        let claimed: BTreeSet<String> = pods.iter().flat_map(|pod| self.class_names(pod)).collect();
        let of_pods = of_classes(&mut claimed.iter().map(String::as_str));
        let all = of_classes(&mut classes.keys().copied());
        let found = if of_pods.is_empty() { all } else { of_pods };
        let tracks = |name: &&String| {
            let mut drivers = self.of("CSIDriver");
            drivers.any(|driver| name_of(driver) == *name && driver["spec"]["storageCapacity"] == true)
        };
        let tracking: Vec<&String> = found.iter().filter(tracks).collect();
        match (tracking.as_slice(), found.len()) {
            (_, 0) => Err(CaptureError::Nothing),
            ([only], _) => Ok((*only).clone()),
            ([], 1) => Ok(found.first().cloned().unwrap_or_default()),
            // The first driver is as good as any other, because everything that affects the pod is captured.
            ([first, ..], _) if is_one_pod => Ok((*first).clone()),
            _ => Err(CaptureError::Several(
                found.into_iter().collect::<Vec<_>>().join(", "),
            )),
        }
    }

    fn capacities_of(&self, classes: &BTreeSet<String>) -> Vec<&'a Value> {
        let is_of = |object: &&Value| {
            let class = object["storageClassName"].as_str();
            class.is_some_and(|class| classes.contains(class))
        };
        self.of("CSIStorageCapacity").filter(is_of).collect()
    }

    /// The existing PVCs of these pods.
    fn claims_of(&self, pods: &[&Value]) -> Vec<&'a Value> {
        let names: BTreeSet<(String, String)> = pods
            .iter()
            .flat_map(|pod| {
                let namespace = namespace_of(pod).to_owned();
                claims_of(pod)
                    .into_iter()
                    .map(move |name| (namespace.clone(), name))
            })
            .collect();
        let is_claimed = |claim: &&Value| {
            let key = (namespace_of(claim).to_owned(), name_of(claim).to_owned());
            names.contains(&key)
        };
        self.of("PersistentVolumeClaim").filter(is_claimed).collect()
    }

    /// The given PVCs, and the PVCs from which they are cloned directly or indirectly.
    fn with_clone_sources(&self, mut claims: Vec<&'a Value>) -> Vec<&'a Value> {
        let mut next = 0;
        while let Some(claim) = claims.get(next).copied() {
            let source = source_claim(claim);
            let found = self.of("PersistentVolumeClaim").find(|it| {
                namespace_of(it) == namespace_of(claim) && source.is_some_and(|name| name_of(it) == name)
            });
            let is_new = |source: &&Value| !claims.iter().any(|it| std::ptr::eq(*it, *source));
            claims.extend(found.filter(is_new));
            next += 1;
        }
        claims
    }

    /// The StorageClasses of a pod's PVCs, including PVCs that do not exist yet.
    fn class_names(&self, pod: &Value) -> Vec<String> {
        let of_claims = self.claims_of(&[pod]);
        let of_claims = of_claims.iter().filter_map(|claim| class_of(claim));
        let templates = volumes_of(pod).iter();
        let templates = templates.filter_map(|volume| {
            volume["ephemeral"]["volumeClaimTemplate"]["spec"]["storageClassName"].as_str()
        });
        of_claims
            .map(str::to_owned)
            .chain(templates.map(str::to_owned))
            .collect()
    }

    /// The PVs to which the given PVCs are or could be bound.
    fn volumes_for(&self, claims: &[&Value], classes: &BTreeSet<String>) -> Vec<&'a Value> {
        let is_bound = |volume: &Value| {
            claims.iter().any(|claim| {
                let reference = &volume["spec"]["claimRef"];
                claim["spec"]["volumeName"] == name_of(volume)
                    || (reference["name"] == name_of(claim) && reference["namespace"] == namespace_of(claim))
            })
        };
        let is_free = |volume: &Value| {
            volume["status"]["phase"] == "Available"
                && volume["spec"]["claimRef"].is_null()
                && class_of(volume).is_some_and(|class| classes.contains(class))
        };
        self.of("PersistentVolume")
            .filter(|volume| is_bound(volume) || is_free(volume))
            .collect()
    }
}

/// The name of the PVC that is the data source of `claim`; `None` if the data source is no PVC.
pub(super) fn source_claim(claim: &Value) -> Option<&str> {
    let source = data_source(claim)?.1;
    let is_claim = source["kind"] == "PersistentVolumeClaim";
    source["name"].as_str().filter(|_| is_claim)
}

/// The data source of a PVC: its field (`dataSource` or `dataSourceRef`) and the value.
pub(super) fn data_source(claim: &Value) -> Option<(&'static str, &Value)> {
    let fields = ["dataSource", "dataSourceRef"].into_iter();
    let mut set = fields.map(|field| (field, &claim["spec"][field]));
    set.find(|(_, source)| source.is_object())
}

fn is_pending(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str().unwrap_or("Pending");
    pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty() && phase == "Pending"
}

/// Whether the pod has a node and is not finished, so that it occupies the node's resources.
fn uses_node_resources(pod: &Value) -> bool {
    let has_ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    !pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty() && !has_ended
}

fn has_key(object: &Value, namespace: &str, name: &str) -> bool {
    name_of(object) == name && namespace_of(object) == namespace
}

pub(super) fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

pub(super) fn namespace_of(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or("default")
}

/// A volume, as counted by volume limits: driver name and volume handle.
pub(super) type CsiVolume = (String, String);

/// All PVCs, PVs and StorageClasses of a cluster, by name.
pub(super) struct Volumes<'a> {
    claims: BTreeMap<(&'a str, &'a str), &'a Value>,
    pub(super) volumes: BTreeMap<&'a str, &'a Value>,
    classes: BTreeMap<&'a str, &'a Value>,
}

impl<'a> Volumes<'a> {
    pub(super) fn of(objects: &'a [Value]) -> Self {
        let of = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
        Self {
            claims: of("PersistentVolumeClaim")
                .map(|claim| ((namespace_of(claim), name_of(claim)), claim))
                .collect(),
            volumes: of("PersistentVolume").map(|it| (name_of(it), it)).collect(),
            classes: of("StorageClass").map(|it| (name_of(it), it)).collect(),
        }
    }

    /// The CSI volumes of a pod, including volumes that are not provisioned.
    pub(super) fn of_pod(&self, pod: &'a Value) -> impl Iterator<Item = CsiVolume> {
        let namespace = namespace_of(pod);
        claims_of(pod).into_iter().filter_map(move |name| {
            let claim = self.claims.get(&(namespace, name.as_str()))?;
            let volume = claim["spec"]["volumeName"].as_str();
            match volume.and_then(|volume| self.volumes.get(volume)) {
                Some(volume) => csi_volume(volume),
                None => {
                    let class = self.classes.get(class_of(claim)?)?;
                    // A volume that is not provisioned gets an identifier that cannot be a volume handle.
                    Some((
                        class["provisioner"].as_str()?.to_owned(),
                        format!("\0{namespace}/{name}"),
                    ))
                }
            }
        })
    }
}

/// Driver name and volume handle of a PV. `None` if the PV is not a CSI volume.
pub(super) fn csi_volume(volume: &Value) -> Option<CsiVolume> {
    let csi = &volume["spec"]["csi"];
    Some((
        csi["driver"].as_str()?.to_owned(),
        csi["volumeHandle"].as_str()?.to_owned(),
    ))
}
