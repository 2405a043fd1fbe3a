//! `/` and `/version`.

use super::served::groups;
use super::{issuer, openapi};
use crate::kinds::Api;
use serde_json::{Value, json};

/// The first minor release that tells which releases it behaves as, and works beside.
const COMPATIBILITY: u8 = 33;

/// `/version`: what this server follows.
pub(crate) fn version(api: &Api) -> Value {
    let minor = api.profile.release.minor();
    let mut version = json!({
        "major": "1",
        "minor": minor.to_string(),
        "gitVersion": format!("v1.{minor}.0"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, architecture()),
    });
    if minor >= COMPATIBILITY {
        let before = minor - 1;
        for (name, minor) in [("emulation", minor), ("minCompatibility", before)] {
            version[format!("{name}Major")] = "1".into();
            version[format!("{name}Minor")] = minor.to_string().into();
        }
    }
    version
}

/// The architecture of this machine, in the names that clients know.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// `/`: the paths that are served.
pub(crate) fn paths(api: &Api) -> Value {
    let mut paths = vec![format!("/{}", issuer::CONFIGURATION)];
    paths.extend(["/api", "/api/v1", "/apis"].map(str::to_owned));
    for (group, versions) in groups(api) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.extend(["/healthz", "/livez", "/metrics", "/metrics/slis"].map(str::to_owned));
    paths.extend(["/openapi/v2", "/openapi/v3"].map(str::to_owned));
    paths.extend(
        openapi::places(api)
            .iter()
            .map(|place| format!("/openapi/v3/{place}")),
    );
    paths.push(format!("/{}", issuer::KEYS));
    paths.extend(["/readyz", "/version"].map(str::to_owned));
    json!({ "paths": paths })
}
