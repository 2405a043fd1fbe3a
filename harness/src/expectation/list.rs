//! The expectations of a step: a list, or the word `specification` for everything that the specification requires.

use std::fmt;

use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use serde_saphyr::Spanned;

use super::ExpectSpec;

/// The word that a case file may contain instead of a list of expectations.
const SPECIFICATION: &str = "specification";

/// The expectations of a step.
#[derive(Debug, Clone)]
pub enum ExpectSpecs {
    /// The expectations that the case file lists.
    List(Vec<Spanned<ExpectSpec>>),
    /// All rules of the specification for objects and pods. Some apply at every moment, the remaining ones once all programs are idle.
    Specification,
}

impl ExpectSpecs {
    /// The explicit expectations; empty for `specification`.
    pub fn list(&self) -> &[Spanned<ExpectSpec>] {
        match self {
            ExpectSpecs::List(list) => list,
            ExpectSpecs::Specification => &[],
        }
    }
}

impl Default for ExpectSpecs {
    fn default() -> Self {
        ExpectSpecs::List(Vec::new())
    }
}

impl<'de> Deserialize<'de> for ExpectSpecs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ExpectSpecs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of expectations, or the word `{SPECIFICATION}`")
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<ExpectSpecs, E> {
                match word {
                    SPECIFICATION => Ok(ExpectSpecs::Specification),
                    _ => Err(E::custom(format!(
                        "`{word}` is no expectation; write a list of expectations, or `{SPECIFICATION}`"
                    ))),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<ExpectSpecs, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(ExpectSpecs::List)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::resolve;
    use crate::scenario::parse;

    fn error(expect: &str) -> String {
        let text = format!("id: a/b\ntitle: t\nsteps:\n  - id: s\n    expect: {expect}\n");
        let parsed = parse("f.yaml", &text).and_then(|cases| resolve(&cases[0]));
        parsed.expect_err("invalid expectations").to_string()
    }

    #[test]
    fn errors_name_the_list_entry_and_the_unknown_word() {
        let unknown = error("[{never: {write: delete nodes}, colour: red, why: w}]");
        assert!(
            unknown.starts_with("f.yaml:5:") && unknown.contains("colour"),
            "{unknown}"
        );
        let word = error("quiet");
        assert!(
            word.starts_with("f.yaml:5:13") && word.contains("or `specification`"),
            "{word}"
        );
        assert!(error("[]").contains("expects nothing"));
    }
}
