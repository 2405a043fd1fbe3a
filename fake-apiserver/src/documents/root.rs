//! The documents at `/`, the list of paths, and at `/version`.

use super::served::groups;
use crate::kinds::Api;
use serde_json::{Value, json};

/// The first minor release whose `/version` contains the emulation version and the minimum compatibility version.
const COMPATIBILITY: u8 = 33;

/// `/version`: the release that this server emulates.
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

/// The CPU architecture of this host, by its Go name.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The document at `/`: all served paths. `own`: paths outside the API that the HTTP layer serves, such as `/healthz`.
pub(crate) fn paths(api: &Api, own: impl IntoIterator<Item = String>) -> Value {
    let mut paths: Vec<String> = own.into_iter().collect();
    paths.extend(["/api", "/api/v1", "/apis", "/apis/"].map(str::to_owned));
    for (group, versions) in groups(api) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.extend(["/metrics", "/metrics/slis", "/version"].map(str::to_owned));
    paths.extend(["/openapi/v3", "/openapi/v3/"].map(str::to_owned));
    paths.sort_unstable();
    json!({ "paths": paths })
}
