//! cargo-fuzz target `connection`: arbitrary bytes on the driver's socket.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fake_csi_fuzz::connection(bytes));
