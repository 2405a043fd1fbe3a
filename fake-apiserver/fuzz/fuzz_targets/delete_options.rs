//! `cargo fuzz` program of the target `delete_options`, which `src/bodies.rs` implements.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("delete_options", bytes));
