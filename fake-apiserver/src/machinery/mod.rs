//! Code common to all kinds: names, quantities, selectors, metadata, field errors and `Status`.
//!
//! Corresponds to `k8s.io/apimachinery`, with its error messages. Does not know which kinds exist.

pub(crate) mod amounts;
pub(crate) mod document;
pub(crate) mod duration;
pub(crate) mod error_list;
pub mod go;
pub mod intern;
pub mod ip;
pub mod json;
pub mod json_path;
pub(crate) mod jws;
pub(crate) mod member_order;
pub mod metadata;
pub mod names;
pub mod pattern;
pub mod quantity;
pub(crate) mod selector;
pub mod stack;
pub(crate) mod status;
pub(crate) mod unified_diff;
pub mod url;
pub mod versions;
pub(crate) mod x509;
pub(crate) mod yaml;
