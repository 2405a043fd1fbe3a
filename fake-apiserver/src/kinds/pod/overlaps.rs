//! Warnings about files of a volume that lie in one another's way.

use crate::machinery::json::{list, string};
use serde_json::Value;

/// Paths that one is held against. A body can hold any number of them: a few warnings are enough.
const PATHS_MAX: usize = 256;

/// How many warnings about the volumes of a pod are made: more than the header of an answer holds.
pub(super) const WARNINGS_MAX: usize = 256;

/// A path in a volume, and what puts it there; nothing where that is the volume itself.
struct Placed<'a> {
    path: &'a str,
    by: String,
}

impl<'a> Placed<'a> {
    fn new(path: &'a str, by: String) -> Self {
        Self {
            path: path.trim_end_matches('/'),
            by,
        }
    }

    fn told(&self) -> String {
        match self.by.as_str() {
            "" => format!("{:?}", self.path),
            by => format!("{:?} ({by})", self.path),
        }
    }

    /// Whether one is the other, or lies below it.
    fn meets(&self, other: &Self) -> bool {
        let lies_below = |inner: &str, outer: &str| {
            inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_somewhere = !self.path.is_empty() && !other.path.is_empty();
        is_somewhere && (lies_below(self.path, other.path) || lies_below(other.path, self.path))
    }
}

/// The warnings about one volume.
pub(super) fn warn(volume: &Value) -> Vec<String> {
    let name = string(volume, "name");
    let mut warnings = Vec::new();
    for (kind, field) in [
        ("configMap", "name"),
        ("secret", "secretName"),
        ("downwardAPI", ""),
    ] {
        let source = &volume[kind];
        let placed = items(source, "");
        warnings.extend(told(name, &described(kind, string(source, field)), &placed));
    }
    let mut placed = Vec::new();
    for source in list(&volume["projected"]["sources"]) {
        match projected(source) {
            Some(paths) => placed.extend(paths),
            None => warnings.push(format!("volume {name:?} (Projected) has no sources provided")),
        }
    }
    warnings.extend(told(name, "Projected", &placed));
    warnings
}

/// A source as warnings call it.
fn described(kind: &str, name: &str) -> String {
    match kind {
        "configMap" => format!("ConfigMap {name:?}"),
        "secret" => format!("Secret {name:?}"),
        _ => "DownwardAPI".to_owned(),
    }
}

/// What one source of a projected volume puts there; nothing if there is no source.
fn projected(source: &Value) -> Option<Vec<Placed<'_>>> {
    let is_empty = |source: &Value| source.as_object().is_none_or(serde_json::Map::is_empty);
    if is_empty(source) {
        return None;
    }
    let one = |path: &'static str, of: &str, by: String| -> Vec<Placed<'_>> {
        vec![Placed::new(string(&source[of], path), by)]
    };
    for kind in ["configMap", "secret", "downwardAPI"] {
        if !list(&source[kind]["items"]).is_empty() {
            return Some(items(
                &source[kind],
                &described(kind, string(&source[kind], "name")),
            ));
        }
    }
    if !source["serviceAccountToken"].is_null() {
        return Some(one(
            "path",
            "serviceAccountToken",
            "ServiceAccountToken".to_owned(),
        ));
    }
    let bundle = &source["clusterTrustBundle"];
    if !bundle.is_null() {
        let name = bundle["name"].as_str().unwrap_or(string(bundle, "signerName"));
        return Some(one(
            "path",
            "clusterTrustBundle",
            format!("ClusterTrustBundle {name:?}"),
        ));
    }
    let parts = [
        ("certificateChainPath", "chain"),
        ("keyPath", "key"),
        ("credentialBundlePath", "credential bundle"),
    ];
    let certificate = parts.into_iter();
    let certificate =
        certificate.flat_map(|(path, what)| one(path, "podCertificate", format!("PodCertificate {what}")));
    Some(certificate.collect())
}

fn items<'a>(source: &'a Value, by: &str) -> Vec<Placed<'a>> {
    let items = list(&source["items"]).iter();
    items
        .map(|item| Placed::new(string(item, "path"), by.to_owned()))
        .collect()
}

fn told(volume: &str, what: &str, placed: &[Placed<'_>]) -> Vec<String> {
    let placed = &placed[..placed.len().min(PATHS_MAX)];
    let pairs = placed.iter().enumerate().flat_map(|(i, one)| {
        let others = placed[..i].iter().filter(|other| one.meets(other));
        others.map(move |other| (one.told(), other.told()))
    });
    let warnings = pairs
        .map(|(one, other)| format!("volume {volume:?} ({what}): overlapping paths: {one} with {other}"));
    warnings.take(WARNINGS_MAX).collect()
}
