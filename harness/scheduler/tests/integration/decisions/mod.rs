//! The decisions as a caller of the library sees them: which nodes fit and why others do not, and how they score.
//!
//! Nothing here runs a loop, and a server is only listed.

mod budgets;
mod capacity;
mod causes;
mod explanation;
mod health;
mod index;
mod inventory;
mod nodes;
mod random;
mod reasons;
mod refusals;
mod scoring;
mod volumes;
mod world;
