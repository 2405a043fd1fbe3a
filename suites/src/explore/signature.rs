//! What tells one finding from another: what went wrong, without the names and figures of the world in which it did.

use std::collections::BTreeSet;
use std::fmt;

use harness::judge::Finding;
use harness::manifest::Manifest;

use super::world::CLASSES;
use crate::known::excuse;
use crate::session::{CaseResult, Ended};

/// What went wrong in a run, whichever world it was in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature(String);

impl Signature {
    /// What went wrong in a run that was judged; none: nothing did, or it is excused.
    pub(super) fn of(result: &CaseResult, manifest: Option<&Manifest>) -> Option<Self> {
        if let Ended::Failed(explained) | Ended::Flaky(_, explained) = &result.ended {
            let link = without_names(&explained.said.lasting());
            return Some(Signature(match explained.rule {
                Some(rule) => format!("{}: {link}", rule.id),
                None => link,
            }));
        }
        let is_open =
            |finding: &&Finding| manifest.is_none_or(|manifest| excuse(manifest, finding).is_none());
        let open = result.findings.iter().filter(is_open);
        let rules: BTreeSet<&str> = open.map(|finding| finding.rule).collect();
        let rule = rules.first().filter(|_| matches!(result.ended, Ended::Passed));
        rule.map(|rule| Signature(format!("finding/{rule}")))
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text with what each name stands for in the place of the name.
fn without_names(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.+=/".contains(c);
    let (mut out, mut word) = (String::new(), String::new());
    for c in text.chars() {
        if is_part(c) {
            word.push(c);
            continue;
        }
        out.push_str(&kind(&std::mem::take(&mut word)));
        out.push(c);
    }
    out.push_str(&kind(&word));
    out
}

/// What a word names; itself, if it names nothing.
fn kind(word: &str) -> String {
    let numbered = |letter: char| {
        let number = word.strip_prefix(letter).unwrap_or_default();
        let number = number.split('-').next().unwrap_or_default();
        !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    };
    let named = [
        (numbered('n'), "NODE"),
        (numbered('p') && word.contains('-'), "CLAIM"),
        (numbered('p'), "POD"),
        (numbered('c'), "CLAIM"),
        (numbered('v'), "VOLUME"),
        (CLASSES.contains(&word), "CLASS"),
        (word.contains('='), "SEGMENT"),
        (
            word.starts_with("csisc-") || word.starts_with("by-hand-"),
            "OBJECT",
        ),
        (word.starts_with("pvc-"), "VOLUME"),
        (word.starts_with(|c: char| c.is_ascii_digit()), "NUMBER"),
    ];
    let found = named.into_iter().find_map(|(is_so, kind)| is_so.then_some(kind));
    found.unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_figures_of_a_world_tell_nothing_apart() {
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
        assert_eq!(without_names("never a word less"), "never a word less");
    }
}
