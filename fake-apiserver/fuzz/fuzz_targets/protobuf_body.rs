//! `cargo fuzz` program of the target `protobuf_body`, which `src/bodies.rs` implements.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("protobuf_body", bytes));
