//! Finds the owner of the published objects: the pod of the publisher, or one of its direct or indirect controlling owners. Writes nothing.

use std::fmt::Debug;

use capacity_client::ExponentialBackoff;
use k8s_openapi::{
    api::core::v1::Pod,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde::de::DeserializeOwned;

use crate::{
    status::{brief, is_temporary},
    watch::Retry,
};

/// Why the owner was not found.
#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    /// An object of the owner chain could not be read.
    #[error(
        "cannot get {kind} {name}: {}; grant get permission for it, or choose another --capacity-ownerref-level",
        brief(.source)
    )]
    Get {
        /// Kind of the object that could not be read.
        kind: String,
        /// Name of the object that could not be read.
        name: String,
        /// The error of the API server.
        source: Box<kube::Error>,
    },
    /// The chain of controlling owners is shorter than the configured level.
    #[error("{kind} {name} has no controlling owner; choose a lower --capacity-ownerref-level")]
    NoOwner {
        /// Kind of the object without a controlling owner.
        kind: String,
        /// Name of the object without a controlling owner.
        name: String,
    },
    /// An owner reference has an `apiVersion` without a version.
    #[error("the owner reference to {kind} {name} has an invalid apiVersion; correct the reference")]
    InvalidReference {
        /// Kind in the invalid owner reference.
        kind: String,
        /// Name in the invalid owner reference.
        name: String,
    },
}

/// Finds the owner of the published objects: for level 0 the pod, for n its n-th controlling owner, `None` for a negative level.
///
/// The owner itself is not read, so no permission to get it is needed. Retries while the API server is unavailable.
pub(crate) async fn find_owner(
    client: &Client,
    namespace: &str,
    pod: &str,
    level: i32,
    backoff: ExponentialBackoff,
) -> Result<Option<OwnerReference>, OwnerError> {
    if level < 0 {
        return Ok(None);
    }
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let found = get(&api, "Pod", pod, backoff).await?;
    let mut owner = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: found.name_any(),
        uid: found.uid().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    };
    let mut metadata = found.metadata;
    for step in 0..level {
        if step > 0 {
            metadata = read_owner_metadata(client, namespace, &owner, backoff).await?;
        }
        owner = controlling_owner(&metadata, &owner)?;
    }
    Ok(Some(owner))
}

async fn read_owner_metadata(
    client: &Client,
    namespace: &str,
    owner: &OwnerReference,
    backoff: ExponentialBackoff,
) -> Result<ObjectMeta, OwnerError> {
    let (group, version) = owner
        .api_version
        .split_once('/')
        .unwrap_or(("", &owner.api_version));
    if version.is_empty() {
        return Err(OwnerError::InvalidReference {
            kind: owner.kind.clone(),
            name: owner.name.clone(),
        });
    }
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &owner.kind));
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    let found = get(&api, &owner.kind, &owner.name, backoff).await?;
    Ok(found.metadata)
}

/// Gets an object of the owner chain. Retries while the API server is unavailable.
async fn get<K>(api: &Api<K>, kind: &str, name: &str, backoff: ExponentialBackoff) -> Result<K, OwnerError>
where
    K: Clone + DeserializeOwned + Debug,
{
    let mut waits = Retry::new(backoff);
    loop {
        match (api.get(name).await, waits.next()) {
            (Err(error), Some(wait)) if is_temporary(&error) => {
                tracing::warn!(
                    kind,
                    name,
                    error = brief(&error),
                    "the owner cannot be read yet; retrying"
                );
                tokio::time::sleep(wait).await;
            }
            (result, _) => return result.map_err(|source| get_failed(kind, name, source)),
        }
    }
}

fn controlling_owner(metadata: &ObjectMeta, of: &OwnerReference) -> Result<OwnerReference, OwnerError> {
    let mut owners = metadata.owner_references.iter().flatten();
    let found = owners.find(|owner| owner.controller == Some(true));
    let owner = found.ok_or_else(|| OwnerError::NoOwner {
        kind: of.kind.clone(),
        name: of.name.clone(),
    })?;
    Ok(OwnerReference {
        block_owner_deletion: None,
        ..owner.clone()
    })
}

fn get_failed(kind: &str, name: &str, source: kube::Error) -> OwnerError {
    OwnerError::Get {
        kind: kind.to_owned(),
        name: name.to_owned(),
        source: Box::new(source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(name: &str, controller: Option<bool>) -> OwnerReference {
        OwnerReference {
            name: name.to_owned(),
            controller,
            block_owner_deletion: Some(true),
            ..Default::default()
        }
    }

    #[test]
    fn only_the_controlling_owner_is_used() {
        let owners = vec![reference("friend", None), reference("boss", Some(true))];
        let metadata = ObjectMeta {
            owner_references: Some(owners),
            ..Default::default()
        };
        let found = controlling_owner(&metadata, &reference("pod", None)).unwrap();
        assert_eq!(
            (found.name.as_str(), found.controller, found.block_owner_deletion),
            ("boss", Some(true), None)
        );
    }

    #[test]
    fn a_short_owner_chain_is_an_error_that_names_its_last_object() {
        let metadata = ObjectMeta {
            owner_references: Some(vec![reference("friend", None)]),
            ..Default::default()
        };
        let error = controlling_owner(&metadata, &reference("web-1", None)).unwrap_err();
        assert!(error.to_string().contains("web-1"), "{error}");
    }
}
