//! Quota usage of PVCs: count and requested storage, in total and by StorageClass.

use fake_apiserver::extension::Amounts;
use fake_apiserver::extension::json::string;
use fake_apiserver::quantity::Quantity;
use serde_json::Value;

const NUMBER: &str = "persistentvolumeclaims";
const STORAGE: &str = "requests.storage";
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";
/// The deprecated annotation that names the StorageClass of a PVC.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

pub(super) fn tracks(name: &str) -> bool {
    let of_class = name.split_once(OF_CLASS).map(|(_, rest)| rest);
    [NUMBER, STORAGE].contains(&of_class.unwrap_or(name))
}

pub(super) fn usage(claim: &Value) -> Amounts {
    let mut used = Amounts::default();
    used.set(NUMBER, Quantity::from_integer(1));
    let amount = |value: &Value| value["storage"].as_str()?.parse::<Quantity>().ok();
    let requested = amount(&claim["spec"]["resources"]["requests"]);
    let allocated = amount(&claim["status"]["allocatedResources"]).filter(|_| requested.is_some());
    if let Some(storage) = requested.max(allocated) {
        used.set(STORAGE, storage.rounded());
    }
    let annotated = claim["metadata"]["annotations"][CLASS_ANNOTATION].as_str();
    let class = annotated.unwrap_or(string(&claim["spec"], "storageClassName"));
    if !class.is_empty() {
        let of_class = used.0.iter();
        let of_class = of_class.map(|(name, amount)| (format!("{class}{OF_CLASS}{name}"), amount.clone()));
        let of_class: Vec<_> = of_class.collect();
        used.0.extend(of_class);
    }
    used
}
