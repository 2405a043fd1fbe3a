//! Functions by name: what they take, and what they return.
//!
//! Owns the reading of `signatures.txt`. Does not know what functions do.

use super::types::CelType;
use std::collections::HashMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("signatures.txt");

/// The names of types in signatures that have no parts.
const PLAIN: [(&str, CelType<'static>); 10] = [
    ("dyn", CelType::Dyn),
    ("bool", CelType::Bool),
    ("int", CelType::Int),
    ("uint", CelType::Uint),
    ("double", CelType::Double),
    ("string", CelType::Text),
    ("bytes", CelType::Bytes),
    ("timestamp", CelType::Time),
    ("duration", CelType::Duration),
    ("null", CelType::Null),
];

/// One way to call a function.
#[derive(Debug)]
pub(super) struct Overload {
    /// The first argument stands before the name.
    pub(super) is_method: bool,
    /// Variables are the letters of the signature.
    pub(super) args: Vec<CelType<'static>>,
    pub(super) result: CelType<'static>,
}

static FUNCTIONS: LazyLock<HashMap<&'static str, Vec<Overload>>> = LazyLock::new(|| {
    let mut functions: HashMap<_, Vec<_>> = HashMap::new();
    let lines = TABLE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let names = line.split_inclusive(' ').take_while(|word| !word.contains('('));
        let (names, signature) = line.split_at(names.map(str::len).sum());
        let (signature, each) = signature.split_once(" for ").unwrap_or((signature, ""));
        let each: Vec<&'static str> = each.split_whitespace().collect();
        for name in names.split_whitespace() {
            let overloads = functions.entry(name).or_default();
            match each.is_empty() {
                true => overloads.push(read(signature, "")),
                false => overloads.extend(each.iter().map(|each| read(signature, each))),
            }
        }
    }
    functions
});

/// The ways to call a function, the first that fits first; none if there is no such function.
pub(super) fn overloads(name: &str) -> Option<&'static [Overload]> {
    FUNCTIONS.get(name).map(Vec::as_slice)
}

fn read(signature: &'static str, each: &'static str) -> Overload {
    let mut reader = Reader {
        rest: signature,
        each,
    };
    let is_method = !signature.starts_with('(');
    let mut args = Vec::new();
    if is_method {
        args.push(reader.of());
        reader.skip(".");
    }
    args.extend(reader.list());
    reader.skip(" -> ");
    let result = reader.of();
    debug_assert!(reader.rest.is_empty(), "{signature}");
    Overload {
        is_method,
        args,
        result,
    }
}

/// Reads types.
struct Reader {
    rest: &'static str,
    /// What X stands for.
    each: &'static str,
}

impl Reader {
    fn skip(&mut self, text: &str) {
        self.rest = self.rest.strip_prefix(text).unwrap_or(self.rest);
    }

    fn word(&mut self) -> &'static str {
        let end = self.rest.find([' ', ',', '(', ')']).unwrap_or(self.rest.len());
        let word = self.rest[..end].trim_end_matches('.');
        self.rest = &self.rest[word.len()..];
        word
    }

    /// Types in parentheses.
    fn list(&mut self) -> Vec<CelType<'static>> {
        self.skip("(");
        let mut types = Vec::new();
        while !self.rest.starts_with(')') {
            types.push(self.of());
            self.skip(", ");
        }
        self.skip(")");
        types
    }

    fn of(&mut self) -> CelType<'static> {
        let word = self.word();
        if word == "X" {
            let mut reader = Reader {
                rest: self.each,
                each: "",
            };
            return reader.of();
        }
        if let Some((_, of)) = PLAIN.iter().find(|(name, _)| *name == word) {
            return of.clone();
        }
        if let &[letter] = word.as_bytes() {
            return CelType::Variable(u32::from(letter - b'A'));
        }
        if !self.rest.starts_with('(') {
            return CelType::Library(word);
        }
        let mut parts = self.list().into_iter();
        let mut next = || parts.next().unwrap_or(CelType::Dyn);
        match word {
            "list" => CelType::list(next()),
            "optional" => CelType::optional(next()),
            "type" => CelType::Type(next().into()),
            _ => CelType::map(next(), next()),
        }
    }
}
