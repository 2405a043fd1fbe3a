//! The case files and manifests of this repository, for programs that run outside of a checkout.
//!
//! A separate crate that only programs use: after a change of a case, only this crate and the programs are rebuilt, and no other library.

include!(concat!(env!("OUT_DIR"), "/files.rs"));
