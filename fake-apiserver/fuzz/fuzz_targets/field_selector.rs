//! Fuzzes the target `field_selector`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("field_selector", bytes));
