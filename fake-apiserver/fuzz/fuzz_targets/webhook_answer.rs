//! Fuzzes the target `webhook_answer`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("webhook_answer", bytes));
