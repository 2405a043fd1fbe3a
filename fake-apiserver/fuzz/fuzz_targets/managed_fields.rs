//! `cargo fuzz` program of the target `managed_fields`, which `src/bodies.rs` implements.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("managed_fields", bytes));
