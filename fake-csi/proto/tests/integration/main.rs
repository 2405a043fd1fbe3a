//! The generated code is that of the specification, and fresh.

mod fresh;
mod numbers;
