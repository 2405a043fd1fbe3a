//! Discovers the API version in which the server serves a resource. Does not know which resource.

use kube::Client;
use kube::runtime::watcher;

/// The first of these versions in which the server serves a resource, given by group and plural name. `None` if it serves none.
pub async fn served_version(
    client: &Client,
    group: &str,
    versions: &[&'static str],
    plural: &str,
) -> kube::Result<Option<&'static str>> {
    for version in versions {
        match client
            .list_api_group_resources(&format!("{group}/{version}"))
            .await
        {
            Ok(list) if list.resources.iter().any(|resource| resource.name == plural) => {
                return Ok(Some(version));
            }
            Ok(_) => {}
            Err(error) if is_type_missing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Whether a failed request means that the server does not serve the type or version: the code is 404, and the details of the `Status`
/// contain no object name. The object may still exist: stored objects reappear when the type is served again. A 404 with a name means that
/// this object, or its namespace, does not exist.
pub fn is_type_missing(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    status.code == 404
        && status
            .details
            .as_ref()
            .is_none_or(|details| details.name.is_empty())
}

/// Whether a watch failed because its version is no longer served.
pub fn is_watched_type_missing(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => is_type_missing(error),
        watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion => false,
    }
}
