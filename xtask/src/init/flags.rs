//! Which flags programs of each role usually have for the settings of a case. Data only.

use suites::harness::scenario::Role;

pub(super) struct Flag {
    /// Alternative names of the flag, without dashes.
    pub(super) names: &'static [&'static str],
    pub(super) given: Given,
    /// What the flag sets, for the output of `init`.
    pub(super) meaning: &'static str,
}

/// When the manifest passes a flag to the program.
pub(super) enum Given {
    /// Always passed with this value; empty for a switch.
    Always(&'static str),
    /// Passed if a case sets this setting, which requires the feature.
    Setting {
        setting: &'static str,
        feature: &'static str,
        /// For each value of the setting, the argument that it adds; `{flag}` stands for the name of the flag.
        adds: &'static [(&'static str, &'static str)],
    },
}

macro_rules! flags {
    ($($table:ident: {
        $([$($name:literal),+] = $value:literal, $meaning:literal;)*
        $(setting $names:literal: $setting:literal, $feature:literal, $adds:expr, $of_setting:literal;)*
    })+) => {$(
        const $table: &[Flag] = &[
            $(Flag { names: &[$($name),+], given: Given::Always($value), meaning: $meaning },)*
            $(Flag {
                names: &[$names],
                given: Given::Setting { setting: $setting, feature: $feature, adds: &$adds },
                meaning: $of_setting,
            },)*
        ];
    )+};
}

flags! {
    PUBLISHER: {
        ["kubeconfig"] = "{kubeconfig}", "the API server";
        ["csi-address", "csi-endpoint", "csi-socket", "csi"] = "{csi_socket}", "the driver's socket";
        ["capacity-poll-interval", "poll-interval", "poll", "refresh-interval", "refresh"] = "{refresh}", "poll interval of GetCapacity";
        ["enable-capacity"] = "", "publishing of capacity objects";
        ["node-name", "node-id", "nodeid"] = "{node}", "the node of an instance";
        ["namespace"] = "{namespace}", "the namespace of the capacity objects";
        ["retry-interval-start"] = "100ms", "short retries, to keep cases fast";
        ["retry-interval-max"] = "1s", "short retries, to keep cases fast";
        ["timeout"] = "2s", "a short timeout, to keep cases fast";
        ["kube-api-qps", "kube-api-capacity-qps"] = "200", "a high request rate, to keep cases fast";
        ["kube-api-burst", "kube-api-capacity-burst"] = "400", "a high request rate, to keep cases fast";
        setting "node-deployment": "mode", "publisher.distributed", [("distributed", "{flag}")], "one instance per node";
        setting "capacity-ownerref-level": "ownerLevel", "publisher.owner", [("none", "{flag}=-1"), ("any", "{flag}={value}")], "owner references of the capacity objects";
        setting "enable-capacity": "publish", "publisher.provision-only", [("false", "{flag}=false")], "provisioning without publishing objects";
        setting "extra-create-metadata": "extraCreateMetadata", "publisher.extra-create-metadata", [("true", "{flag}")], "names of PVC and PV for the driver";
        setting "capacity-for-immediate-binding": "immediate", "publisher.immediate", [("true", "{flag}")], "classes with immediate binding";
        setting "strict-topology": "strictTopology", "publisher.strict-topology", [("true", "{flag}")], "CreateVolume only for the selected node's segment";
    }
    SCHEDULER: {
        ["kubeconfig"] = "{kubeconfig}", "the API server";
        ["leader-elect"] = "false", "no leader election";
        ["secure-port"] = "0", "no HTTPS port";
        setting "feature-gates": "scoring", "scheduler.scoring", [("none", ""), ("any", "{flag}=StorageCapacityScoring={value}")], "scoring of nodes by storage capacity";
    }
    CLEANER: {
        ["kubeconfig"] = "{kubeconfig}", "the API server";
        ["clean-orphans"] = "", "deletion of orphaned objects";
        ["namespace"] = "{namespace}", "the namespace of the objects";
    }
    DRIVER: {
        ["endpoint", "csi-endpoint"] = "unix://{csi_socket}", "the socket on which the driver listens";
        ["csi-address", "csi-socket", "socket", "socket-path"] = "{csi_socket}", "the socket on which the driver listens";
        ["nodeid", "node-id", "node-name", "node"] = "{node}", "the node of an instance";
        ["statedir", "state-dir", "data-dir", "state"] = "{state}", "folder for persistent state";
    }
}

/// The known flags of a role's programs.
pub(super) fn of(role: Role) -> &'static [Flag] {
    match role {
        Role::Publisher => PUBLISHER,
        Role::Scheduler => SCHEDULER,
        Role::Cleaner => CLEANER,
        Role::Driver => DRIVER,
    }
}

/// Settings that every program of a role must get, even if `init` recognises no flag for them.
pub(super) fn required_settings(role: Role) -> &'static [(&'static str, &'static str)] {
    match role {
        Role::Cleaner => &[
            ("driver", "--driver-name={value}"),
            ("orphanAfter", "--orphan-after={value}"),
        ],
        _ => &[],
    }
}

/// Features of a role that the manifest claims without a trial, and features that a trial case decides on.
pub(super) fn features(role: Role) -> (&'static [&'static str], &'static [&'static str]) {
    match role {
        Role::Publisher => (&["publisher.central"], &["publisher.provisioning"]),
        Role::Driver => (&[], &["driver.maximum"]),
        _ => (&[], &[]),
    }
}
