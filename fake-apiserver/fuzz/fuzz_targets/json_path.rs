//! `cargo fuzz` program of the target `json_path`, which `src/rules.rs` implements.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("json_path", bytes));
