//! Fuzzes the target `label_selector`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("label_selector", bytes));
