//! Fuzzes the target `strategic_patch`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("strategic_patch", bytes));
