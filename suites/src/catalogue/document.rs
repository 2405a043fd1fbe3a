//! The documents that ask for something, and the place in them where they do. Knows no requirement.

use serde::Deserialize;

/// A document, with its sections in their order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// What it is called here, such as `KEP-1472`.
    pub name: String,
    /// What it calls itself.
    pub title: String,
    /// Those of its sections that ask for something.
    pub sections: Vec<String>,
}

/// Where something is written: a document and a section of it, as `KEP-1472, Test Plan`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Source {
    /// The name of the document.
    pub document: String,
    /// The heading of the section.
    pub section: String,
}

impl TryFrom<String> for Source {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // No name of a document has a comma; headings may.
        let (document, section) = text
            .split_once(", ")
            .ok_or("write the document and its section, such as KEP-1472, Test Plan")?;
        Ok(Source {
            document: document.to_owned(),
            section: section.to_owned(),
        })
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.document, self.section)
    }
}
