//! The decisions as a caller of the library sees them: which nodes fit and why others do not, and how they score.
//!
//! Nothing here runs a loop, and a server is only listed.

// The attribute tells the linter that all of this is a test.
#[cfg(test)]
mod capacity;
#[cfg(test)]
mod explanation;
#[cfg(test)]
mod index;
#[cfg(test)]
mod inventory;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod random;
#[cfg(test)]
mod reasons;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod scoring;
#[cfg(test)]
mod volumes;
#[cfg(test)]
mod world;
