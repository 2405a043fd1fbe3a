//! `cargo fuzz` program of the target `webhook_answer`, which `src/reviews.rs` implements.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("webhook_answer", bytes));
