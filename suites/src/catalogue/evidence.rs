//! Evidence for a requirement other than cases, as written in the catalogue. Does not check that the evidence exists: tests of this crate
//! do, because they can access all programs.

use harness::invocation::program;
use std::fmt;

use serde::Deserialize;

/// Evidence for a requirement, other than a case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Evidence {
    /// A test that fails if the requirement is violated.
    Test(TestName),
    /// A recorded exchange with kube-apiserver, as `area/name`, against which the fake API server is tested.
    Contract(String),
    /// A measurement of `cargo xtask bench`, for requirements on cost.
    Bench(String),
    /// A study of `cargo xtask study`, with a finding that checks the requirement.
    Study(String),
}

/// A test of this repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct TestName {
    /// Path of the file from the repository root.
    pub file: String,
    /// Name of the test function.
    pub function: String,
}

impl TryFrom<String> for TestName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (file, function) = text
            .split_once("::")
            .ok_or("write the file and the function of the test, such as suites/tests/x.rs::name")?;
        Ok(TestName {
            file: file.to_owned(),
            function: function.to_owned(),
        })
    }
}

impl Evidence {
    /// All kinds of evidence, in the order in which they are listed.
    pub const KINDS: [&str; 4] = ["test", "contract", "bench", "study"];

    /// The kind of evidence, in one word.
    pub fn kind(&self) -> &'static str {
        match self {
            Evidence::Test(_) => "test",
            Evidence::Contract(_) => "contract",
            Evidence::Bench(_) => "bench",
            Evidence::Study(_) => "study",
        }
    }
}

/// Formats the evidence as its location, or as the command that produces it.
impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Evidence::Test(test) => write!(f, "{}::{}", test.file, test.function),
            Evidence::Contract(name) => write!(f, "cargo test -p fake-apiserver-full --test contract {name}"),
            Evidence::Bench(name) => write!(f, "{program} bench {name}", program = program()),
            Evidence::Study(name) => write!(f, "{program} study {name}", program = program()),
        }
    }
}
