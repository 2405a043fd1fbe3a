//! `cargo fuzz` program of the target `merge_patch`, which `src/bodies.rs` implements.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("merge_patch", bytes));
