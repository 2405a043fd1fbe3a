//! The case files and manifests of this repository, for programs that run outside of a checkout.
//!
//! A separate crate that only programs depend on: after a change of a case, only this crate and the programs are rebuilt.

include!(concat!(env!("OUT_DIR"), "/files.rs"));
