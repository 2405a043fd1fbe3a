//! Fuzzes the target `continue_token`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("continue_token", bytes));
