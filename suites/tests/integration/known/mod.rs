//! Known failures outside of cases: programs with manipulated traffic, and manifests with entries for their failures.

mod explore;
mod systems;
