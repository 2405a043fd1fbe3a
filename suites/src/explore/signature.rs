//! The signature of a finding: the violation without the names and values of a particular cluster, by which equal findings are recognized.

use std::fmt;

use harness::judge::Finding;
use harness::manifest::Manifest;
use harness::replace_words;

use super::cluster::{CLASSES, LONG_DRIVER};
use crate::known::{FINDING, excusing_entry};
use crate::session::{CaseOutcome, CaseResult};

/// A violation in a run, without the names and numbers of its cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// The violated rule; `None` if an expectation failed or a program exited.
    rule: Option<String>,
    /// The first missing link of the failure's causal chain, without names. For a finding, the text of the finding.
    link: String,
}

impl Signature {
    /// All violations of a run that no manifest entry excuses: the failure first, then the findings.
    pub(super) fn violations_of_run(result: &CaseResult, manifest: Option<&Manifest>) -> Vec<Self> {
        let failure = match &result.outcome {
            CaseOutcome::Failed(explained) | CaseOutcome::Flaky(_, explained) => Some(Signature {
                rule: explained.rule.map(|rule| rule.id.to_owned()),
                link: without_names(&explained.failure_text.stable_pattern()),
            }),
            _ => None,
        };
        let is_open =
            |finding: &&Finding| manifest.is_none_or(|manifest| excusing_entry(manifest, finding).is_none());
        // Findings of an inconclusive run are ignored.
        let is_decided = !matches!(result.outcome, CaseOutcome::Inconclusive(_));
        let open = result.findings.iter().filter(|_| is_decided).filter(is_open);
        let findings = open.map(|finding| Signature {
            rule: Some(format!("{FINDING}/{}", finding.rule)),
            // The text contains no object names, but may contain status codes, which distinguish causes.
            link: finding.text.clone(),
        });
        failure.into_iter().chain(findings).collect()
    }

    /// Whether the signatures of a run contain this violation. For a signature without a rule, as with explicit expectations, only
    /// the first missing link of the causal chain is compared.
    pub(super) fn is_shown(&self, signatures: &[Signature]) -> bool {
        let is_same = |it: &Signature| it == self || it.rule.is_none() && it.link == self.link;
        signatures.iter().any(is_same)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Some(rule) => write!(f, "{rule}: {}", self.link),
            None => f.write_str(&self.link),
        }
    }
}

/// Replaces each name in a text by a placeholder such as `NODE`.
fn without_names(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.+=/".contains(c);
    replace_words(text, is_part, placeholder)
}

/// The placeholder of a name, such as `NODE`; the word itself if it is no name.
fn placeholder(word: &str) -> &str {
    let numbered = |letter: char| {
        let number = word.strip_prefix(letter).unwrap_or_default();
        let number = number.split(['-', '.']).next().unwrap_or_default();
        !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    };
    let named = [
        (numbered('n'), "NODE"),
        (numbered('p') && word.contains('-'), "CLAIM"),
        (numbered('p'), "POD"),
        (numbered('c'), "CLAIM"),
        (numbered('v'), "VOLUME"),
        (CLASSES.contains(&word), "CLASS"),
        (word == LONG_DRIVER, "disk.example.com"),
        // In a log line such as `namespace="csi"`, the quoted value is a separate word.
        (word.contains('=') && !word.ends_with('='), "SEGMENT"),
        (
            word.starts_with("csisc-") || word.starts_with("by-hand-"),
            "OBJECT",
        ),
        (word.starts_with("pvc-"), "VOLUME"),
        (word.starts_with(|c: char| c.is_ascii_digit()), "NUMBER"),
    ];
    let found = named.into_iter().find_map(|(is_so, kind)| is_so.then_some(kind));
    found.unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_do_not_distinguish_findings() {
        for (one, other) in [
            ("pod p1 is bound to n1", "pod p12 is bound to n4"),
            (
                "GetCapacity for class fast at n1",
                "GetCapacity for class gold at zone=a",
            ),
            (
                "csisc-x1 says 10Gi (maximum 4Gi)",
                "csisc-zz says 5Gi (maximum 1Gi)",
            ),
            ("claim p1-0, pvc-1", "claim c3, pvc-22"),
        ] {
            let (one, other) = (without_names(one), without_names(other));
            assert_eq!(one.replace("SEGMENT", "NODE"), other.replace("SEGMENT", "NODE"));
        }
        assert_ne!(without_names("pod p1 waits"), without_names("claim c1 waits"));
        for text in ["never a word less", r#"have only namespace="csi" and name="""#] {
            assert_eq!(without_names(text), text);
        }
    }
}
