//! The decisions as a caller of the library sees them: which nodes fit and why others do not, and how they score.
//!
//! Nothing here runs a loop, and a server is only listed.

mod capacity;
mod index;
mod nodes;
mod reasons;
mod refusals;
mod scoring;
mod volumes;
mod world;
