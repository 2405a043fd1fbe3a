//! Field sets and their operations.
//!
//! A set is a tree of path elements, sorted on each level, so that elements are found by binary search. Names are borrowed from objects
//! and their JSON. Does not know schemas or FieldsV1.

use std::borrow::Cow;
use std::cmp::Ordering;

/// One element of a field path. The order of the elements is that of FieldsV1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Element<'a> {
    /// A member of a struct or map.
    Field(Cow<'a, str>),
    /// A list entry, identified by its key fields as a JSON object.
    Key(Cow<'a, str>),
    /// A list entry, identified by its value, a JSON scalar.
    Value(Cow<'a, str>),
    /// A list entry, identified by its index.
    Index(Cow<'a, str>),
}

/// A set of field paths, such as the fields that a manager owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set<'a>(Vec<Node<'a>>);

/// A path element with the path elements below. `member`: whether the path that ends with the element is in the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node<'a> {
    pub(super) element: Element<'a>,
    pub(super) member: bool,
    pub(super) inner: Set<'a>,
}

impl Element<'_> {
    /// The element as written in conflict messages: `.image`, `[name="a"]`, `[="x"]`.
    pub(super) fn display(&self) -> String {
        match self {
            Self::Field(name) => format!(".{name}"),
            Self::Value(value) => format!("[={value}]"),
            Self::Index(place) => format!("[{place}]"),
            Self::Key(text) => {
                let keys: serde_json::Map<_, _> = serde_json::from_str(text).unwrap_or_default();
                let parts: Vec<String> = keys
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                format!("[{}]", parts.join(","))
            }
        }
    }
}

impl<'a> Set<'a> {
    /// Creates a field set from unsorted nodes. Drops nodes that contain no field.
    pub(super) fn new(mut nodes: Vec<Node<'a>>) -> Self {
        nodes.retain(Node::contains_fields);
        if !nodes.is_sorted_by(|a, b| a.element < b.element) {
            nodes.sort_by(|a, b| a.element.cmp(&b.element));
            nodes.dedup_by(|later, first| {
                let same = later.element == first.element;
                if same {
                    first.member |= later.member;
                    first.inner = std::mem::take(&mut first.inner).union(std::mem::take(&mut later.inner));
                }
                same
            });
        }
        Self(nodes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn nodes(&self) -> &[Node<'a>] {
        &self.0
    }

    pub(super) fn node(&self, element: &Element<'_>) -> Option<&Node<'a>> {
        let at = self
            .0
            .binary_search_by(|node| compare(&node.element, element))
            .ok()?;
        self.0.get(at)
    }

    pub(super) fn union(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        let mut out = Vec::with_capacity(self.0.len().max(other.0.len()));
        let (mut ours, mut theirs) = (self.0.into_iter().peekable(), other.0.into_iter().peekable());
        loop {
            let order = match (ours.peek(), theirs.peek()) {
                (None, None) => return Self(out),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.element.cmp(&b.element),
            };
            match order {
                Ordering::Less => out.extend(ours.next()),
                Ordering::Greater => out.extend(theirs.next()),
                Ordering::Equal => out.extend(ours.next().zip(theirs.next()).map(|(a, b)| Node {
                    element: a.element,
                    member: a.member || b.member,
                    inner: a.inner.union(b.inner),
                })),
            }
        }
    }

    pub(super) fn difference(self, other: &Set<'_>) -> Self {
        if self.is_empty() || other.is_empty() {
            return self;
        }
        let nodes = self
            .0
            .into_iter()
            .filter_map(|ours| match other.node(&ours.element) {
                None => Some(ours),
                Some(theirs) => Some(Node {
                    member: ours.member && !theirs.member,
                    inner: ours.inner.difference(&theirs.inner),
                    element: ours.element,
                })
                .filter(Node::contains_fields),
            });
        Self(nodes.collect())
    }

    pub(super) fn intersection(&self, other: &Set<'_>) -> Self {
        let nodes = self.0.iter().filter_map(|ours| {
            let theirs = other.node(&ours.element)?;
            let node = Node {
                element: ours.element.clone(),
                member: ours.member && theirs.member,
                inner: ours.inner.intersection(&theirs.inner),
            };
            node.contains_fields().then_some(node)
        });
        Self(nodes.collect())
    }

    /// Removes a struct field and all fields below it from the set.
    pub(super) fn drop_all(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let Some(at) = self.position(first) else { return };
        if !rest.is_empty() {
            self.0[at].inner.drop_all(rest);
        }
        if rest.is_empty() || !self.0[at].contains_fields() {
            self.0.remove(at);
        }
    }

    /// Removes a struct field from the set, but not the fields below that field.
    pub(super) fn drop_member(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let Some(at) = self.position(first) else { return };
        if rest.is_empty() {
            self.0[at].member = false;
        } else {
            self.0[at].inner.drop_member(rest);
        }
        if !self.0[at].contains_fields() {
            self.0.remove(at);
        }
    }

    /// The field set with top-level fields renamed by `rename`.
    pub(super) fn renamed(self, rename: impl Fn(&str) -> Option<&'static str>) -> Self {
        let nodes = self.0.into_iter().map(|node| match &node.element {
            Element::Field(name) => match rename(name) {
                Some(other) => Node {
                    element: Element::Field(other.into()),
                    ..node
                },
                None => node,
            },
            _ => node,
        });
        Self::new(nodes.collect())
    }

    /// All paths of the field set, such as `.spec.containers[name="a"].image`. On each level, paths that end at the level are first.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut out = Vec::new();
        self.collect("", &mut out);
        out
    }

    fn collect(&self, prefix: &str, out: &mut Vec<String>) {
        let path = |node: &Node<'_>| format!("{prefix}{}", node.element.display());
        out.extend(self.0.iter().filter(|node| node.member).map(path));
        for node in self.0.iter().filter(|node| !node.inner.is_empty()) {
            node.inner.collect(&path(node), out);
        }
    }

    fn position(&self, field: &str) -> Option<usize> {
        let field = Element::Field(field.into());
        self.0
            .binary_search_by(|node| compare(&node.element, &field))
            .ok()
    }
}

impl Node<'_> {
    fn contains_fields(&self) -> bool {
        self.member || !self.inner.is_empty()
    }
}

/// Compares two elements; their lifetimes may differ.
fn compare(a: &Element<'_>, b: &Element<'_>) -> Ordering {
    a.cmp(b)
}
