//! Label selectors: kube-apiserver's grammar with its error messages, and matching.

use super::tokens::{Token, Tokens};
use crate::machinery::error_list::ErrorList;
use crate::machinery::status::Status;
use crate::machinery::{json, names};
use serde_json::Value;
use std::collections::BTreeSet;

/// A list of requirements on labels. An object matches if its labels satisfy all requirements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        parse(text).map(Self).map_err(Status::bad_request)
    }

    /// Reads a `LabelSelector` object of meta/v1; `None` if it contains an unknown operator.
    pub fn from_object(selector: &Value) -> Option<Self> {
        let mut requirements: Vec<Requirement> = json::string_members(&selector["matchLabels"])
            .map(|(key, value)| Requirement {
                key: key.to_owned(),
                test: Test::In(vec![value.to_owned()]),
            })
            .collect();
        for term in selector["matchExpressions"].as_array().into_iter().flatten() {
            let values = || {
                json::texts(&term["values"])
                    .into_iter()
                    .map(str::to_owned)
                    .collect()
            };
            let test = match term["operator"].as_str()? {
                "In" => Test::In(values()),
                "NotIn" => Test::NotIn(values()),
                "Exists" => Test::Exists,
                "DoesNotExist" => Test::Absent,
                _ => return None,
            };
            let key = term["key"].as_str()?.to_owned();
            requirements.push(Requirement { key, test });
        }
        Some(Self(requirements))
    }

    /// Whether the labels of an object satisfy all requirements.
    pub fn matches(&self, object: &Value) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let labels = &object["metadata"]["labels"];
        self.0
            .iter()
            .all(|r| r.test.is_satisfied_by(labels.get(&r.key).and_then(Value::as_str)))
    }

    /// Whether the selector has no requirements and therefore matches all objects.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Test {
    fn is_satisfied_by(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|v| v.parse::<i64>().ok());
        match self {
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::In(values) => value.is_some_and(|v| values.iter().any(|x| x == v)),
            Self::NotIn(values) => value.is_none_or(|v| values.iter().all(|x| x != v)),
            Self::Greater(bound) => number().is_some_and(|n| n > *bound),
            Self::Less(bound) => number().is_some_and(|n| n < *bound),
        }
    }
}

fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut tokens = Tokens::scan(text);
    let mut requirements = Vec::new();
    loop {
        match tokens.value() {
            Token::Word(_) | Token::Symbol("!") => {}
            Token::End => return Ok(requirements),
            other => {
                return Err(format!(
                    "found '{other}', expected: !, identifier, or 'end of string'"
                ));
            }
        }
        let found = requirement(&mut tokens).map_err(|why| format!("unable to parse requirement: {why}"))?;
        requirements.push(found);
        match tokens.take_value() {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => match tokens.value() {
                Token::Word(_) | Token::Symbol("!") => {}
                other => return Err(format!("found '{other}', expected: identifier after ','")),
            },
            other => return Err(format!("found '{other}', expected: ',' or 'end of string'")),
        }
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, String> {
    let absent = tokens.value() == Token::Symbol("!");
    if absent {
        tokens.take_value();
    }
    let key = match tokens.take_value() {
        Token::Word(key) => key.to_owned(),
        other => return Err(format!("found '{other}', expected: identifier")),
    };
    let messages = names::qualified_name(&key);
    if !messages.is_empty() {
        return Err(format!("<nil>: Invalid value: {key:?}: {}", messages.join("; ")));
    }
    let ends = matches!(tokens.value(), Token::End | Token::Symbol(","));
    let test = match (absent, ends) {
        (true, _) => Test::Absent,
        (false, true) => Test::Exists,
        (false, false) => operation(&key, tokens)?,
    };
    Ok(Requirement { key, test })
}

fn operation(key: &str, tokens: &mut Tokens<'_>) -> Result<Test, String> {
    let operator = tokens.take_operator();
    let values = match operator {
        Token::Symbol("in" | "notin") => parse_value_set(tokens)?,
        Token::Symbol("=" | "==" | "!=" | ">" | "<") => BTreeSet::from([parse_exact_value(tokens)?]),
        other => return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
    };
    let values: Vec<String> = values.into_iter().collect();
    let mut errors = ErrorList::default();
    let numbers = matches!(operator, Token::Symbol(">" | "<"));
    for (at, value) in values.iter().enumerate().filter(|_| numbers) {
        if value.parse::<i64>().is_err() {
            let rule = "for 'Gt', 'Lt' operators, the value must be an integer";
            errors.invalid(format!("values[{at}]"), value.as_str(), rule);
        }
    }
    for (at, value) in values.iter().enumerate() {
        let messages = names::label_value(value);
        if !messages.is_empty() {
            errors.invalid(
                format!("values[{at}][{key}]"),
                value.as_str(),
                &messages.join("; "),
            );
        }
    }
    if !errors.is_empty() {
        return Err(errors.to_string());
    }
    let number = || values[0].parse().unwrap_or_default();
    Ok(match operator {
        Token::Symbol(">") => Test::Greater(number()),
        Token::Symbol("<") => Test::Less(number()),
        Token::Symbol("notin" | "!=") => Test::NotIn(values),
        _ => Test::In(values),
    })
}

/// Parses the label value after `=`; a missing value is the empty string.
fn parse_exact_value(tokens: &mut Tokens<'_>) -> Result<String, String> {
    if matches!(tokens.value(), Token::End | Token::Symbol(",")) {
        return Ok(String::new());
    }
    match tokens.take_value() {
        Token::Word(value) => Ok(value.to_owned()),
        other => Err(format!("found '{other}', expected: identifier")),
    }
}

/// Parses the label values in parentheses. Two adjacent commas mean an empty value between them.
fn parse_value_set(tokens: &mut Tokens<'_>) -> Result<BTreeSet<String>, String> {
    match tokens.take_value() {
        Token::Symbol("(") => {}
        other => return Err(format!("found '{other}' expected: '('")),
    }
    match tokens.value() {
        Token::Word(_) | Token::Symbol(",") => {}
        Token::Symbol(")") => {
            tokens.take_value();
            return Ok(BTreeSet::from([String::new()]));
        }
        other => return Err(format!("found '{other}', expected: ',', ')' or identifier")),
    }
    let mut values = BTreeSet::new();
    loop {
        match tokens.take_value() {
            Token::Word(value) => {
                values.insert(value.to_owned());
                match tokens.value() {
                    Token::Symbol(",") => continue,
                    Token::Symbol(")") => break,
                    other => return Err(format!("found '{other}', expected: ',' or ')'")),
                }
            }
            Token::Symbol(",") => {
                let closes = tokens.value() == Token::Symbol(")");
                if values.is_empty() || closes || tokens.value() == Token::Symbol(",") {
                    values.insert(String::new());
                }
                if closes {
                    break;
                }
            }
            other => return Err(format!("found '{other}', expected: ',', or identifier")),
        }
    }
    tokens.take_value();
    Ok(values)
}
