//! `cargo xtask rbac`: the derived permissions suffice, and the output lists cases from which no permissions can be derived.

use crate::program::run_expecting;

#[test]
fn minimal_permissions_are_printed_and_verified() {
    let (out, printed_text) = run_expecting(
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
        printed_text.contains(
            "skip  publisher/permissions/off: the case itself sets the permissions of each program"
        ),
        "{printed_text}"
    );
    assert!(
        printed_text.contains("1 case passes with these permissions and no others"),
        "{printed_text}"
    );
}

#[test]
fn without_usable_cases_nothing_is_derived() {
    let (out, _) = run_expecting(4, &["rbac", "publisher/permissions/off"]);
    assert_eq!(out, "");
}
