//! JSONPath as in CRDs: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`.
//!
//! Owns the supported part of kubectl's JSONPath grammar. Does not know which fields contain JSONPaths.

use serde_json::Value;

/// A compiled JSONPath. Only the first value that the path selects is used.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Member(String),
    /// Array index; negative values count from the end.
    Entry(i64),
    /// All members of an object or all entries of an array.
    Each,
    /// A filter step: selects the entries whose value at the path satisfies the comparison.
    Where(JsonPath, Comparison, Value),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    /// A filter without operator, such as `[?(@.port)]`: the value exists.
    Exists,
}

const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Less),
    (">", Comparison::More),
];

/// The value at a path of member names in a JSON object; `None` if the value is missing or `null`.
pub fn member_at<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    let found = path.iter().try_fold(object, |value, name| value.get(name));
    found.filter(|found| !found.is_null())
}

impl JsonPath {
    /// Parses a JSONPath; `None` if the syntax is not supported.
    pub fn parse(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            rest = match rest.strip_prefix('[') {
                Some(inside) => bracket(inside, &mut steps)?,
                None => member(rest.strip_prefix('.').unwrap_or(rest), &mut steps)?,
            };
        }
        Some(Self(steps))
    }

    /// The first value that the JSONPath selects; `None` if it selects no value.
    pub(crate) fn find<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        find(&self.0, object)
    }
}

/// Parses a JSONPath member name after a dot; dots in the name are escaped by a backslash.
fn member<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    let end = loop {
        match chars.next() {
            Some((_, '\\')) => name.extend(chars.next().map(|(_, c)| c)),
            Some((at, '.' | '[')) => break at,
            Some((_, c)) => name.push(c),
            None => break text.len(),
        }
    };
    match name.as_str() {
        "" if text.is_empty() => {}
        // `..` (recursive descent) is not supported.
        "" => return None,
        "*" => steps.push(Step::Each),
        _ => steps.push(Step::Member(name)),
    }
    Some(&text[end..])
}

/// Parses a JSONPath step in brackets; `text` starts after the opening bracket.
fn bracket<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let end = closing_bracket(text)?;
    let (inside, rest) = (text[..end].trim(), &text[end + 1..]);
    let step = if let Some(condition) = inside.strip_prefix("?(") {
        condition_of(condition.strip_suffix(')')?)?
    } else if inside == "*" {
        Step::Each
    } else if let Some(name) = unquoted(inside) {
        Step::Member(name.to_owned())
    } else {
        Step::Entry(inside.parse().ok()?)
    };
    steps.push(step);
    Some(rest)
}

/// Position of the closing bracket of a JSONPath step, ignoring brackets in quotes.
fn closing_bracket(text: &str) -> Option<usize> {
    let (mut quote, mut depth) = (None, 0);
    text.char_indices().find_map(|(at, c)| {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            (None, _) => {}
        }
        None
    })
}

fn unquoted(text: &str) -> Option<&str> {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('\'').or_else(|| inside('"'))
}

fn condition_of(text: &str) -> Option<Step> {
    let text = text.trim().strip_prefix('@')?;
    let found = COMPARISONS
        .iter()
        .find_map(|(sign, comparison)| Some((text.split_once(sign)?, *comparison)));
    let Some(((path, value), comparison)) = found else {
        return Some(Step::Where(
            JsonPath::parse(text)?,
            Comparison::Exists,
            Value::Null,
        ));
    };
    let value = value.trim();
    let value = match unquoted(value) {
        Some(text) => text.into(),
        None => serde_json::from_str(value).ok()?,
    };
    Some(Step::Where(JsonPath::parse(path)?, comparison, value))
}

fn find<'a>(steps: &[Step], value: &'a Value) -> Option<&'a Value> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(value);
    };
    match step {
        Step::Member(name) => find(rest, value.get(name)?),
        Step::Entry(index) => {
            let items = value.as_array()?;
            let at = match usize::try_from(*index) {
                Ok(at) => at,
                Err(_) => items
                    .len()
                    .checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?,
            };
            find(rest, items.get(at)?)
        }
        Step::Each => match value {
            Value::Array(items) => items.iter().find_map(|item| find(rest, item)),
            Value::Object(members) => members.values().find_map(|member| find(rest, member)),
            _ => None,
        },
        Step::Where(path, comparison, wanted) => {
            let mut items = value.as_array()?.iter();
            items.find_map(|item| {
                let holds = compares(path.find(item), *comparison, wanted);
                holds.then(|| find(rest, item)).flatten()
            })
        }
    }
}

fn compares(found: Option<&Value>, comparison: Comparison, wanted: &Value) -> bool {
    let Some(found) = found else { return false };
    let ordering = match (found.as_f64(), wanted.as_f64()) {
        (Some(found), Some(wanted)) => found.partial_cmp(&wanted),
        _ => found
            .as_str()
            .zip(wanted.as_str())
            .map(|(found, wanted)| found.cmp(wanted)),
    };
    match comparison {
        Comparison::Exists => true,
        Comparison::Equal => found == wanted || ordering.is_some_and(|it| it.is_eq()),
        Comparison::Unequal => found != wanted && !ordering.is_some_and(|it| it.is_eq()),
        Comparison::Less => ordering.is_some_and(|it| it.is_lt()),
        Comparison::AtMost => ordering.is_some_and(|it| it.is_le()),
        Comparison::More => ordering.is_some_and(|it| it.is_gt()),
        Comparison::AtLeast => ordering.is_some_and(|it| it.is_ge()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn paths_select_the_first_matching_value() {
        let object = json!({
            "spec": {"replicas": 3, "a.b": "x", "ports": [{"name": "p", "port": 1}, {"name": "q", "port": 2}]},
            "status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]},
        });
        for (path, value) in [
            (".spec.replicas", json!(3)),
            ("spec.replicas", json!(3)),
            (".spec.a\\.b", json!("x")),
            (".spec['a.b']", json!("x")),
            (".spec.ports[1].port", json!(2)),
            (".spec.ports[-1].name", json!("q")),
            (".spec.ports[*].name", json!("p")),
            (".spec.ports[?(@.port>1)].name", json!("q")),
            (".status.conditions[?(@.type==\"Ready\")].status", json!("True")),
            (".status.conditions[?(@.type=='Ready')].status", json!("True")),
        ] {
            let found = JsonPath::parse(path).expect(path);
            assert_eq!(found.find(&object), Some(&value), "{path}");
        }
        for path in ["..name", ".a[", ".a[x]", ".a[?(x)]"] {
            assert_eq!(JsonPath::parse(path), None, "{path}");
        }
    }

    proptest! {
        #[test]
        fn the_parser_never_panics(path in "[.\\[\\]?@a-c()='\"\\\\*0-9-]{0,24}") {
            if let Some(path) = JsonPath::parse(&path) {
                path.find(&json!({"a": [{"b": 1}], "c": {"a": "b"}}));
            }
        }
    }
}
