//! The report of a run as data, from which all output formats are rendered.

mod badge;
pub mod escape;
mod findings;
pub mod github;
mod groups;
mod html;
mod junit;
mod known;
mod markdown;
mod merge;
mod page;
mod record;
mod schema;
mod shards;
mod verdict;
mod write;

pub use groups::Group;
pub use merge::{MergeError, merge};
pub(crate) use merge::{ShardedResult, merge_shards, merge_times};
pub use page::page as whole_page;
pub use record::{
    CaseRecord, FORMAT, FindingRecord, IN_MEMORY, IndicatorRecord, IndicatorState, KnownRecord, LoadError,
    RECORD, Report, SettingsRecord, ShardsRecord, SystemRecord, now, rounded_seconds,
};
pub use schema::schema;
pub use verdict::CaseVerdict;
pub use write::{CASES, WriteError, remove_runs, write_all, write_file, write_record};
