//! Tests that the generated code is up to date and encodes messages as the CSI specification defines them.

mod fresh;
mod numbers;
