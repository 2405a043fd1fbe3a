//! What a step expects: a list, or one word for all that the specification demands.

use std::fmt;

use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use serde_saphyr::Spanned;

use super::ExpectSpec;

/// The word in the place of a list.
const SPECIFICATION: &str = "specification";

/// All that a step expects.
#[derive(Debug, Clone)]
pub enum ExpectSpecs {
    /// Each of these.
    List(Vec<Spanned<ExpectSpec>>),
    /// What the specification demands of objects and pods once everything is quiet, and at every moment until then.
    Specification,
}

impl ExpectSpecs {
    /// The expectations of a list; none, where the specification says what is expected.
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
                        "`{word}` is no expectation; write a list of them, or `{SPECIFICATION}`"
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
        parsed.expect_err("it makes no sense").to_string()
    }

    #[test]
    fn a_place_in_the_list_and_a_wrong_word_are_named() {
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
