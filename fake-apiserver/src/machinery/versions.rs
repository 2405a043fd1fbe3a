//! The order of API versions: stable before beta before alpha, newer before older.

use std::cmp::Ordering;

/// Stability of an API version, from least to most stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Alpha,
    Beta,
    Stable,
}

/// Compares two API versions in discovery order. Names that are not Kubernetes versions, such as `latest`, are last.
pub fn compare(one: &str, other: &str) -> Ordering {
    match (parse(one), parse(other)) {
        (Some(one), Some(other)) => other.cmp(&one),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

/// Parses `v1` or `v2beta3` into stability, major version and the number after `alpha` or `beta`.
fn parse(version: &str) -> Option<(Stage, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (major, rest) = rest.split_at(digits(rest));
    let major = major.parse().ok()?;
    let (stage, minor) = match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
        (Some(minor), _) => (Stage::Alpha, minor),
        (_, Some(minor)) => (Stage::Beta, minor),
        _ if rest.is_empty() => return Some((Stage::Stable, major, 0)),
        _ => return None,
    };
    Some((stage, major, minor.parse().ok()?))
}

/// Group and version as in `apiVersion`: `v1` or `storage.k8s.io/v1`.
pub(crate) fn group_version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first_and_other_names_last() {
        let mut versions = [
            "foo1",
            "v1alpha1",
            "v11alpha2",
            "v2",
            "v3beta1",
            "v10",
            "v12alpha1",
            "v10beta3",
            "v11beta2",
            "foo10",
            "v1",
        ];
        versions.sort_by(|a, b| compare(a, b));
        let expected = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "v1alpha1",
            "foo1",
            "foo10",
        ];
        assert_eq!(versions, expected);
    }
}
