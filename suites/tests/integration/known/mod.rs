//! What a manifest knows of failures outside its own cases: systems whose traffic is changed, and manifests that have entries for them.

mod explore;
mod systems;
