//! Text of a failure, which is matched against the patterns of the defect catalogue and of known failures.

use harness::judge::{Failure, Finding};
use harness::manifest::FailurePattern;
use harness::reason_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The text of a failure, in parts to which patterns are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Said")]
pub struct FailureText {
    /// The verdict; for a program that exited, with the last lines of its log.
    pub verdict: String,
    /// The first missing link of the causal chain to the expected fact; empty if a process exited, because then there is no chain.
    pub link: String,
    /// What was observed instead of the missing link of the causal chain, or in addition.
    pub note: String,
    /// The last log lines of a program that exited.
    #[serde(default)]
    pub last_words: Vec<String>,
}

impl FailureText {
    /// The parts of a failure's explanation that patterns are matched against.
    pub fn of(failure: &Failure) -> Self {
        let link = failure.chain.first_missing();
        FailureText {
            verdict: failure.summary.clone(),
            link: link.map(|link| link.text.clone()).unwrap_or_default(),
            note: link.map(|link| link.note.clone()).unwrap_or_default(),
            last_words: failure
                .exit
                .as_ref()
                .and_then(|exit| exit.last_output.as_ref())
                .map_or_else(Vec::new, |output| output.lines.clone()),
        }
    }

    /// The text of a finding, which has neither a causal chain nor a log.
    pub(crate) fn of_finding(finding: &Finding) -> Self {
        FailureText {
            verdict: finding.text.clone(),
            link: String::new(),
            note: String::new(),
            last_words: Vec::new(),
        }
    }

    /// Whether the pattern matches the verdict, or the verdict and the first missing link in one line.
    pub fn matches(&self, words: &FailurePattern) -> bool {
        words.matches(&self.verdict) || words.matches(&self.one_line())
    }

    /// The first missing link of the causal chain with its note; the verdict if there is no causal chain.
    pub fn missing_link(&self) -> String {
        match (self.link.as_str(), self.note.as_str()) {
            ("", _) => self.verdict.clone(),
            (link, "") => link.to_owned(),
            (link, note) => format!("{link}: {note}"),
        }
    }

    /// The first missing link of the causal chain with its note. For a program that exited: the reason in its log, which is more specific.
    pub fn short_reason(&self) -> String {
        match self.exit_reason().filter(|_| self.link.is_empty()) {
            Some(reason) => with_wildcards(reason),
            None => self.missing_link(),
        }
    }

    /// The verdict and the first missing link of the causal chain in one line.
    pub fn one_line(&self) -> String {
        let verdict = self.verdict.lines().next().unwrap_or_default();
        // A verdict that ends with `:` introduces the last lines of the program's output; append the line with the reason of its exit.
        let reason = self.exit_reason().filter(|_| verdict.ends_with(':'));
        let verdict = reason.map_or_else(|| verdict.to_owned(), |reason| format!("{verdict} {reason}"));
        match self.link.as_str() {
            "" => verdict,
            _ => format!("{verdict}; first missing: {}", self.missing_link()),
        }
    }

    /// A pattern that matches the same failure in other runs: `*` replaces text that varies.
    ///
    /// The pattern is the text of the first missing link, without the note: notes contain details of one run, such as the node chosen first
    /// or a generated name.
    pub fn stable_pattern(&self) -> String {
        match self.link.as_str() {
            "" => with_wildcards(self.exit_reason().unwrap_or(&self.verdict)),
            link => with_wildcards(link),
        }
    }

    /// The line with the reason of the exit, among the last log lines of a program that exited.
    fn exit_reason(&self) -> Option<&str> {
        reason_of(&self.last_words)
    }
}

/// Replaces each name and value that is unique to a run by `*`.
fn with_wildcards(text: &str) -> String {
    let mut out = String::new();
    let line = text.lines().next().unwrap_or_default();
    for piece in line.split_inclusive(|c: char| !(c.is_alphanumeric() || "._-".contains(c))) {
        // Treat a trailing full stop as the end of a sentence, not as part of a name.
        let word = piece.trim_end_matches(|c: char| !(c.is_alphanumeric() || "_-".contains(c)));
        match varies_between_runs(word) {
            true => {
                out.push('*');
                out.push_str(&piece[word.len()..]);
            }
            false => out.push_str(piece),
        }
    }
    out.trim().to_owned()
}

/// Whether a word is a generated name, a uid, an address, a time or a large number.
fn varies_between_runs(word: &str) -> bool {
    /// The alphabet of names that the API server generates.
    const LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";
    const UID: usize = 36;
    let generated = word
        .rsplit_once('-')
        .is_some_and(|(_, end)| end.len() == 5 && end.chars().all(|c| LETTERS.contains(c)));
    let uid = word.len() >= UID && word.bytes().filter(|b| *b == b'-').count() >= 4 && {
        let tail = &word.as_bytes()[word.len() - 12..];
        tail.iter().all(u8::is_ascii_hexdigit)
    };
    let time = word
        .strip_suffix('s')
        .map(|number| number.trim_end_matches(['m', 'µ', 'n']));
    let time = time.is_some_and(|number| {
        number.starts_with(|c: char| c.is_ascii_digit()) && number.parse::<f64>().is_ok()
    });
    let address = word
        .strip_prefix("0x")
        .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    /// Minimum number of digits of a number that varies between runs, such as a port or a size. Status codes and counts are shorter.
    const DIGITS: usize = 5;
    let port = word.len() >= DIGITS && word.bytes().all(|b| b.is_ascii_digit());
    generated || uid || time || address || port
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_varies_between_runs_is_replaced_by_a_wildcard() {
        for (text, lasting) in [
            (
                "csistoragecapacities csisc-569qx (class fast)",
                "csistoragecapacities * (class fast)",
            ),
            (
                "it holds pvc-0b1cd2ef-1111-2222-3333-444455556666.",
                "it holds *.",
            ),
            ("not within 9.935s, 253ms late", "not within *, * late"),
            ("at most 40 × request to update", "at most 40 × request to update"),
            ("10Gi at n1, class fast-ssd", "10Gi at n1, class fast-ssd"),
            (
                "Post https://127.0.0.1:45575/apis",
                "Post https://127.0.0.1:*/apis",
            ),
            ("addr=0x10 is nil", "addr=* is nil"),
        ] {
            assert_eq!(with_wildcards(text), lasting);
        }
    }

    #[test]
    fn the_reason_is_selected_from_the_last_lines_of_a_program() {
        let with_last_lines = |lines: &str| FailureText {
            verdict: format!("publisher ended by itself: exit status: 2; its last lines:\n{lines}"),
            link: String::new(),
            note: String::new(),
            last_words: lines.lines().map(str::to_owned).collect(),
        };
        for (lines, lasting) in [
            (
                "I1122 06:47:39 1 a.go:1] started\nF1122 06:47:39.671347   11629 main.go:551] unexpected error\ngoroutine 1 [running]:",
                "unexpected error",
            ),
            ("panic: no class\ngoroutine 1 [running]:", "panic: no class"),
            ("one\nno socket", "no socket"),
        ] {
            let failure_text = with_last_lines(lines);
            let line = failure_text.one_line();
            assert!(
                line.contains(": exit status: 2; its last lines: ") && !line.contains('\n'),
                "{line}"
            );
            assert_eq!(failure_text.stable_pattern(), lasting);
            assert_eq!(failure_text.short_reason(), lasting);
            assert!(failure_text.matches(&FailurePattern::parse(lasting).unwrap()));
        }
    }
}
