//! Quota usage of ResourceClaims: devices by DeviceClass.

use fake_apiserver::extension::Amounts;
use fake_apiserver::extension::json::{list, string};
use fake_apiserver::quantity::Quantity;
use serde_json::Value;

const OF_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// Maximum number of devices that can be allocated to a ResourceClaim.
const DEVICES_MAX: i64 = 32;

pub(super) fn tracks(name: &str) -> bool {
    name.ends_with(OF_CLASS)
}

pub(super) fn usage(claim: &Value) -> Amounts {
    let mut used = Amounts::default();
    for request in list(&claim["spec"]["devices"]["requests"]) {
        let alternatives = list(&request["firstAvailable"]);
        if alternatives.is_empty() {
            used.add(&devices(&request["exactly"]));
            continue;
        }
        // Only one of the alternative subrequests will be allocated, so the largest usage of each device class counts.
        let mut most = Amounts::default();
        alternatives
            .iter()
            .for_each(|one| most.set_to_maximum(&devices(one)));
        used.add(&most);
    }
    used
}

fn devices(request: &Value) -> Amounts {
    let number = match string(request, "allocationMode") {
        "ExactCount" => request["count"].as_i64().unwrap_or_default(),
        "All" => DEVICES_MAX,
        _ => 0,
    };
    let mut used = Amounts::default();
    let class = string(request, "deviceClassName");
    if !class.is_empty() {
        used.set(format!("{class}{OF_CLASS}"), Quantity::from_integer(number));
    }
    used
}
