//! What exploration has found: what went wrong, in how many worlds, and the smallest history that shows it.

use super::focus::Focus;
use super::shrink::Shrunk;
use super::signature::Signature;
use super::text::Excused;
use super::write::Written;

/// One thing that went wrong.
#[derive(Debug)]
pub struct Finding {
    /// What went wrong.
    pub signature: Signature,
    /// What the first world in which it did was drawn for.
    pub focus: &'static Focus,
    /// The seed of that world.
    pub seed: u64,
    /// In how many worlds it went wrong.
    pub worlds: u64,
    /// The smallest history that shows it.
    pub shrunk: Shrunk,
    /// The rules that hid it, as they were broken before: its case excuses them.
    pub excused: Excused,
    /// Its case; none: no folder was named.
    pub written: Option<Written>,
}
