//! Known failures of a manifest: which failure each entry excuses, for which versions of the program, and until when.
//!
//! Owns the format and validation of the entries. Does not know which cases exist or how they failed.

use std::fmt;

use jiff::civil::Date;
use semver::{Version, VersionReq};
use serde::Deserialize;
use serde_saphyr::Location;

use crate::invocation::program;
use crate::renamed;
use crate::scenario::Spanned;

/// A known failure, which is excused. The case still runs.
#[derive(Debug, Clone)]
pub struct KnownFailure {
    /// Id of the case, or a prefix of case ids that ends with `/`.
    pub case: String,
    /// Pattern of the failure message. Failures with other messages are not excused.
    pub fails: FailurePattern,
    /// Why the case fails.
    pub why: String,
    /// Issue that tracks the failure.
    pub issue: String,
    /// Last day on which the failure is excused.
    pub until: Date,
    /// How often the intermittent failure was observed; `None` if the case always fails.
    pub sometimes: Option<FailureRate>,
    /// Position of the entry, as `file:line:column`.
    pub position: String,
    /// Whether the entry applies to the program version that the manifest specifies.
    pub(super) is_of_this_version: bool,
    pub(super) location: Location,
}

/// How often a failure was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureRate {
    /// Number of observed runs of the case, excluding inconclusive ones.
    pub runs: u32,
    /// Number of observed runs that failed with the message of the entry.
    pub failed: u32,
}

/// Pattern of a failure message; `*` matches any text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct FailurePattern(String);

impl TryFrom<String> for FailurePattern {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        FailurePattern::parse(&text)
    }
}

/// Placeholder for a reason or an issue in a generated entry. A manifest that still contains the placeholder is invalid.
pub const UNWRITTEN: &str = "TODO";

/// Number of runs of a case that is enough to measure how often an intermittent failure occurs.
pub const ENOUGH_RUNS: u32 = 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct KnownFile {
    case: Spanned<String>,
    fails: Spanned<String>,
    why: Spanned<String>,
    issue: Spanned<String>,
    until: Spanned<String>,
    #[serde(default)]
    versions: Vec<Spanned<String>>,
    sometimes: Option<Spanned<FailureRate>>,
}

/// Position and message of an error in a known failure of a manifest.
pub(super) type EntryError = (Location, String);

impl KnownFailure {
    /// Whether the failure is excused today.
    pub fn is_excused(&self) -> bool {
        self.until >= jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
    }

    /// Whether the known failure applies to the case with this id.
    pub fn covers(&self, case: &str) -> bool {
        let rest = case.strip_prefix(self.case.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl FailurePattern {
    /// Parses the pattern of a failure message. Returns an error for patterns that would match almost any message.
    pub fn parse(text: &str) -> Result<Self, String> {
        /// Minimum number of letters and digits in a pattern: shorter patterns match too many messages.
        const LETTERS_MIN: usize = 8;
        let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
        if letters < LETTERS_MIN {
            return Err(format!(
                "`{text}` is too short to identify a failure; copy text of its first missing link or of its verdict"
            ));
        }
        Ok(FailurePattern(renamed::with_current_rules(text.trim())))
    }

    /// Whether the failure message contains the parts of the pattern between `*`, in this order.
    pub fn matches(&self, text: &str) -> bool {
        let mut rest = text;
        self.0.split('*').map(str::trim).all(|part| {
            let found = rest.find(part);
            rest = found.map_or("", |at| &rest[at + part.len()..]);
            found.is_some()
        })
    }
}

impl fmt::Display for FailurePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl KnownFile {
    /// Validates an entry for a version of the program. `position` formats a location in the manifest.
    pub(super) fn check(
        self,
        version: &str,
        position: impl Fn(Location) -> String,
    ) -> Result<KnownFailure, EntryError> {
        for text in [&self.why, &self.issue] {
            if text.value.trim().is_empty() || text.value.trim().eq_ignore_ascii_case(UNWRITTEN) {
                let message =
                    "the text is empty or a placeholder; write why the case fails, and the issue that tracks it"
                        .to_owned();
                return Err((text.defined, message));
            }
        }
        let until: Date = self.until.value.parse().map_err(|_| {
            let message = format!(
                "`{}` is not a date; write one such as 2027-06-30",
                self.until.value
            );
            (self.until.defined, message)
        })?;
        let fails =
            FailurePattern::parse(&self.fails.value).map_err(|message| (self.fails.defined, message))?;
        let sometimes = match &self.sometimes {
            Some(seen) => Some(seen.value.check().map_err(|message| (seen.defined, message))?),
            None => None,
        };
        Ok(KnownFailure {
            fails,
            why: self.why.value,
            issue: self.issue.value,
            until,
            sometimes,
            position: position(self.case.defined),
            is_of_this_version: is_one_of(version, &self.versions)?,
            location: self.case.defined,
            case: renamed::current_case_id(&self.case.value),
        })
    }
}

impl FailureRate {
    fn check(self) -> Result<Self, String> {
        let FailureRate { runs, failed } = self;
        if failed == 0 || failed >= runs {
            return Err(format!(
                "{failed} failures of {runs} runs are not intermittent; remove `sometimes` for a case that always fails, and the entry for one that never fails"
            ));
        }
        if runs < ENOUGH_RUNS {
            return Err(format!(
                "{runs} runs are too few for `sometimes`; measure with `{program} conformance --sut … --measure={ENOUGH_RUNS} CASE`",
                program = program()
            ));
        }
        Ok(self)
    }
}

/// Whether a program version is in at least one of the version ranges. True if there are no ranges.
fn is_one_of(version: &str, ranges: &[Spanned<String>]) -> Result<bool, EntryError> {
    let Some(first) = ranges.first() else {
        return Ok(true);
    };
    let version = parse_version(version).ok_or_else(|| {
        let message = format!(
            "`versions` cannot be compared with the manifest's version `{version}`; write a version such as v1.2.3, or remove `versions`"
        );
        (first.defined, message)
    })?;
    // A version with a pre-release suffix or build metadata also matches the ranges of its release.
    let release = Version::new(version.major, version.minor, version.patch);
    let mut is_in_range = false;
    for range in ranges {
        let range = parse_range(&range.value).ok_or_else(|| {
            let message = format!(
                "`{}` is not a version; write one such as v1.2.3, or a range such as \">=1.2.0, <1.4.0\"",
                range.value
            );
            (range.defined, message)
        })?;
        is_in_range |= range.matches(&version) || range.matches(&release);
    }
    Ok(is_in_range)
}

/// Parses the version of a program; a leading `v` is allowed.
pub fn parse_version(text: &str) -> Option<Version> {
    let text = text.trim();
    Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

/// Parses a range of program versions. A full version matches only itself; `1.2` matches every 1.2.x.
fn parse_range(text: &str) -> Option<VersionReq> {
    let comparators = text.split(',').map(|part| {
        let part = part.trim();
        let number = part.trim_start_matches(['<', '>', '=', '^', '~', ' ']);
        let operator = part[..part.len() - number.len()].trim();
        let operator = if operator.is_empty() { "=" } else { operator };
        format!("{operator}{}", number.strip_prefix('v').unwrap_or(number))
    });
    VersionReq::parse(&comparators.collect::<Vec<_>>().join(", ")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_parts_match_in_order_with_any_text_between() {
        let text = "no delete of csistoragecapacities: delete by publisher: csistoragecapacities csisc-569qx";
        for found in [
            "no delete of csistoragecapacities",
            "no delete * by publisher",
            "*delete by publisher: * csisc-*",
        ] {
            assert!(FailurePattern::parse(found).unwrap().matches(text), "{found}");
        }
        for missing in ["no create of csistoragecapacities", "by publisher * no delete of"] {
            assert!(
                !FailurePattern::parse(missing).unwrap().matches(text),
                "{missing}"
            );
        }
        for too_little in ["", "*", "never", "a * b * c"] {
            assert!(FailurePattern::parse(too_little).is_err(), "{too_little}");
        }
    }

    #[test]
    fn version_is_matched_against_versions_and_ranges() {
        let is_in = |version: &str, range: &str| {
            let (version, range) = (parse_version(version).unwrap(), parse_range(range).unwrap());
            range.matches(&version)
        };
        for (version, range) in [
            ("v6.0.0", "6.0.0"),
            ("6.0.0", "v6.0.0"),
            ("v6.3.1", "6.3"),
            ("v6.3.1", ">=v6.0.0, <v6.4.0"),
            ("v7.0.0", "> 6"),
        ] {
            assert!(is_in(version, range), "{version} {range}");
        }
        for (version, range) in [
            ("v6.0.1", "6.0.0"),
            ("v5.3.0", ">=6.0.0"),
            ("v6.4.0", ">=6.0.0, <6.4.0"),
        ] {
            assert!(!is_in(version, range), "{version} {range}");
        }
        assert!(parse_range("soon").is_none() && parse_range("").is_none());
        assert!(parse_version("master").is_none());
    }
}
