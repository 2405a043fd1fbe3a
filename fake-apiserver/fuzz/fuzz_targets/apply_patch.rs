//! Fuzzes the target `apply_patch`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("apply_patch", bytes));
