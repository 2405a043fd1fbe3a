//! The case format: the content of a YAML file as types. Does not know how cases run.
//!
//! One file is one [`ScenarioFile`]. A file with a `table:` expands to one [`Scenario`] per row (see `table`). [`crate::plan`] checks names
//! and resolves them to Kubernetes objects.

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
pub(crate) use from_text::{gates, parsed};
pub use load::{coverage, load_case, load_cluster, load_file, load_tree, load_tree_where};
pub use metrics::{MetricsSource, SumCondition, SumConditions};
pub(crate) use parse::parse_yaml;
pub use parse::{parse, parse_one, parse_plain};
pub(crate) use response::PUBLISHED;
pub use response::{Comparison, Expression, Relation, Relations, ResponseSpec};
pub use role::{Level, Role};
pub use server::{ApplySpec, ReplaceSpec};
pub use short::{FromShort, Short};
pub use size::{Bytes, Size};
pub use step::StepSpec;
pub use systems::{GrantSpec, KnownBug, Mode, PublisherSpec, SchedulerSpec, ShapePoint};
pub(crate) use yaml_errors::yaml_error;

/// A runnable case: a file without a table, or one row of a table.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Unique id: the file's `id`, followed by `/row` for a table row.
    pub id: String,
    /// Name of the file, for error messages and annotations.
    pub source: String,
    /// Text of a case file that contains only this case. For a table row: with the row's id and cells, and without the table.
    pub text: String,
    /// The parsed content of the case file.
    pub file: ScenarioFile,
}

impl Scenario {
    /// Creates an error at a position in the text of this case.
    pub fn error(&self, location: Location, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at(&self.source, &self.text, location, message)
    }

    /// Creates an error at the value of a key below `cluster`. `path`: the YAML keys that lead from `cluster` to the value.
    pub(crate) fn error_in_cluster(&self, path: &[&str], message: impl Into<String>) -> ScenarioError {
        let path: Vec<&str> = std::iter::once("cluster").chain(path.iter().copied()).collect();
        let position = yaml_position::position_of(&self.text, &path);
        ScenarioError::in_text(&self.source, &self.text, position, message.into())
    }
}

/// The content of a case file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScenarioFile {
    /// Id of the case, such as `<role>/<area>/<behaviour>`.
    pub id: Spanned<String>,
    /// The tested behaviour in one sentence.
    pub title: String,
    /// Ids of the requirements that the case tests.
    #[serde(default)]
    pub requirements: Vec<Spanned<String>>,
    /// Which programs must pass: `core` (default): all; `extended`: those that claim the features of the case; `provisional`: none, a
    /// failure is only reported.
    #[serde(default)]
    pub level: Level,
    /// What the case requires beyond the KEPs and the CSI spec. Such a case is not core, and runs only for programs that claim the feature
    /// `<role>.beyond`.
    pub beyond: Option<String>,
    /// Features that programs must claim, in addition to those that the keys of the case imply; other programs skip the case.
    #[serde(default)]
    pub features: Vec<Spanned<String>>,
    /// URLs of public bug reports about bugs that this case detects.
    #[serde(default)]
    pub catches: Vec<String>,
    /// Table that expands the file to one case per row.
    pub table: Option<table::Table>,
    /// Axes of named values. They expand the file to cases that contain every pair of values.
    pub axes: Option<Value>,
    /// With `axes`: default values of the cells that the values of axes set.
    pub cells: Option<Value>,
    /// With `axes`: combinations of values that are excluded.
    pub constraints: Option<Value>,
    /// Everything that exists before the programs under test start.
    #[serde(default)]
    pub cluster: ClusterSpec,
    /// An external driver that replaces the built-in one. Written only by runs with such a driver, for `judge`.
    pub external_driver: Option<ExternalDriver>,
    /// Ids of specification rules that this case does not check, because another case already shows the violation. Written by `explore`.
    #[serde(default)]
    pub excused_rules: Vec<Spanned<String>>,
    /// The steps, in order.
    pub steps: Vec<Spanned<StepSpec>>,
}
