//! `cargo fuzz` program of the target `field_selector`, which `src/texts.rs` implements.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("field_selector", bytes));
