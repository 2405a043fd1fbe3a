//! `cargo fuzz` program of the target `json_body`, which `src/bodies.rs` implements.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("json_body", bytes));
