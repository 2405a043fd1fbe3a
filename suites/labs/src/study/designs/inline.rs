//! Sizes of inline volumes: a field of the pod, a key in the NodePublishVolume context, and drivers that accept one of these sources.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::rules::DesignRules;
use crate::study::result::{Bound, Finding, findings};

/// The key for the size in the NodePublishVolume context.
const SIZE: &str = "csi.storage.k8s.io/size";
/// A volume attribute of the driver for the size.
const OWN: &str = "size";

/// The `csi` source of an inline volume in a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InlineVolume {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fs_size: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    volume_attributes: BTreeMap<String, String>,
}

/// Findings on the encoding of inline volumes, and on the size that a driver receives.
pub(super) fn findings(rules: &DesignRules) -> Vec<Finding> {
    findings![
        none "ALT-23", "volumes with fsSize unset, 0 and 1Gi that are changed or confused by encoding and decoding",
            changed_by_round_trip();
        none "ALT-24", "wrong sizes passed to a driver, with and without pod information", wrong_contexts(rules);
        none "ALT-25", "volumes that a strict driver without pod information rejects because of an unknown key",
            rejected_by_strict(rules);
        count "ALT-26", "correct responses of a driver to no size, either size, and both sizes",
            correct_responses(rules), Bound::Exactly(4.0);
    ]
}

fn volume(size: Option<&str>) -> InlineVolume {
    InlineVolume {
        fs_size: size.map(str::to_owned),
        ..InlineVolume::default()
    }
}

fn changed_by_round_trip() -> usize {
    let volumes = [None, Some("0"), Some("1Gi")].map(volume);
    let read = |volume: &InlineVolume| serde_json::from_value::<InlineVolume>(json!(volume)).ok();
    let unchanged = volumes
        .iter()
        .filter(|volume| read(volume).as_ref() == Some(volume));
    let same = volumes.windows(2).filter(|pair| read(&pair[0]) == read(&pair[1]));
    volumes.len() - unchanged.count() + same.count()
}

/// The volume context that kubelet passes to the driver in NodePublishVolume.
fn publish_context(rules: &DesignRules, pod_info: bool, volume: &InlineVolume) -> BTreeMap<String, String> {
    let mut context = volume.volume_attributes.clone();
    if pod_info || !rules.size_needs_pod_info {
        context.insert(SIZE.to_owned(), volume.fs_size.clone().unwrap_or_default());
    }
    context
}

fn wrong_contexts(rules: &DesignRules) -> usize {
    let cases = [
        (false, None, None),
        (false, Some("1Gi"), None),
        (true, None, Some("")),
        (true, Some("1Gi"), Some("1Gi")),
    ];
    let is_wrong = |(pod_info, size, wanted): &&(bool, Option<&str>, Option<&str>)| {
        let context = publish_context(rules, *pod_info, &volume(*size));
        context.get(SIZE).map(String::as_str) != *wanted
    };
    cases.iter().filter(is_wrong).count()
}

/// Number of inline volumes rejected by a driver that accepts only the key `OWN` in the volume context.
fn rejected_by_strict(rules: &DesignRules) -> usize {
    let volumes = [volume(None), volume(Some("1Gi"))];
    let contexts = volumes.map(|volume| publish_context(rules, false, &volume));
    let is_rejected = |context: &&BTreeMap<String, String>| context.keys().any(|key| key != OWN);
    contexts.iter().filter(is_rejected).count()
}

/// The size that a driver uses. The driver accepts the size from its volume attribute `OWN` or from the context key `SIZE`, but not both.
fn size_used_by_driver(
    rules: &DesignRules,
    context: &BTreeMap<String, String>,
) -> Result<Option<String>, String> {
    let given = |key: &str| context.get(key).filter(|size| !size.is_empty()).cloned();
    match (given(SIZE), given(OWN)) {
        (Some(_), Some(_)) if rules.two_sizes_are_rejected => {
            Err(format!("{SIZE} and {OWN} are both set; leave one out"))
        }
        (standard, own) => Ok(standard.or(own)),
    }
}

fn correct_responses(rules: &DesignRules) -> usize {
    let cases = [
        (None, None, Ok(None)),
        (Some("1Gi"), None, Ok(Some("1Gi"))),
        (None, Some("2Gi"), Ok(Some("2Gi"))),
        (Some("1Gi"), Some("2Gi"), Err(())),
    ];
    let is_right = |(standard, own, wanted): &&(Option<&str>, Option<&str>, Result<Option<&str>, ()>)| {
        let mut volume = volume(*standard);
        let own = own.map(|own| (OWN.to_owned(), own.to_owned()));
        volume.volume_attributes.extend(own);
        let answer = size_used_by_driver(rules, &publish_context(rules, true, &volume));
        answer.as_ref().map(Option::as_deref).map_err(|_| ()) == *wanted
    };
    cases.iter().filter(is_right).count()
}
