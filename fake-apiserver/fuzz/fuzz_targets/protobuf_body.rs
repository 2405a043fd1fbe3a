//! Fuzzes the target `protobuf_body`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_apiserver_fuzz::run("protobuf_body", bytes));
