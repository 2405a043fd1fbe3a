//! The nesting depth of a CEL expression, measured before parsing, because parser and evaluator recurse to that depth.

/// Maximum number of code points in an expression (cel-go: `ExpressionSizeCodePointLimit`).
const SIZE: usize = 100_000;

/// Maximum nesting depth of an expression (cel-go: `MaxRecursionDepth`).
const DEPTH: usize = 250;
const TOO_DEEP: &str = "expression recursion limit exceeded: 250";
/// The error message for consecutive `!`: the parser of `cel` 0.13 drops all but one of them.
const NOT_NOT: &str = "'!' before '!' is not supported";

/// The nesting depth of an expression, or cel-go's error if the expression is too long or nested too deep.
///
/// Computed from the tokens, without recursion: brackets, and within each pair of brackets the operators and the longest chain of
/// selections between two separators. The result is never less than the depth of cel-go's syntax tree.
pub(super) fn nesting_depth(text: &str) -> Result<usize, String> {
    let size = text.chars().count();
    if size > SIZE {
        let why = format!("expression code point size exceeds limit: size: {size}, limit {SIZE}");
        return Err(failure(&why));
    }
    measure(text.as_bytes()).map_err(failure)
}

fn failure(why: &str) -> String {
    format!("compilation failed: ERROR: <input>:-1:0: {why}")
}

/// Counts of operators and selections in one pair of brackets since the last comma.
#[derive(Clone, Copy, Default)]
struct Level {
    conditionals: usize,
    /// Operators since the last `&&` or `||`. Chains of `&&` and `||` are parsed into a balanced tree.
    operators: usize,
    /// Selections and indexes of the current operand.
    chain: usize,
    longest: usize,
}

impl Level {
    fn depth(self) -> usize {
        1 + self.conditionals + self.operators + self.longest.max(self.chain)
    }

    fn count_operator(&mut self) {
        self.operators += 1;
        self.longest = self.longest.max(self.chain);
        self.chain = 0;
    }

    fn start_operand(&mut self) {
        *self = Level {
            conditionals: self.conditionals,
            ..Level::default()
        };
    }
}

/// The nesting depth, or the message that the expression is too deep or unsupported.
fn measure(text: &[u8]) -> Result<usize, &'static str> {
    // The level of the current pair of brackets, the levels of the enclosing pairs, and the total depth of the enclosing pairs.
    let (mut level, mut outer, mut outside) = (Level::default(), Vec::new(), 0);
    let (mut at, mut deepest) = (0, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' | b'\'' => at = end_of_string(text, at),
            // A field name in backticks, which may contain any characters.
            b'`' => {
                let name = text[at + 1..].iter();
                let length = name.take_while(|byte| !matches!(byte, b'`' | b'\n')).count();
                at += if text.get(at + 1 + length) == Some(&b'`') {
                    length + 1
                } else {
                    0
                };
            }
            b'/' if text.get(at + 1) == Some(&b'/') => {
                at += text[at..].iter().take_while(|byte| **byte != b'\n').count();
            }
            b'(' | b'[' | b'{' => {
                level.chain += 1;
                outside += level.depth();
                outer.push(std::mem::take(&mut level));
            }
            b')' | b']' | b'}' => {
                level = outer.pop().unwrap_or_default();
                outside -= level.depth().min(outside);
            }
            b'.' => level.chain += 1,
            b',' => level = Level::default(),
            b'?' => {
                level.start_operand();
                level.conditionals += 1;
            }
            b':' | b'&' | b'|' => level.start_operand(),
            // The second character of an operator that was already counted.
            b'=' if at > 0 && matches!(text[at - 1], b'<' | b'>' | b'=') => {}
            b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' => level.count_operator(),
            b'!' if text[at + 1..].trim_ascii_start().starts_with(b"!") => return Err(NOT_NOT),
            b'!' if text.get(at + 1) == Some(&b'=') => {}
            b'i' if is_in(text, at) => level.count_operator(),
            _ => {}
        }
        deepest = deepest.max(outside + level.depth());
        if deepest > DEPTH {
            return Err(TOO_DEEP);
        }
        at += 1;
    }
    Ok(deepest)
}

/// Whether the operator `in` begins at `at`.
fn is_in(text: &[u8], at: usize) -> bool {
    // `in` may directly follow a number: `1in x`.
    let before = at.checked_sub(1).and_then(|at| text.get(at));
    let before = before.filter(|byte| !byte.is_ascii_digit());
    text[at..].starts_with(b"in") && !is_part_of_name(before) && !is_part_of_name(text.get(at + 2))
}

fn is_part_of_name(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// The index of the last byte of the string literal that begins at `at`. Returns `at` if the literal is unterminated: the parser continues
/// after the quote.
fn end_of_string(text: &[u8], at: usize) -> usize {
    let quote = text[at];
    let triple = [quote; 3];
    let is_triple = text[at..].starts_with(&triple);
    let end = if is_triple { &triple[..] } else { &triple[..1] };
    let is_raw = is_raw(text, at);
    let mut next = at + end.len();
    while let Some(byte) = text.get(next) {
        if text[next..].starts_with(end) {
            return next + end.len() - 1;
        }
        match byte {
            b'\\' if !is_raw => match text.get(next + 1) {
                Some(escaped) if ESCAPED.contains(escaped) => next += 2,
                _ => return at,
            },
            b'\n' | b'\r' if !is_triple => return at,
            _ => next += 1,
        }
    }
    at
}

/// Characters that may follow a backslash in a string (CEL spec, lexical elements).
const ESCAPED: &[u8] = b"abfnrtv\\?\"'`xXuU01234567";

/// Whether the quote at `at` begins a raw string: it has the prefix `r` or `br`, and the prefix is not part of a name.
fn is_raw(text: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| text.get(at));
    let is = |byte: Option<&u8>, letter: u8| byte.is_some_and(|byte| byte.eq_ignore_ascii_case(&letter));
    is(before(1), b'r') && (!is_part_of_name(before(2)) || is(before(2), b'b') && !is_part_of_name(before(3)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fake_apiserver::extension::stack::SHALLOW;

    #[test]
    fn too_deep_expressions_of_every_construct_are_rejected() {
        for (before, part, after) in [
            ("1", "+1", ""),
            ("1", " * 2", ""),
            ("self", ".a", ""),
            ("self", "[0]", ""),
            ("self", ".f()", ""),
            ("", "(", "1"),
            ("", "[", "1"),
            ("", "{1:", "1"),
            ("", "f(", "1"),
            ("", "-(", "1"),
            ("a", " in b", ""),
            ("a", " == b", ""),
            ("a", " != b", ""),
            ("a", " >= b", ""),
            ("self", ".all(x, x", ""),
            ("", "a && b ? c : ", "d"),
            // Names, numbers and strings with characters that could be mistaken for another token.
            ("1", "in 1", ""),
            ("self.`a//b`", "+1", ""),
            ("`+", "+1", ""),
            ("'\\q ", "+1", ""),
            ("'\n 1", "+1", ""),
            ("ar'\\' + 1", "+1", ""),
        ] {
            let text = |times: usize| format!("{before}{}{after}", part.repeat(times));
            assert!(nesting_depth(&text(60)).is_ok(), "{part}");
            for times in [251, 5_000] {
                let refused = nesting_depth(&text(times)).expect_err(part);
                assert!(
                    refused.ends_with("expression recursion limit exceeded: 250"),
                    "{refused}"
                );
            }
        }
    }

    #[test]
    fn wide_but_shallow_expressions_are_accepted() {
        let operands = vec!["self.a.b == 'x' + \"))((\""; 2_000].join(" && ");
        let items = format!("[{}]", vec!["f(1) + 1"; 2_000].join(", "));
        let string = format!("self == '{}'", "(".repeat(5_000));
        let raw = format!(r"self == r'\' + {}", "'((((('".repeat(3));
        let comment = format!("self // {}\n == 1", "(".repeat(5_000));
        for text in [operands, items, string, raw, comment] {
            assert!(
                nesting_depth(&text).is_ok_and(|depth| depth <= SHALLOW),
                "{}",
                &text[..40]
            );
        }
    }

    #[test]
    fn too_long_expressions_are_rejected() {
        let why = "expression code point size exceeds limit: size: 100002, limit 100000";
        let refused = nesting_depth(&format!("'{}'", "ä".repeat(100_000)));
        assert_eq!(refused, Err(failure(why)));
    }
}
