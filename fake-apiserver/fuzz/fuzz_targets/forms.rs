//! `cargo fuzz` program of the target `forms`, which `src/bodies.rs` implements.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("forms", bytes));
