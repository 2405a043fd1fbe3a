//! What a case says of answers of the driver: relations between figures, not figures alone, because only the driver knows what it has.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use super::{FromShort, Short, Size};

/// In relations: the object that is published for the class and the segment of the answer.
pub(crate) const PUBLISHED: &str = "published";

/// What one answer must be: figure → relation, or relations of which one is enough.
pub type AnswerSpec = BTreeMap<String, Short<Relations>>;

/// A figure is as one of these says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relations {
    /// The relations.
    #[serde(rename = "oneOf")]
    pub any: Vec<Relation>,
}

impl FromShort for Relations {
    const EXPECTING: &'static str = "a relation such as `>= 0`, `= before.available - made.bytes`, `absent`, \
                                     `dns-subdomain`, or a text; or a list of which one is enough";
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

/// What a figure must be.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Relation {
    /// Not reported.
    Absent,
    /// A DNS subdomain of at most 63 characters, as CSI demands of a plugin's name (GetPluginInfo).
    DnsSubdomain,
    /// A number that compares so.
    Compared(Comparison, Expression),
    /// That text.
    Text(String),
}

impl Relation {
    /// Whether a figure is so, given numbers by answer and name. A comparison of texts is not known here.
    pub fn holds(&self, got: Option<&Value>, figure: &impl Fn(&str, &str) -> Option<i128>) -> bool {
        match (self, got) {
            (Relation::Absent, got) => got.is_none(),
            (_, None) => false,
            (Relation::DnsSubdomain, Some(got)) => got.as_str().is_some_and(is_subdomain),
            (Relation::Text(text), Some(got)) => got.as_str() == Some(text),
            (Relation::Compared(comparison, right), Some(got)) => {
                let pair = (got.as_i64(), right.value(figure));
                // Figures of one answer are compared by order alone, and exactly.
                let compares_answers = *comparison == Comparison::Equal || right.terms.len() > 1;
                let tolerance = match compares_answers && right.has_free_space() {
                    true => TOLERANCE,
                    false => 0,
                };
                matches!(pair, (Some(left), Ok(right)) if comparison.holds_within(left.into(), right, tolerance))
            }
        }
    }
}

/// Words of lower or upper case letters, digits and dashes, joined by dots, of 63 characters in all (CSI, "GetPluginInfo").
fn is_subdomain(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let is_word = |word: &str| {
        word.chars().all(is_inner) && is_edge(word.chars().next()) && is_edge(word.chars().last())
    };
    name.len() <= 63 && name.split('.').all(is_word)
}

/// Bytes by which figures of free space of two answers may differ and count as equal: the free space of a file system that others write to moves by some
/// blocks. The volumes of cases have 1Gi and more.
const TOLERANCE: i128 = 1 << 20;

/// The figures of free space, in answers of GetCapacity and in published objects.
const FREE_SPACE: [&str; 5] = ["available", "room", "maximum", "minimum", "capacity"];

/// How two numbers compare.
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

/// The longer ones first, so that none is taken for the beginning of another.
const COMPARISONS: [(&str, Comparison); 5] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    ("=", Comparison::Equal),
    (">", Comparison::More),
    ("<", Comparison::Less),
];

impl Comparison {
    /// The comparison that a text begins with, and what comes after it.
    pub(super) fn split(text: &str) -> Option<(Self, &str)> {
        COMPARISONS
            .iter()
            .find_map(|(sign, comparison)| Some((*comparison, text.strip_prefix(sign)?)))
    }

    /// Whether it holds.
    pub fn holds<N: PartialOrd + Copy>(self, left: N, right: N) -> bool {
        match self {
            Comparison::AtLeast => left >= right,
            Comparison::AtMost => left <= right,
            Comparison::Equal => left == right,
            Comparison::More => left > right,
            Comparison::Less => left < right,
        }
    }

    /// The same for numbers of bytes, of which so many make no difference.
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
        Ok(match (Comparison::split(text), text) {
            (Some((comparison, rest)), _) => Relation::Compared(comparison, Expression::parse(rest)?),
            (None, "absent") => Relation::Absent,
            (None, "dns-subdomain") => Relation::DnsSubdomain,
            // A bare figure is one that it equals.
            (None, text) => match Expression::parse(text) {
                Ok(figure) if text.starts_with(|c: char| c.is_ascii_digit()) => {
                    Relation::Compared(Comparison::Equal, figure)
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

/// A sum of figures and sizes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Expression {
    text: String,
    terms: Vec<(i128, Term)>,
}

/// One term of a sum.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    Bytes(i128),
    /// A figure of an answer.
    Figure(String, String),
}

impl FromShort for Expression {
    const EXPECTING: &'static str =
        "a size such as `1Gi`, or a figure of an answer such as `before.room + 1`";
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
    /// Reads terms joined by ` + ` and ` - `.
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

    /// Its value, given figures by answer and name; the error names the figure that is not there.
    pub fn value(&self, figure: impl Fn(&str, &str) -> Option<i128>) -> Result<i128, String> {
        let mut sum: i128 = 0;
        for (sign, term) in &self.terms {
            let value = match term {
                Term::Bytes(bytes) => *bytes,
                Term::Figure(answer, name) => {
                    figure(answer, name).ok_or_else(|| format!("there is no {answer}.{name}"))?
                }
            };
            let wide = || format!("{} has no sum in 128 bits", self.text);
            sum = sum.checked_add(sign * value).ok_or_else(wide)?;
        }
        Ok(sum)
    }

    /// The figure that it is, if it is nothing more.
    pub fn figure(&self) -> Option<(&str, &str)> {
        match self.terms.as_slice() {
            [(1, Term::Figure(answer, name))] => Some((answer, name)),
            _ => None,
        }
    }

    /// Whether it has a figure of free space, which moves while others write.
    fn has_free_space(&self) -> bool {
        let mut terms = self.terms.iter();
        terms.any(|(_, term)| matches!(term, Term::Figure(_, name) if FREE_SPACE.contains(&name.as_str())))
    }

    /// The answers that it names.
    pub fn answers(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().filter_map(|(_, term)| match term {
            Term::Figure(answer, _) => Some(answer.as_str()),
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
        Some((answer, name)) if answer.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            Ok(Term::Figure(answer.to_owned(), name.to_owned()))
        }
        _ => Ok(Term::Bytes(Size::parse(word)?.bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i128, String> {
        let figure = |answer: &str, name: &str| (answer == "a" && name == "room").then_some(10);
        Expression::parse(text)?.value(figure)
    }

    #[test]
    fn sums_have_figures_and_sizes() {
        for (text, sum) in [
            ("1Ki", 1024),
            ("a.room", 10),
            ("a.room + 1", 11),
            ("1Ki - a.room", 1014),
        ] {
            assert_eq!(value(text), Ok(sum), "{text}");
        }
        assert_eq!(value("b.room").unwrap_err(), "there is no b.room");
        for wrong in ["", "a.room +", "a.room 1", "lots"] {
            assert!(Expression::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn relations_read_as_they_are_written() {
        for text in [">= 0", "<= a.room", "= a.room - 1", "absent", "OK"] {
            assert_eq!(Relation::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Relation::parse("dns-subdomain"), Ok(Relation::DnsSubdomain));
        assert!(Relation::parse("= lots").is_err());
        assert_eq!(Relation::parse("10Gi"), Relation::parse("= 10Gi"));
        assert_eq!(Relation::parse("1.2.3"), Ok(Relation::Text("1.2.3".to_owned())));
    }

    #[test]
    fn figures_of_two_answers_may_differ_by_some_blocks() {
        let figure = |_: &str, _: &str| Some(10 << 30);
        let holds = |text: &str, left: i64| {
            let relation = Relation::parse(text).unwrap();
            relation.holds(Some(&left.into()), &figure)
        };
        assert!(holds("= a.available", (10 << 30) - 8192));
        assert!(holds(">= a.available - 1Gi", (9 << 30) - 8192));
        assert!(
            !holds(">= a.available", (10 << 30) - 8192),
            "they may be of one answer"
        );
        assert!(!holds("= a.available", (10 << 30) - (2 << 20)));
        assert!(!holds("< a.available", 10 << 30));
        assert!(!holds("= 10Gi", (10 << 30) - 8192), "a size of the case is exact");
        assert!(!holds("= a.getCapacity", 0), "so is a flag");
    }

    #[test]
    fn equal_is_told_from_more_and_less() {
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
    fn a_plugin_name_is_a_subdomain() {
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
