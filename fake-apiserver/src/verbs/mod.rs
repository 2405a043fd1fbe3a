//! The implementation of each verb, as functions over a transaction.
//!
//! Objects change and are deleted only by `write` and `remove`. Does not know encodings, nor the reactions to a change,
//! which are in the controllers.

pub(crate) mod addresses;
mod admission;
mod apply;
mod bind;
mod body;
pub(crate) mod call;
mod connect;
mod consult;
mod consult_deletion;
mod continue_token;
mod convert;
mod create;
mod custom;
pub(crate) mod decode;
mod decoded;
mod delete;
mod delete_options;
mod dispatch;
mod escalation;
mod evict;
mod finalize;
mod generate;
mod list;
pub(crate) mod options;
mod patch;
mod policies;
mod read;
pub(crate) mod remove;
mod review;
mod review_selectors;
mod scale;
mod sent;
mod token;
mod token_volume;
mod update;
mod watch;
pub(crate) mod write;

pub(crate) use convert::{is_in, is_unconverted, received, sent, shown};
pub(crate) use custom::reformed;
pub(crate) use dispatch::run;
pub(crate) use options::of_call as options_of;
