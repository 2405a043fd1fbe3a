//! The case files and manifests of this repository, for programs that run where it is not.
//!
//! A crate of its own, which only programs use: whoever changes a case waits for a link, and for no library to be compiled anew.

include!(concat!(env!("OUT_DIR"), "/files.rs"));
