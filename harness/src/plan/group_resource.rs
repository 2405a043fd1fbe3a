//! A resource and its API group in kubectl's notation: `csistoragecapacities.storage.k8s.io`, `pods`.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::Deserialize;

/// A resource and its API group, independent of the version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct GroupResource {
    /// The API group; empty for the core group.
    pub group: String,
    /// Plural resource name.
    pub resource: String,
}

impl FromStr for GroupResource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (resource, group) = text.split_once('.').unwrap_or((text, ""));
        let is_name = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte))
        };
        if resource.is_empty() || text.ends_with('.') || !is_name(text) {
            return Err(format!(
                "`{text}` is no resource with its group; write it as in `csistoragecapacities.storage.k8s.io`"
            ));
        }
        Ok(GroupResource {
            group: group.to_owned(),
            resource: resource.to_owned(),
        })
    }
}

impl TryFrom<String> for GroupResource {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Display for GroupResource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.group.as_str() {
            "" => f.write_str(&self.resource),
            group => write!(f, "{}.{group}", self.resource),
        }
    }
}
