//! FieldsV1: the JSON form of field sets.
//!
//! A JSON object has one member per path element; the prefix of its name is the type of the element (`f:` field, `k:` key, `v:` value, `i:`
//! index). An empty object means that the path is in the set; if the path has inner elements, the member `.` means so.

use super::set::{Element, Node, Set};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

/// Maximum nesting depth of a field set: clients can send field sets of any depth.
const DEPTH_MAX: usize = 64;

pub(super) fn write(set: &Set<'_>, member: bool, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut first = true;
    if member && !set.is_empty() {
        out.extend(br#"".":{}"#);
        first = false;
    }
    for node in set.nodes() {
        if !first {
            out.push(b',');
        }
        first = false;
        write_name(&node.element, out);
        out.push(b':');
        write(&node.inner, node.member, out);
    }
    out.push(b'}');
}

fn write_name(element: &Element<'_>, out: &mut Vec<u8>) {
    let (letter, text) = match element {
        Element::Field(text) => (b'f', text),
        Element::Key(text) => (b'k', text),
        Element::Value(text) => (b'v', text),
        Element::Index(text) => (b'i', text),
    };
    out.extend([b'"', letter, b':']);
    if text
        .bytes()
        .all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
    {
        out.extend(text.as_bytes());
        out.push(b'"');
        return;
    }
    let begin = out.len();
    write_text(text, out);
    // Removes the opening quote that `write_text` wrote, because the name already starts with a quote.
    out.remove(begin);
}

/// Serializes a string as JSON.
pub(super) fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("strings always serialize into memory");
}

/// Deserializes a field set, for `#[serde(deserialize_with)]`.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Set<'de>, D::Error> {
    let (_, set) = Level(DEPTH_MAX).deserialize(deserializer)?;
    Ok(set)
}

/// Deserializer of one nesting level; the number limits the levels below. Returns whether the path of the level is in the set, and the
/// fields below the path.
struct Level(usize);

impl<'de> DeserializeSeed<'de> for Level {
    type Value = (bool, Set<'de>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = (bool, Set<'de>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a set of fields")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok((true, Set::default()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let rest = self.0.checked_sub(1);
        let rest = rest.ok_or_else(|| A::Error::custom("the FieldsV1 set is nested too deep"))?;
        let (mut member, mut nodes) = (true, Vec::new());
        let mut dotted = false;
        while let Some(name) = members.next_key_seed(Name)? {
            member = false;
            if name == "." {
                dotted = true;
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let Some(element) = element(&name).map_err(A::Error::custom)? else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let (member, inner) = members.next_value_seed(Level(rest))?;
            nodes.push(Node {
                element,
                member,
                inner,
            });
        }
        Ok((member || dotted, Set::new(nodes)))
    }
}

/// Parses the member name of a FieldsV1 object as path element. `None` for unknown element types, which are ignored.
fn element<'a>(name: &Cow<'a, str>) -> Result<Option<Element<'a>>, String> {
    let bad = || format!("{name:?} is not a FieldsV1 path element");
    if name.as_bytes().get(1) != Some(&b':') {
        return Err(bad());
    }
    let letter = name.as_bytes()[0];
    let text = match name {
        Cow::Borrowed(name) => Cow::Borrowed(&name[2..]),
        Cow::Owned(name) => Cow::Owned(name[2..].to_owned()),
    };
    Ok(Some(match letter {
        b'f' => Element::Field(text),
        b'k' => {
            let keys: Map<String, Value> = serde_json::from_str(&text).map_err(|_| bad())?;
            Element::Key(Value::Object(keys).to_string().into())
        }
        b'v' => {
            let value: Value = serde_json::from_str(&text).map_err(|_| bad())?;
            Element::Value(value.to_string().into())
        }
        b'i' if text.parse::<i64>().is_ok() => Element::Index(text),
        b'i' => return Err(bad()),
        _ => return Ok(None),
    }))
}

/// Deserializer of a FieldsV1 member name. Borrows the name unless it contains escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a path element")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}
