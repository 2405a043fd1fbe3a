//! The implementation of each verb, as functions over a transaction.
//!
//! All objects are changed and deleted by `write` and `remove`. Does not know encodings or the reactions to changes: these are in
//! `controllers`.

mod admission;
mod apply;
mod bind;
mod body;
pub(crate) mod call;
mod connect;
mod continue_token;
mod convert;
mod create;
mod custom;
pub(crate) mod decode;
mod decoded;
mod delete;
mod delete_options;
mod deletion_admission;
mod dispatch;
mod dynamic_admission;
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
mod subresource_body;
mod token;
mod token_volume;
mod update;
mod watch;
pub(crate) mod write;

pub(crate) use convert::{
    for_webhook, from_webhook, is_in_version, needs_webhook_conversion, to_requested_version,
};
pub(crate) use custom::rewrite_stored;
pub(crate) use dispatch::run;
pub(crate) use options::admission_options as options_of;
