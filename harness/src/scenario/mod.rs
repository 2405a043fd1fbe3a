//! The case format: what a YAML file may say, as types, and nothing about running it.
//!
//! One file is one [`ScenarioFile`]; a file with a `table:` expands to one [`Scenario`] per row (see `table`).
//! Names are checked and turned into Kubernetes objects later, in [`crate::plan`].

mod answer;
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
mod role;
mod server;
mod short;
mod size;
mod step;
mod systems;
mod table;
mod yaml_place;
mod yaml_words;

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Location;

pub use serde_saphyr::Spanned;

pub(crate) use answer::PUBLISHED;
pub use answer::{AnswerSpec, Comparison, Expression, Relation, Relations};
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
pub use metrics::{Amount, Amounts, Speaker};
pub(crate) use parse::read;
pub use parse::{parse, parse_one, parse_plain};
pub use role::{Level, Role};
pub use server::{ApplySpec, ReplaceSpec};
pub use short::{FromShort, Short};
pub use size::{Bytes, Size};
pub use step::StepSpec;
pub use systems::{Deviation, Mode, PublisherSpec, SchedulerSpec, ShapePoint};
pub(crate) use yaml_words::complaint;

/// One runnable case: a file without a table, or one row of a file with one.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Path-like name, unique among all cases: the file's `id`, plus `/row` for a table row.
    pub id: String,
    /// Where it was read from, for error messages and annotations.
    pub source: String,
    /// A case file that says the same: for a row with its id, with the table's values filled in, and without the table.
    pub text: String,
    /// What the file says.
    pub file: ScenarioFile,
}

impl Scenario {
    /// An error about a place in it.
    pub fn error(&self, location: Location, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at(&self.source, &self.text, location, message)
    }

    /// An error about the value of a key of `cluster`, by the keys that lead to it from there.
    pub(crate) fn error_in_cluster(&self, path: &[&str], message: impl Into<String>) -> ScenarioError {
        let path: Vec<&str> = std::iter::once("cluster").chain(path.iter().copied()).collect();
        let place = yaml_place::place_of(&self.text, &path);
        ScenarioError::in_text(&self.source, &self.text, place, message.into())
    }
}

/// A case file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScenarioFile {
    /// Path-like name: `<role>/<area>/<behaviour>`.
    pub id: Spanned<String>,
    /// One sentence that says what is shown.
    pub title: String,
    /// Ids of the requirement catalogue.
    #[serde(default)]
    pub requirements: Vec<Spanned<String>>,
    /// How binding a failure is.
    #[serde(default)]
    pub level: Level,
    /// What the case requires beyond the documents, in a sentence. Such a case is not core, and runs for systems that claim `<role>.beyond`.
    #[serde(default)]
    pub beyond: Option<String>,
    /// What a system must support for the case to apply.
    #[serde(default)]
    pub features: Vec<Spanned<String>>,
    /// Public reports of the bug that this case would have caught.
    #[serde(default)]
    pub catches: Vec<String>,
    /// Rows that turn the file into several cases. Read by `table`; kept here so that the key is known.
    #[serde(default)]
    pub table: Option<table::Table>,
    /// Axes with named values, which turn the file into a case for each row in which every two values occur together. Read by `axes`;
    /// kept here so that the key is known.
    #[serde(default)]
    pub axes: Option<Value>,
    /// With `axes`: the cells that values set, and what each is where no value sets it.
    #[serde(default)]
    pub cells: Option<Value>,
    /// With `axes`: values that do not occur together.
    #[serde(default)]
    pub constraints: Option<Value>,
    /// What exists before the systems under test start.
    #[serde(default)]
    pub cluster: ClusterSpec,
    /// An external driver in the place of the scripted one. Runs against one write it, so that their journals can be judged
    /// again; cases leave it out.
    pub external_driver: Option<ExternalDriver>,
    /// Ids of rules of the specification that the case does not check, because another case shows how they are broken. `explore` writes it.
    #[serde(default)]
    pub excused_rules: Vec<Spanned<String>>,
    /// What happens, in order.
    pub steps: Vec<Spanned<StepSpec>>,
}
