//! Conditions on driver responses in a case. They relate fields to each other, because only the driver knows its capacity.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use super::{FromShort, Short, Size};

/// Name that stands, in relations, for the CSIStorageCapacity object of the response's class and segment.
pub(crate) const PUBLISHED: &str = "published";

/// Conditions on one response: field → relation, or a list of relations of which at least one must hold.
pub type ResponseSpec = BTreeMap<String, Short<Relations>>;

/// Relations for a field of a driver response. At least one must hold.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relations {
    /// The alternative relations.
    #[serde(rename = "oneOf")]
    pub any: Vec<Relation>,
}

impl FromShort for Relations {
    const EXPECTING: &'static str = "a relation such as `>= 0`, `= before.available - made.bytes`, `absent`, \
                                     `dns-subdomain`, or a text; or a list of alternatives";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(Relations {
            any: vec![Relation::parse(text)?],
        })
    }

    fn from_list(list: Vec<String>) -> Result<Self, String> {
        let any = list.iter().map(|text| Relation::parse(text));
        Ok(Relations {
            any: any.collect::<Result<_, _>>()?,
        })
    }
}

/// A condition on a field of a driver response.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Relation {
    /// The field is not set in the response.
    Absent,
    /// The field is a DNS subdomain of at most 63 characters, as CSI requires for the plugin name (GetPluginInfo).
    DnsSubdomain,
    /// The field is a number, and its comparison with the value of the expression holds.
    Compared(Comparison, Expression),
    /// The field is a string equal to this string.
    Text(String),
}

impl Relation {
    /// Whether a field with the value `got` satisfies the relation. `field` returns the number in a field, by response and field name. Does
    /// not compare strings of two responses.
    pub fn holds(&self, got: Option<&Value>, field: &impl Fn(&str, &str) -> Option<i128>) -> bool {
        match (self, got) {
            (Relation::Absent, got) => got.is_none(),
            (_, None) => false,
            (Relation::DnsSubdomain, Some(got)) => got.as_str().is_some_and(is_subdomain),
            (Relation::Text(text), Some(got)) => got.as_str() == Some(text),
            (Relation::Compared(comparison, right), Some(got)) => {
                let pair = (got.as_i64(), right.value(field));
                // An inequality with a single term usually compares fields of the same response, so it has no tolerance.
                let compares_responses = *comparison == Comparison::Equal || right.terms.len() > 1;
                let tolerance = match compares_responses && right.has_free_space() {
                    true => TOLERANCE,
                    false => 0,
                };
                matches!(pair, (Some(left), Ok(right)) if comparison.holds_within(left.into(), right, tolerance))
            }
        }
    }
}

/// Whether a text consists of labels with letters, digits and dashes, joined by dots, with at most 63 characters (CSI spec, GetPluginInfo).
fn is_subdomain(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let is_word = |word: &str| {
        word.chars().all(is_inner) && is_edge(word.chars().next()) && is_edge(word.chars().last())
    };
    name.len() <= 63 && name.split('.').all(is_word)
}

/// Tolerance in bytes for comparing the free space in two responses, which changes by some blocks while other processes write to a
/// filesystem. Volumes of cases have at least 1Gi.
const TOLERANCE: i128 = 1 << 20;

/// Names of the fields that contain free space, in GetCapacity responses and CSIStorageCapacity objects.
const FREE_SPACE: [&str; 5] = ["available", "room", "maximum", "minimum", "capacity"];

/// A comparison of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
    /// `=`
    Equal,
    /// `>`
    More,
    /// `<`
    Less,
}

/// The comparison operators and their spelling. `>=` precedes `>`, because `>` is a prefix of `>=`.
const COMPARISONS: [(&str, Comparison); 5] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    ("=", Comparison::Equal),
    (">", Comparison::More),
    ("<", Comparison::Less),
];

impl Comparison {
    pub(super) fn split_operator(text: &str) -> Option<(Self, &str)> {
        COMPARISONS
            .iter()
            .find_map(|(sign, comparison)| Some((*comparison, text.strip_prefix(sign)?)))
    }

    /// Whether the comparison of `left` with `right` holds.
    pub fn holds<N: PartialOrd + Copy>(self, left: N, right: N) -> bool {
        match self {
            Comparison::AtLeast => left >= right,
            Comparison::AtMost => left <= right,
            Comparison::Equal => left == right,
            Comparison::More => left > right,
            Comparison::Less => left < right,
        }
    }

    /// Compares numbers of bytes with a tolerance.
    fn holds_within(self, left: i128, right: i128, tolerance: i128) -> bool {
        match self {
            Comparison::AtLeast => left >= right - tolerance,
            Comparison::AtMost => left <= right + tolerance,
            Comparison::Equal => (left - right).abs() <= tolerance,
            Comparison::More | Comparison::Less => self.holds(left, right),
        }
    }
}

impl Relation {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(match (Comparison::split_operator(text), text) {
            (Some((comparison, rest)), _) => Relation::Compared(comparison, Expression::parse(rest)?),
            (None, "absent") => Relation::Absent,
            (None, "dns-subdomain") => Relation::DnsSubdomain,
            // A size without an operator is compared for equality.
            (None, text) => match Expression::parse(text) {
                Ok(field) if text.starts_with(|c: char| c.is_ascii_digit()) => {
                    Relation::Compared(Comparison::Equal, field)
                }
                _ => Relation::Text(text.to_owned()),
            },
        })
    }
}

impl TryFrom<String> for Relation {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Relation::parse(&text)
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Relation::Absent => f.write_str("absent"),
            Relation::DnsSubdomain => f.write_str("a DNS subdomain of at most 63 characters"),
            Relation::Compared(comparison, right) => write!(f, "{comparison} {right}"),
            Relation::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = COMPARISONS.iter().find(|(_, it)| it == self);
        f.write_str(sign.map_or("", |(sign, _)| sign))
    }
}

/// A sum of response fields and sizes, such as `before.room + 1`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Expression {
    text: String,
    terms: Vec<(i128, Term)>,
}

/// A response field or a size in a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    Bytes(i128),
    /// A field of a driver response, as (response, field).
    Field(String, String),
}

impl FromShort for Expression {
    const EXPECTING: &'static str =
        "a size such as `1Gi`, or a field of a response such as `before.room + 1`";
    fn from_short(text: &str) -> Result<Self, String> {
        Expression::parse(text)
    }
}

impl TryFrom<String> for Expression {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Expression::parse(&text)
    }
}

impl Expression {
    /// Parses terms that are joined by ` + ` and ` - `.
    fn parse(text: &str) -> Result<Self, String> {
        let mut terms = Vec::new();
        let mut sign = Some(1);
        for word in text.split_whitespace() {
            match (sign, word) {
                (None, "+") => sign = Some(1),
                (None, "-") => sign = Some(-1),
                (Some(now), word) => {
                    terms.push((now, term(word)?));
                    sign = None;
                }
                (None, _) => return Err(format!("`{text}` needs + or - before `{word}`")),
            }
        }
        if sign.is_some() {
            return Err(format!("`{}` is no sum; write {}", text.trim(), Self::EXPECTING));
        }
        Ok(Expression {
            text: text.trim().to_owned(),
            terms,
        })
    }

    /// Evaluates the sum. `field` returns the number in a response field by response and field name. The error names the missing field.
    pub fn value(&self, field: impl Fn(&str, &str) -> Option<i128>) -> Result<i128, String> {
        let mut sum: i128 = 0;
        for (sign, term) in &self.terms {
            let value = match term {
                Term::Bytes(bytes) => *bytes,
                Term::Field(response, name) => {
                    field(response, name).ok_or_else(|| format!("response {response} has no field {name}"))?
                }
            };
            let wide = || format!("{} has no sum in 128 bits", self.text);
            sum = sum.checked_add(sign * value).ok_or_else(wide)?;
        }
        Ok(sum)
    }

    /// Response and field name, if the expression consists of a single field and nothing else.
    pub fn field(&self) -> Option<(&str, &str)> {
        match self.terms.as_slice() {
            [(1, Term::Field(response, name))] => Some((response, name)),
            _ => None,
        }
    }

    /// Whether the expression contains a field with free space, which changes while other processes write.
    fn has_free_space(&self) -> bool {
        let mut terms = self.terms.iter();
        terms.any(|(_, term)| matches!(term, Term::Field(_, name) if FREE_SPACE.contains(&name.as_str())))
    }

    /// Names of the responses to which the expression refers.
    pub fn responses(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().filter_map(|(_, term)| match term {
            Term::Field(response, _) => Some(response.as_str()),
            Term::Bytes(_) => None,
        })
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn term(word: &str) -> Result<Term, String> {
    match word.split_once('.') {
        Some((response, name)) if response.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            Ok(Term::Field(response.to_owned(), name.to_owned()))
        }
        _ => Ok(Term::Bytes(Size::parse(word)?.bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i128, String> {
        let field = |response: &str, name: &str| (response == "a" && name == "room").then_some(10);
        Expression::parse(text)?.value(field)
    }

    #[test]
    fn expressions_add_and_subtract_fields_and_sizes() {
        for (text, sum) in [
            ("1Ki", 1024),
            ("a.room", 10),
            ("a.room + 1", 11),
            ("1Ki - a.room", 1014),
        ] {
            assert_eq!(value(text), Ok(sum), "{text}");
        }
        assert_eq!(value("b.room").unwrap_err(), "response b has no field room");
        for wrong in ["", "a.room +", "a.room 1", "lots"] {
            assert!(Expression::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn relations_format_as_they_parse() {
        for text in [">= 0", "<= a.room", "= a.room - 1", "absent", "OK"] {
            assert_eq!(Relation::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Relation::parse("dns-subdomain"), Ok(Relation::DnsSubdomain));
        assert!(Relation::parse("= lots").is_err());
        assert_eq!(Relation::parse("10Gi"), Relation::parse("= 10Gi"));
        assert_eq!(Relation::parse("1.2.3"), Ok(Relation::Text("1.2.3".to_owned())));
    }

    #[test]
    fn free_space_of_two_responses_may_differ_by_some_blocks() {
        let field = |_: &str, _: &str| Some(10 << 30);
        let holds = |text: &str, left: i64| {
            let relation = Relation::parse(text).unwrap();
            relation.holds(Some(&left.into()), &field)
        };
        assert!(holds("= a.available", (10 << 30) - 8192));
        assert!(holds(">= a.available - 1Gi", (9 << 30) - 8192));
        assert!(
            !holds(">= a.available", (10 << 30) - 8192),
            "both fields may be of one response"
        );
        assert!(!holds("= a.available", (10 << 30) - (2 << 20)));
        assert!(!holds("< a.available", 10 << 30));
        assert!(!holds("= 10Gi", (10 << 30) - 8192), "literal sizes are exact");
        assert!(!holds("= a.getCapacity", 0), "flags are exact");
    }

    #[test]
    fn comparisons_distinguish_less_equal_and_more() {
        let holds = |text: &str, left| match Relation::parse(text).unwrap() {
            Relation::Compared(comparison, right) => {
                comparison.holds(left, right.value(|_, _| None).unwrap())
            }
            other => panic!("{other}"),
        };
        for (text, below, equal, above) in [
            (">= 5", false, true, true),
            ("<= 5", true, true, false),
            ("= 5", false, true, false),
            ("> 5", false, false, true),
            ("< 5", true, false, false),
        ] {
            assert_eq!(
                [4, 5, 6].map(|left| holds(text, left)),
                [below, equal, above],
                "{text}"
            );
        }
    }

    #[test]
    fn plugin_names_are_dns_subdomains_of_at_most_63_characters() {
        let long = "a".repeat(63);
        for (name, is_one) in [
            ("hostpath.csi.k8s.io", true),
            ("disk", true),
            (long.as_str(), true),
            ("", false),
            ("disk_1.example.com", false),
            ("-disk.example.com", false),
            ("disk..example.com", false),
            (&format!("{long}a"), false),
        ] {
            assert_eq!(is_subdomain(name), is_one, "{name}");
        }
    }
}
