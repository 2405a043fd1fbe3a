//! `cargo xtask rbac`: derived permissions suffice, and cases that cannot be used are listed.

use crate::program::ended;

#[test]
fn minimal_permissions_are_printed_and_verified() {
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
        told.contains("skip  publisher/permissions/off: it grants each program its own permissions"),
        "{told}"
    );
    assert!(
        told.contains("1 case passes with these permissions and no others"),
        "{told}"
    );
}

#[test]
fn without_usable_cases_nothing_is_derived() {
    let (out, _) = ended(4, &["rbac", "publisher/permissions/off"]);
    assert_eq!(out, "");
}
