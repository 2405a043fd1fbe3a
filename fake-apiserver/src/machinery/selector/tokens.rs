//! Tokens of label selectors. Owns the lexer; does not know the grammar.

use std::fmt;

/// A token of a label selector. `in` and `notin` are operators where an operator is expected, and words elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    Symbol(&'static str),
    End,
}

/// The symbols of label selectors, in an order in which the longest match is first: a symbol precedes its prefixes.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", "<", ">"];
const WORDS: [&str; 2] = ["in", "notin"];
const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// The lexer. Contains the part of the selector that is not read yet.
pub(super) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    pub(super) fn scan(text: &'a str) -> Self {
        // Go's lexer treats a zero byte as the end of the selector.
        let end = text.find('\0').unwrap_or(text.len());
        Self { rest: &text[..end] }
    }

    /// Peeks at the next token where a key or value is expected.
    pub(super) fn value(&self) -> Token<'a> {
        as_value(self.next().0)
    }

    pub(super) fn take_value(&mut self) -> Token<'a> {
        as_value(self.take_operator())
    }

    pub(super) fn take_operator(&mut self) -> Token<'a> {
        let (token, rest) = self.next();
        self.rest = rest;
        token
    }

    fn next(&self) -> (Token<'a>, &'a str) {
        let text = self.rest.trim_start_matches(SPACE);
        if text.is_empty() {
            return (Token::End, "");
        }
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| text.starts_with(**symbol)) {
            return (Token::Symbol(symbol), &text[symbol.len()..]);
        }
        let end = text
            .find(|c: char| SPACE.contains(&c) || "=!(),<>".contains(c))
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let symbol = WORDS.iter().find(|known| **known == word);
        (symbol.map_or(Token::Word(word), |word| Token::Symbol(word)), rest)
    }
}

fn as_value(token: Token<'_>) -> Token<'_> {
    match token {
        Token::Symbol(word @ ("in" | "notin")) => Token::Word(word),
        other => other,
    }
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Word(text) => text,
            Self::Symbol(text) => text,
            Self::End => "",
        })
    }
}
