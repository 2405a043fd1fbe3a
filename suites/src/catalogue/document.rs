//! Source documents of requirements, and references to sections of documents. Does not know requirements.

use serde::Deserialize;

/// A document that contains requirements (a KEP or the CSI spec), with its sections in document order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Short name, such as `KEP-1472`.
    pub name: String,
    /// Title of the document.
    pub title: String,
    /// The sections that contain requirements.
    pub sections: Vec<String>,
}

/// A section of a document, written as `KEP-1472, Test Plan`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Source {
    /// Short name of the document.
    pub document: String,
    /// Heading of the section.
    pub section: String,
}

impl TryFrom<String> for Source {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // Split at the first comma: a heading may contain commas, the short name of a document contains none.
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
