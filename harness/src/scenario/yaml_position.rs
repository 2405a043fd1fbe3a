//! Finds the keys and words around a position in a valid YAML document. Does not know any key.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use crate::renamed::old_of;

/// Line and column in a YAML document, from 1.
type Position = (u64, u64);

/// The YAML key, list or word at a position, and the word before the position.
#[derive(Default)]
pub(super) struct PositionContext {
    /// The YAML key that starts at the position. None if a map starts at the position.
    pub(super) key: Option<Key>,
    /// The YAML key whose value starts at the position.
    pub(super) value_of: Option<String>,
    /// The YAML key whose list has an item that starts at the position.
    pub(super) entry_of: Option<String>,
    /// The last word before the position, and the position of that word.
    pub(super) word_before: Option<(Position, String)>,
}

/// A YAML key and the map that contains the key.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) name: String,
    /// The first key of the map that contains the key.
    pub(super) first: String,
    /// If the map that contains the key is the value of another key: the name of the outer key.
    pub(super) map_of: Option<String>,
    /// If the map that contains the key is an item of a list: the key of the list.
    pub(super) list_of: Option<String>,
}

/// Position of the value at this path of YAML keys. None if a key does not exist or the text is not valid YAML.
pub(super) fn position_of(text: &str, path: &[&str]) -> Option<(u64, u64)> {
    let document = Node::read(text)?;
    let found = path.iter().try_fold(&document, |node, key| match &node.0.value {
        Content::Map(entries) => entries
            .iter()
            .find(|(name, _)| name.value == *key || old_of(key) == Some(name.value.as_str()))
            .map(|(_, value)| value),
        _ => None,
    });
    found.map(Node::position)
}

impl PositionContext {
    /// The YAML keys and words around a position. None if the text is not valid YAML.
    pub(super) fn of(text: &str, position: Position) -> Option<Self> {
        let document = Node::read(text)?;
        let mut context = PositionContext::default();
        context.visit(&document, position, None, None);
        Some(context)
    }

    /// Beginning of an error message: the YAML key or list, followed by a verb.
    pub(super) fn sentence_start(&self) -> String {
        match (&self.value_of, &self.entry_of) {
            (Some(key), _) => format!("`{key}` takes"),
            (None, Some(key)) => format!("an entry of `{key}` is"),
            (None, None) => "this has to be".to_owned(),
        }
    }

    /// Visits a value of a YAML key (`key`) or of a list (`list`: the key whose value is the list).
    fn visit(&mut self, node: &Node, position: Position, key: Option<&str>, list: Option<&str>) {
        let at = node.position();
        if at == position {
            self.value_of = key.map(str::to_owned);
            self.entry_of = list.map(str::to_owned);
        }
        match &node.0.value {
            Content::Word(word) => self.record_word(at, word, position),
            Content::List(entries) => {
                for entry in entries {
                    self.visit(entry, position, None, key);
                }
            }
            Content::Map(entries) => {
                let first = entries.first().map_or("", |(name, _)| name.value.as_str());
                for (name, value) in entries {
                    let at = (name.referenced.line(), name.referenced.column());
                    if at == position && at != node.position() {
                        self.key = Some(Key {
                            name: name.value.clone(),
                            first: first.to_owned(),
                            map_of: key.map(str::to_owned),
                            list_of: list.map(str::to_owned),
                        });
                    }
                    self.record_word(at, &name.value, position);
                    self.visit(value, position, Some(&name.value), None);
                }
            }
        }
    }

    fn record_word(&mut self, at: Position, word: &str, position: Position) {
        if at < position && !word.is_empty() {
            self.word_before = Some((at, word.to_owned()));
        }
    }
}

struct Node(Spanned<Content>);

enum Content {
    Word(String),
    List(Vec<Node>),
    Map(Vec<(Spanned<String>, Node)>),
}

/// Maximum nesting depth of a case file or a manifest.
pub(super) const DEPTH_MAX: usize = 32;

impl Node {
    /// Parses a YAML document. None if the text is not valid YAML or contains several documents.
    fn read(text: &str) -> Option<Node> {
        /// Stack size: the parser needs 33 KiB per nesting level in a debug build.
        const STACK: usize = 4 << 20;
        let read = || {
            let budget = serde_saphyr::budget! { max_depth: DEPTH_MAX };
            let options = serde_saphyr::options! { with_snippet: false, budget: budget };
            serde_saphyr::from_str_with_options(text, options).ok()
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, read).ok()?.join().ok()?
        })
    }

    fn position(&self) -> Position {
        (self.0.referenced.line(), self.0.referenced.column())
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Node)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyContent)
    }
}

struct AnyContent;

impl<'de> Visitor<'de> for AnyContent {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E: Error>(self) -> Result<Content, E> {
        Ok(Content::Word(String::new()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Content, E> {
        Ok(Content::Word(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Content, E> {
        Ok(Content::Word(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Content, E> {
        Ok(Content::Word(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Content, E> {
        Ok(Content::Word(value.to_string()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Word(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element()? {
            entries.push(entry);
        }
        Ok(Content::List(entries))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Content::Map(entries))
    }
}
