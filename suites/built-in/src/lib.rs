//! The case files and manifests of this repository, for programs that run outside of a checkout.
//!
//! A crate of its own, used by programs only: a changed case then costs a link, and no library is recompiled.

include!(concat!(env!("OUT_DIR"), "/files.rs"));
