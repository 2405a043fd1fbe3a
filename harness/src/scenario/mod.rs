//! The case format: the content of a YAML file as types. Does not know how cases run.
//!
//! One file is one [`ScenarioFile`]; a file with a `table:` expands to one [`Scenario`] per row (see `table`).
//! Names are checked and turned into Kubernetes objects later, in [`crate::plan`].

mod axes;
mod backend;
mod bound;
mod case_files;
mod cells;
mod cluster;
mod cover;
mod coverage;
mod error;
mod extender;
mod external_driver;
mod from_text;
mod gates;
mod grant;
mod load;
mod metrics;
mod ordered;
mod outline;
mod parse;
mod response;
mod role;
mod server;
mod short;
mod size;
mod step;
mod systems;
mod table;
mod yaml_errors;
mod yaml_position;

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Location;

pub use serde_saphyr::Spanned;

pub use backend::{AccessSpec, DeviceSpec, FilesystemSpec, PoolSpec};
pub use bound::{Bound, duration};
pub use case_files::CaseFiles;
pub use cluster::{
    Binding, CapacitySpec, ClassSpec, ClusterSpec, CostSpec, DriverSpec, NodeSpec, SnapshotSpec, VolumeSpec,
};
pub use cover::{Strength, pairs};
pub use coverage::PairCoverage;
pub use error::ScenarioError;
pub use extender::ExtenderSpec;
pub use external_driver::ExternalDriver;
pub(crate) use from_text::parsed;
pub(crate) use gates::gates;
pub use grant::GrantSpec;
pub use load::{coverage, load_cluster, load_file, load_row, load_tree, load_tree_where};
pub use metrics::{MetricsSource, SumCondition, SumConditions};
pub(crate) use parse::read;
pub use parse::{parse, parse_one, parse_plain};
pub(crate) use response::PUBLISHED;
pub use response::{Comparison, Expression, Relation, Relations, ResponseSpec};
pub use role::{Level, Role};
pub use server::{ApplySpec, ReplaceSpec};
pub use short::{FromShort, Short};
pub use size::{Bytes, Size};
pub use step::StepSpec;
pub use systems::{Deviation, Mode, PublisherSpec, SchedulerSpec, ShapePoint};
pub(crate) use yaml_errors::yaml_error;

/// A runnable case: a file without a table, or one row of a table.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Unique path-like id: the file's `id`, plus `/row` for a table row.
    pub id: String,
    /// The file's name, for error messages and annotations.
    pub source: String,
    /// An equivalent case file. For a row: with its id, with the cells filled in, and without the table.
    pub text: String,
    /// The parsed file.
    pub file: ScenarioFile,
}

impl Scenario {
    /// An error at a position in this case.
    pub fn error(&self, location: Location, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at(&self.source, &self.text, location, message)
    }

    /// An error at the value of a key of `cluster`; `path`: the keys below `cluster`.
    pub(crate) fn error_in_cluster(&self, path: &[&str], message: impl Into<String>) -> ScenarioError {
        let path: Vec<&str> = std::iter::once("cluster").chain(path.iter().copied()).collect();
        let position = yaml_position::position_of(&self.text, &path);
        ScenarioError::in_text(&self.source, &self.text, position, message.into())
    }
}

/// A case file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScenarioFile {
    /// Path-like id: `<role>/<area>/<behaviour>`.
    pub id: Spanned<String>,
    /// The tested behaviour in one sentence.
    pub title: String,
    /// Ids from the requirement catalogue.
    #[serde(default)]
    pub requirements: Vec<Spanned<String>>,
    /// Whether and for whom a failure counts.
    #[serde(default)]
    pub level: Level,
    /// What the case requires beyond the KEPs and the CSI spec. Such a case is not core, and runs for systems that claim `<role>.beyond`.
    #[serde(default)]
    pub beyond: Option<String>,
    /// Features that a system must support for the case to apply.
    #[serde(default)]
    pub features: Vec<Spanned<String>>,
    /// Public bug reports that this case would have caught.
    #[serde(default)]
    pub catches: Vec<String>,
    /// Table that expands the file to one case per row. Parsed by `table`; declared here so that the key is valid.
    #[serde(default)]
    pub table: Option<table::Table>,
    /// Axes of named values that expand the file to cases covering every pair of values. Parsed by `axes`; declared here so that the key is
    /// valid.
    #[serde(default)]
    pub axes: Option<Value>,
    /// With `axes`: default values of the cells that axis values set.
    #[serde(default)]
    pub cells: Option<Value>,
    /// With `axes`: combinations of values that do not occur.
    #[serde(default)]
    pub constraints: Option<Value>,
    /// Everything that exists before the systems under test start.
    #[serde(default)]
    pub cluster: ClusterSpec,
    /// An external driver instead of the built-in one. Only runs against an external driver write this key, so that their journals can be
    /// judged again.
    pub external_driver: Option<ExternalDriver>,
    /// Ids of specification rules that this case does not check, as another case already shows the violation. Written by `explore`.
    #[serde(default)]
    pub excused_rules: Vec<Spanned<String>>,
    /// The steps, in order.
    pub steps: Vec<Spanned<StepSpec>>,
}
