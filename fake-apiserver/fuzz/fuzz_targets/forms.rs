//! Fuzzes the target `forms`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("forms", bytes));
