//! `/` and `/version`.

use super::openapi;
use super::served::groups;
use crate::config::release::Profile;
use serde_json::{Value, json};

/// `/version`: what this server follows.
pub(crate) fn version(profile: Profile) -> Value {
    let minor = profile.release.minor();
    json!({
        "major": "1",
        "minor": minor.to_string(),
        "gitVersion": format!("v1.{minor}.0"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// `/`: the paths that are served.
pub(crate) fn paths(profile: Profile) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for (group, versions) in groups(profile) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.extend(["/healthz", "/livez", "/metrics"].map(str::to_owned));
    paths.extend(["/openapi/v2", "/openapi/v3"].map(str::to_owned));
    paths.extend(
        openapi::places(profile)
            .iter()
            .map(|place| format!("/openapi/v3/{place}")),
    );
    paths.extend(["/readyz", "/version"].map(str::to_owned));
    json!({ "paths": paths })
}
