//! `cargo xtask rbac`: the permissions that are derived are enough, and what they cannot be derived from is told.

use crate::program::ended;

#[test]
fn the_least_permissions_are_printed_and_proved() {
    let (out, told) = ended(
        0,
        &[
            "rbac",
            "publisher/permissions/off",
            "publisher/refresh/poll/central",
        ],
    );
    for line in [
        "kind: ClusterRole",
        "    resources: [csinodes, storageclasses]",
        "kind: Role",
        "    resources: [csistoragecapacities]",
    ] {
        assert!(out.lines().any(|printed| printed == line), "{line}: {out}");
    }
    assert!(
        told.contains("skip  publisher/permissions/off: it says itself what programs may do"),
        "{told}"
    );
    assert!(
        told.contains("1 case passes with these permissions and no others"),
        "{told}"
    );
}

#[test]
fn where_no_case_is_left_nothing_is_derived() {
    let (out, _) = ended(4, &["rbac", "publisher/permissions/off"]);
    assert_eq!(out, "");
}
