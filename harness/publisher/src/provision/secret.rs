//! Secret references in StorageClass parameters: `csi.storage.k8s.io/*-secret-name` and `-secret-namespace` with templates, and their
//! deprecated keys, as in external-provisioner. Pure functions that read no Secret.

use std::collections::BTreeMap;

use k8s_openapi::api::{
    core::v1::{PersistentVolumeClaim, SecretReference},
    storage::v1::StorageClass,
};
use kube::ResourceExt;

use super::invalid_claim::InvalidClaim;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretUse {
    /// CreateVolume and DeleteVolume.
    Provisioner,
    ControllerPublish,
    NodeStage,
    NodePublish,
    ControllerExpand,
    NodeExpand,
}

/// The StorageClass parameters that reference the Secret for one kind of CSI call.
struct Keys {
    used: SecretUse,
    name: &'static str,
    namespace: &'static str,
    /// Names of the deprecated parameters without prefix: for name and namespace of the Secret.
    deprecated: Option<(&'static str, &'static str)>,
}

macro_rules! keys {
    ($($used:ident $prefix:literal $(, $name:literal, $namespace:literal)?;)+) => {
        const KEYS: &[Keys] = &[$(Keys {
            used: SecretUse::$used,
            name: concat!("csi.storage.k8s.io/", $prefix, "-secret-name"),
            namespace: concat!("csi.storage.k8s.io/", $prefix, "-secret-namespace"),
            deprecated: [$(Some(($name, $namespace)),)? None][0],
        }),+];
    };
}

keys! {
    Provisioner "provisioner", "csiProvisionerSecretName", "csiProvisionerSecretNamespace";
    ControllerPublish "controller-publish", "csiControllerPublishSecretName", "csiControllerPublishSecretNamespace";
    NodeStage "node-stage", "csiNodeStageSecretName", "csiNodeStageSecretNamespace";
    NodePublish "node-publish", "csiNodePublishSecretName", "csiNodePublishSecretNamespace";
    ControllerExpand "controller-expand";
    NodeExpand "node-expand";
}

pub(super) fn is_secret_parameter(parameter: &str) -> bool {
    KEYS.iter()
        .any(|keys| keys.name == parameter || keys.namespace == parameter)
}

/// The Secret that a StorageClass references for a CSI call; `None` if it references none. The namespace template may contain only the
/// namespace of the PVC and no other PVC field, so that users who create PVCs cannot choose the namespace of the Secret.
pub(super) fn secret_reference(
    used: SecretUse,
    class: &StorageClass,
    volume: &str,
    claim: &PersistentVolumeClaim,
) -> Result<Option<SecretReference>, InvalidClaim> {
    let Some((name, namespace)) = templates(used, class)? else {
        return Ok(None);
    };
    let entry = |key: &str, value: Option<String>| (key.to_owned(), value.unwrap_or_default());
    let mut values = BTreeMap::from([
        entry("pv.name", Some(volume.to_owned())),
        entry("pvc.namespace", claim.namespace()),
    ]);
    let namespace = expand_template(namespace, &values)?;
    values.extend([entry("pvc.name", claim.metadata.name.clone())]);
    let annotations = claim.annotations().iter();
    values.extend(annotations.map(|(key, value)| (format!("pvc.annotations['{key}']"), value.clone())));
    let name = expand_template(name, &values)?;
    if !is_name(&namespace, 63, false) || !is_name(&name, 253, true) {
        return Err(InvalidClaim::SecretName(format!("{namespace}/{name}")));
    }
    Ok(Some(SecretReference {
        name: Some(name),
        namespace: Some(namespace),
    }))
}

/// The templates in a class for name and namespace of a Secret. A class that sets only one of these parameters is invalid.
fn templates(used: SecretUse, class: &StorageClass) -> Result<Option<(&str, &str)>, InvalidClaim> {
    let parameter = |key: &str| {
        let parameters = class.parameters.as_ref()?;
        parameters.get(key).map(String::as_str)
    };
    let one = |key: &'static str, before: Option<&'static str>| {
        let before = before.and_then(parameter);
        match (parameter(key), before) {
            (Some(_), Some(_)) => Err(InvalidClaim::DuplicateSecret(key)),
            (now, before) => Ok(now.or(before)),
        }
    };
    let Some(keys) = KEYS.iter().find(|keys| keys.used == used) else {
        return Ok(None);
    };
    let name = one(keys.name, keys.deprecated.map(|(name, _)| name))?;
    let namespace = one(keys.namespace, keys.deprecated.map(|(_, namespace)| namespace))?;
    match (name, namespace) {
        (None, None) => Ok(None),
        (Some(name), Some(namespace)) if !name.is_empty() && !namespace.is_empty() => {
            Ok(Some((name, namespace)))
        }
        _ => Err(InvalidClaim::IncompleteSecret(keys.name, keys.namespace)),
    }
}

/// Expands `${…}` in a template. An unknown variable is an error.
fn expand_template(template: &str, values: &BTreeMap<String, String>) -> Result<String, InvalidClaim> {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once("${") {
        let unknown = || InvalidClaim::SecretTemplate(template.to_owned());
        let (key, left) = after.split_once('}').ok_or_else(unknown)?;
        text.push_str(before);
        text.push_str(values.get(key).ok_or_else(unknown)?);
        rest = left;
    }
    Ok(text + rest)
}

/// Whether a text is a valid object name (RFC 1123). `dots`: the name may contain dots.
fn is_name(text: &str, longest: usize, dots: bool) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let label = |label: &str| {
        let ends = [label.bytes().next(), label.bytes().last()];
        let ends = ends.iter().all(|byte| byte.is_some_and(|byte| byte != b'-'));
        ends && label.bytes().all(inner)
    };
    let labels: Vec<&str> = text.split('.').collect();
    text.len() <= longest && (dots || labels.len() == 1) && labels.into_iter().all(label)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;

    const NAME: &str = KEYS[0].name;
    const NAMESPACE: &str = KEYS[0].namespace;

    fn read(parameters: &[(&str, &str)]) -> Result<Option<String>, InvalidClaim> {
        let parameters = parameters
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let class = StorageClass {
            parameters: Some(parameters),
            ..Default::default()
        };
        let annotations = BTreeMap::from([("team/key".to_owned(), "gold".to_owned())]);
        let claim = PersistentVolumeClaim {
            metadata: ObjectMeta {
                name: Some("data".to_owned()),
                namespace: Some("apps".to_owned()),
                annotations: Some(annotations),
                ..Default::default()
            },
            ..Default::default()
        };
        let found = secret_reference(SecretUse::Provisioner, &class, "pvc-1", &claim)?;
        Ok(found.map(|found| {
            format!(
                "{}/{}",
                found.namespace.unwrap_or_default(),
                found.name.unwrap_or_default()
            )
        }))
    }

    #[test]
    fn templates_are_expanded() {
        assert_eq!(read(&[]), Ok(None));
        for (name, namespace, expected) in [
            ("s", "n", "n/s"),
            ("${pvc.name}.${pv.name}", "${pvc.namespace}", "apps/data.pvc-1"),
            ("${pvc.annotations['team/key']}", "n-${pv.name}", "n-pvc-1/gold"),
        ] {
            let found = read(&[(NAME, name), (NAMESPACE, namespace)]);
            assert_eq!(found, Ok(Some(expected.to_owned())));
        }
        let before = [
            ("csiProvisionerSecretName", "s"),
            ("csiProvisionerSecretNamespace", "n"),
        ];
        assert_eq!(read(&before), Ok(Some("n/s".to_owned())));
    }

    #[test]
    fn invalid_secret_references_are_errors() {
        let half = || Err(InvalidClaim::IncompleteSecret(NAME, NAMESPACE));
        assert_eq!(read(&[(NAME, "s")]), half());
        assert_eq!(read(&[(NAME, ""), (NAMESPACE, "n")]), half());
        let twice = [(NAME, "s"), ("csiProvisionerSecretName", "s"), (NAMESPACE, "n")];
        assert_eq!(read(&twice), Err(InvalidClaim::DuplicateSecret(NAME)));
        // Users who create PVCs must not be able to choose the namespace of the secret.
        for namespace in ["${pvc.name}", "${pvc.annotations['team/key']}", "${open"] {
            let expected = Err(InvalidClaim::SecretTemplate(namespace.to_owned()));
            assert_eq!(read(&[(NAME, "s"), (NAMESPACE, namespace)]), expected);
        }
        for (name, namespace) in [
            ("S", "n"),
            ("a..b", "n"),
            ("s", "a.b"),
            ("s-", "n"),
            ("s", "../n"),
        ] {
            let expected = Err(InvalidClaim::SecretName(format!("{namespace}/{name}")));
            assert_eq!(read(&[(NAME, name), (NAMESPACE, namespace)]), expected);
        }
    }
}
