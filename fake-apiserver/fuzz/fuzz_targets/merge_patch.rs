//! Fuzzes the target `merge_patch`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("merge_patch", bytes));
