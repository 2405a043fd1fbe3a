//! What shows a requirement beside the cases that name it, as the catalogue writes it. Looks for nothing: that what is named exists is
//! held by the tests of this crate, which know all programs.

use harness::invocation::program;
use std::fmt;

use serde::Deserialize;

/// One thing that shows a requirement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Evidence {
    /// A test that fails where the requirement is not met.
    Test(TestName),
    /// A conversation with an API server, as `area/name`, which is held against what kube-apiserver has answered.
    Contract(String),
    /// A measurement that `cargo xtask bench` makes, for what may cost something and is to be known.
    Bench(String),
    /// A study that `cargo xtask study` makes, with a finding that fails where the statement is no longer true.
    Study(String),
}

/// A test of this repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct TestName {
    /// The file, from the root of the repository.
    pub file: String,
    /// The function in it.
    pub function: String,
}

impl TryFrom<String> for TestName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (file, function) = text
            .split_once("::")
            .ok_or("write the file and the function of the test, as suites/tests/x.rs::name")?;
        Ok(TestName {
            file: file.to_owned(),
            function: function.to_owned(),
        })
    }
}

impl Evidence {
    /// All kinds, in the order in which they are counted.
    pub const KINDS: [&str; 4] = ["test", "contract", "bench", "study"];

    /// What kind of evidence it is, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Evidence::Test(_) => "test",
            Evidence::Contract(_) => "contract",
            Evidence::Bench(_) => "bench",
            Evidence::Study(_) => "study",
        }
    }
}

/// Where it stands, or the command that shows it.
impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Evidence::Test(test) => write!(f, "{}::{}", test.file, test.function),
            Evidence::Contract(name) => write!(f, "cargo test -p fake-apiserver --test contract {name}"),
            Evidence::Bench(name) => write!(f, "{program} bench {name}", program = program()),
            Evidence::Study(name) => write!(f, "{program} study {name}", program = program()),
        }
    }
}
