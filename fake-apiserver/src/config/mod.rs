//! What a server is set to: its options and limits, and the release that it plays.

pub(crate) mod account_tokens;
pub(crate) mod admission;
pub(crate) mod network;
pub(crate) mod options;
pub(crate) mod release;
