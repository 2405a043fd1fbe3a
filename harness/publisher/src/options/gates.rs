//! Feature gates of external-provisioner, and their effect in this publisher.

/// The values of the feature gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    /// `Topology`: CreateVolume requests have accessibility requirements if the driver advertises VOLUME_ACCESSIBILITY_CONSTRAINTS.
    pub topology: bool,
    /// `VolumeAttributesClass`: CreateVolume requests contain the parameters of the PVC's VolumeAttributesClass. If disabled, the class is
    /// ignored.
    pub attributes_class: bool,
    /// `ReleaseLeaderElectionOnExit`: release the Lease at exit. Enabled by default, unlike upstream.
    pub release_on_exit: bool,
}

impl Default for FeatureGates {
    fn default() -> FeatureGates {
        FeatureGates {
            topology: true,
            attributes_class: true,
            release_on_exit: true,
        }
    }
}

/// A feature gate and its field. `None`: external-provisioner has the gate, but only `false` is supported here.
type Gate = (&'static str, Option<fn(&mut FeatureGates) -> &mut bool>);

const GATES: [Gate; 4] = [
    ("CrossNamespaceVolumeDataSource", None),
    (
        "ReleaseLeaderElectionOnExit",
        Some(|gates| &mut gates.release_on_exit),
    ),
    ("Topology", Some(|gates| &mut gates.topology)),
    ("VolumeAttributesClass", Some(|gates| &mut gates.attributes_class)),
];

/// Parses `Name=true,Other=false`.
pub(super) fn feature_gates(text: &str) -> Result<FeatureGates, String> {
    let mut gates = FeatureGates::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, on) = part
            .split_once('=')
            .and_then(|(name, on)| Some((name.trim(), on.trim().parse().ok()?)))
            .ok_or_else(|| {
                format!("{part:?} is not a feature gate; use NAME=true or NAME=false, such as Topology=true")
            })?;
        match GATES.iter().find(|(known, _)| *known == name) {
            Some((_, Some(field))) => *field(&mut gates) = on,
            Some((_, None)) if !on => {}
            Some((_, None)) => {
                return Err(format!(
                    "{name} is not supported by this provisioner; disable the feature gate"
                ));
            }
            None => {
                let names = GATES.map(|(name, _)| name).join(", ");
                return Err(format!(
                    "unknown feature gate {name:?}; known feature gates: {names}"
                ));
            }
        }
    }
    Ok(gates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_parsed_as_upstream() {
        let usual = FeatureGates::default();
        assert_eq!(feature_gates(""), Ok(usual));
        assert_eq!(
            feature_gates("Topology=true,CrossNamespaceVolumeDataSource=false"),
            Ok(usual)
        );
        let off = FeatureGates {
            topology: false,
            release_on_exit: false,
            ..usual
        };
        assert_eq!(
            feature_gates("Topology=false, ReleaseLeaderElectionOnExit=false"),
            Ok(off)
        );
    }

    #[test]
    fn an_unknown_gate_is_an_error_that_lists_the_known_ones() {
        let unknown = feature_gates("Topologie=true").unwrap_err();
        assert!(
            unknown.contains("Topologie") && unknown.contains("VolumeAttributesClass"),
            "{unknown}"
        );
        assert!(feature_gates("Topology").unwrap_err().contains("Topology=true"));
        let unsupported = feature_gates("CrossNamespaceVolumeDataSource=true").unwrap_err();
        assert!(unsupported.contains("not supported"), "{unsupported}");
    }
}
