//! Reads the configuration file of fake-csi: converts YAML to the driver's setup, with errors that contain line and column.

use std::{
    collections::BTreeSet,
    fmt::Display,
    path::{Path, PathBuf},
};

use fake_csi::{
    CostFactor, DriverSpec, NodeIdentity, Pool, Rule, Segment, SpecVersion,
    description::{CostSpec, PoolSpec},
};
use serde::{Deserialize, Deserializer, de};
use serde_saphyr::{Location, Spanned};

/// The driver and the sockets that the configuration file describes.
pub(crate) struct Setup {
    pub(crate) spec: DriverSpec,
    pub(crate) costs: Vec<CostFactor>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) sockets: Vec<Socket>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            spec: DriverSpec::new(""),
            costs: Vec::new(),
            pools: Vec::new(),
            rules: Vec::new(),
            sockets: Vec::new(),
        }
    }
}

/// A socket to serve, and the node for its node service; without a node, the socket has no node service.
pub(crate) struct Socket {
    pub(crate) path: PathBuf,
    pub(crate) node: Option<NodeIdentity>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    driver: DriverText,
    #[serde(default)]
    sockets: Vec<Spanned<SocketText>>,
    #[serde(default)]
    costs: Vec<CostSpec>,
    #[serde(default)]
    pools: Vec<Spanned<PoolSpec>>,
    #[serde(default)]
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DriverText {
    name: String,
    #[serde(default)]
    topology_keys: Vec<String>,
    #[serde(default = "default_true")]
    get_capacity: bool,
    #[serde(default = "default_true")]
    expand_volume: bool,
    #[serde(default)]
    clone_volume: bool,
    #[serde(default)]
    mutable_parameters: Vec<String>,
    #[serde(default = "default_true", alias = "tellsReserved")]
    reports_reserved: bool,
    #[serde(default, deserialize_with = "version")]
    csi_version: SpecVersion,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SocketText {
    path: PathBuf,
    node: Option<NodeText>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NodeText {
    id: String,
    #[serde(default)]
    segment: Segment,
}

fn default_true() -> bool {
    true
}

/// The CSI version is deserialized as a string, because 1.10 as a number would be 1.1.
fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpecVersion, D::Error> {
    String::deserialize(deserializer)?
        .parse()
        .map_err(de::Error::custom)
}

/// Reads a configuration file; errors contain the file name, and line and column where known.
pub(crate) fn load(path: &Path) -> Result<Setup, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{name}: cannot be read: {error}; check the file name"))?;
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    let file: File = serde_saphyr::from_str_with_options(&text, options).map_err(|error| {
        let message = error.without_snippet().to_string();
        // Removes the position at the end of the parser's message, because the position is added in front.
        let message = message
            .rfind(" at line ")
            .map_or(message.as_str(), |end| &message[..end]);
        match error.location() {
            Some(location) => format_error_at(&name, location, message),
            None => format!("{name}: {message}"),
        }
    })?;
    check_duplicates(&file).map_err(|(location, message)| format_error_at(&name, location, &message))?;
    Ok(Setup {
        spec: DriverSpec {
            topology_keys: file.driver.topology_keys,
            advertise_get_capacity: file.driver.get_capacity,
            advertise_expand_volume: file.driver.expand_volume,
            advertise_clone_volume: file.driver.clone_volume,
            mutable_parameters: file.driver.mutable_parameters,
            reports_reserved: file.driver.reports_reserved,
            version: file.driver.csi_version,
            ..DriverSpec::new(file.driver.name)
        },
        costs: file.costs.into_iter().map(|cost| cost.0).collect(),
        pools: file.pools.into_iter().map(|pool| pool.value.0).collect(),
        rules: file.rules,
        sockets: file
            .sockets
            .into_iter()
            .map(|socket| socket.value.into())
            .collect(),
    })
}

fn format_error_at(file: &impl Display, location: Location, message: &str) -> String {
    format!("{file}:{}:{}: {message}", location.line(), location.column())
}

/// Rejects duplicate pools and sockets in a configuration file.
fn check_duplicates(file: &File) -> Result<(), (Location, String)> {
    let mut pools = BTreeSet::new();
    for pool in &file.pools {
        let PoolSpec(it) = &pool.value;
        if !pools.insert((&it.segment, &it.parameters)) {
            let message = "another pool has the same segment and parameters; merge both pools";
            return Err((pool.defined, message.to_owned()));
        }
    }
    let mut sockets = BTreeSet::new();
    for socket in &file.sockets {
        if !sockets.insert(&socket.value.path) {
            let message = format!(
                "socket path {} is used twice; use another path",
                socket.value.path.display()
            );
            return Err((socket.defined, message));
        }
    }
    Ok(())
}

impl From<SocketText> for Socket {
    fn from(text: SocketText) -> Socket {
        Socket {
            path: text.path,
            node: text.node.map(|node| NodeIdentity {
                node_id: node.id,
                segment: node.segment,
            }),
        }
    }
}
