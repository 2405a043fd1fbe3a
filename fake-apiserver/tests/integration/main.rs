//! Tests of the server through its API, and of the layers of its source files. Tests against recorded kube-apiserver responses are in
//! `full/tests/contract`.

#![expect(clippy::unwrap_used, reason = "a panic fails the test and names its line")]

pub mod fuzzed;
mod imports;
mod layers;
mod quantity;
mod wire;
