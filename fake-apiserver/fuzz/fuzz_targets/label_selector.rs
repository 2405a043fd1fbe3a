//! `cargo fuzz` program of the target `label_selector`, which `src/texts.rs` implements.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("label_selector", bytes));
