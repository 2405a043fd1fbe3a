//! Regular expressions, with Go's restrictions and error messages.
//!
//! Uses the crate `regex`, whose syntax derives from RE2 like Go's. Unlike `regex`, Go rejects repeated repetitions (`a**`) and more than
//! 1000 repetitions, and treats a brace that does not start a repetition count as a literal. Patterns that only Go accepts (`\Q*\E`, two
//! groups of the same name) are rejected.

use super::stack::with_stack;
use regex::Regex;
use regex_syntax::ast::{
    Ast, ErrorKind, Repetition, RepetitionKind, RepetitionRange, Span, Visitor, parse, visit,
};
use regex_syntax::hir::translate::Translator;
use std::borrow::Cow;

/// Maximum repetition count in Go.
const REPEATED_MAX: u32 = 1000;

/// Maximum number of literal braces in a pattern: each brace requires another parse of the pattern.
const BRACES_MAX: usize = 100;

/// Compiles a pattern, or returns Go's error.
pub fn read(text: &str) -> Result<Regex, String> {
    // The parser limits the nesting of groups and classes, and with it the recursion depth.
    let depth = text.bytes().filter(|byte| matches!(byte, b'(' | b'[')).count();
    with_stack(depth, || compile(text))
}

fn compile(text: &str) -> Result<Regex, String> {
    let refused = |why: String| format!("error parsing regexp: {why}");
    let (syntax, text) = parse_escaping_braces(text).map_err(refused)?;
    let text = &*text;
    visit(&syntax, Repetitions { text }).map_err(refused)?;
    Regex::new(text).map_err(|why| match Translator::new().translate(text, &syntax) {
        // Errors of the translator (AST to HIR) are about character classes, such as an unknown Unicode property.
        Err(why) => refused(go_error("invalid character class range", part(text, why.span()))),
        Ok(_) => refused(why.to_string()),
    })
}

/// Parses a pattern; braces that do not start a repetition count are escaped.
fn parse_escaping_braces(text: &str) -> Result<(Ast, Cow<'_, str>), String> {
    let mut text = Cow::Borrowed(text);
    let mut braces = 0;
    loop {
        let why = match parse::Parser::new().parse(&text) {
            Ok(syntax) => return Ok((syntax, text)),
            Err(why) => why,
        };
        let is_about_count = matches!(
            why.kind(),
            ErrorKind::RepetitionMissing
                | ErrorKind::RepetitionCountUnclosed
                | ErrorKind::RepetitionCountDecimalEmpty
                | ErrorKind::DecimalInvalid
        );
        let until = text.get(..=why.span().start.offset).unwrap_or(&text);
        let brace = until
            .rfind('{')
            .filter(|at| is_about_count && !is_count(&text[*at..]));
        braces += 1;
        match brace.filter(|_| braces <= BRACES_MAX) {
            Some(at) => text.to_mut().insert(at, '\\'),
            None => return Err(go_message(&text, why.kind(), why.span())),
        }
    }
}

/// Whether a text starts with a repetition count: `{2}`, `{2,}` or `{2,3}`.
fn is_count(text: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let inner = text.strip_prefix('{').and_then(|rest| rest.split_once('}'));
    inner.is_some_and(|(inner, _)| {
        let (least, most) = inner.split_once(',').unwrap_or((inner, ""));
        !least.is_empty() && is_number(least) && is_number(most)
    })
}

fn go_error(what: &str, part: &str) -> String {
    format!("{what}: `{part}`")
}

fn part<'t>(text: &'t str, span: &Span) -> &'t str {
    text.get(span.start.offset..span.end.offset).unwrap_or_default()
}

fn go_message(text: &str, kind: &ErrorKind, span: &Span) -> String {
    let (part, rest) = (
        part(text, span),
        text.get(span.start.offset..).unwrap_or_default(),
    );
    match kind {
        ErrorKind::GroupUnclosed => go_error("missing closing )", text),
        ErrorKind::GroupUnopened => go_error("unexpected )", text),
        ErrorKind::ClassUnclosed => go_error("missing closing ]", rest),
        ErrorKind::ClassRangeInvalid | ErrorKind::ClassRangeLiteral => {
            go_error("invalid character class range", part)
        }
        ErrorKind::RepetitionMissing => {
            let end = if is_count(rest) {
                rest.find('}').map_or(1, |end| end + 1)
            } else {
                1
            };
            let sign = rest.get(..end).unwrap_or_default();
            go_error("missing argument to repetition operator", sign)
        }
        ErrorKind::RepetitionCountInvalid => go_error("invalid repeat count", part),
        ErrorKind::UnsupportedLookAround if part.starts_with("(?<") => named_capture_error(rest),
        ErrorKind::UnsupportedLookAround => go_error("invalid or unsupported Perl syntax", part),
        ErrorKind::FlagUnrecognized | ErrorKind::FlagUnexpectedEof => {
            let from = text.get(..span.end.offset).unwrap_or_default();
            let from = from.rfind("(?").map_or("", |at| &from[at..]);
            go_error("invalid or unsupported Perl syntax", from)
        }
        ErrorKind::GroupNameEmpty | ErrorKind::GroupNameInvalid | ErrorKind::GroupNameUnexpectedEof => {
            let until = text.get(..span.end.offset).unwrap_or_default();
            named_capture_error(&text[until.rfind("(?").unwrap_or_default()..])
        }
        ErrorKind::EscapeUnexpectedEof => go_error("trailing backslash at end of expression", ""),
        ErrorKind::EscapeUnrecognized | ErrorKind::UnsupportedBackreference => {
            go_error("invalid escape sequence", part)
        }
        other => other.to_string(),
    }
}

fn named_capture_error(from: &str) -> String {
    let end = from.find('>').map_or(from.len(), |end| end + 1);
    go_error("invalid named capture", &from[..end])
}

/// Finds repetitions that Go does not allow.
struct Repetitions<'t> {
    text: &'t str,
}

impl Visitor for Repetitions<'_> {
    type Output = ();
    type Err = String;

    fn finish(self) -> Result<(), String> {
        Ok(())
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), String> {
        let Ast::Repetition(outer) = ast else {
            return Ok(());
        };
        if times(outer).is_some_and(|times| times > REPEATED_MAX) {
            return Err(go_error("invalid repeat count", part(self.text, &outer.op.span)));
        }
        if let Ast::Repetition(inner) = &*outer.ast {
            let both = Span::new(inner.op.span.start, outer.op.span.end);
            return Err(go_error(
                "invalid nested repetition operator",
                part(self.text, &both),
            ));
        }
        Ok(())
    }
}

fn times(repetition: &Repetition) -> Option<u32> {
    let RepetitionKind::Range(range) = &repetition.op.kind else {
        return None;
    };
    Some(match *range {
        RepetitionRange::Exactly(times)
        | RepetitionRange::AtLeast(times)
        | RepetitionRange::Bounded(_, times) => times,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The expected messages are those of kube-apiserver 1.36 for a CRD.
    #[test]
    fn invalid_patterns_get_the_error_of_go() {
        for (text, why) in [
            ("(", "missing closing ): `(`"),
            ("a)", "unexpected ): `a)`"),
            ("x[a", "missing closing ]: `[a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("{2}a", "missing argument to repetition operator: `{2}`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("x{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
            ("(?z)a", "invalid or unsupported Perl syntax: `(?z`"),
            (r"\1", r"invalid escape sequence: `\1`"),
            (r"\q", r"invalid escape sequence: `\q`"),
            (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
            ("a{2,1}", "invalid repeat count: `{2,1}`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            ("\\", "trailing backslash at end of expression: ``"),
            ("(?P<a", "invalid named capture: `(?P<a`"),
            ("(?P<>a)", "invalid named capture: `(?P<>`"),
            ("(?<!a)", "invalid named capture: `(?<!a)`"),
        ] {
            assert_eq!(
                read(text).unwrap_err(),
                format!("error parsing regexp: {why}"),
                "{text}"
            );
        }
        for text in [
            "", "^[a-z]+$", "(?i)a", r"\d+", "(?P<a>.)", "a{1000}", "(a*)*", "a*?", "a+|b*", "a{", "a{,2}{1",
            "{x}",
        ] {
            assert!(read(text).is_ok(), "{text}");
        }
        assert!(read(&"{".repeat(BRACES_MAX)).is_ok());
        assert!(read(&"{".repeat(BRACES_MAX + 1)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_compiles_or_is_refused_with_an_error_of_go(text in r"[a{},0-9?<>P=!:()\[\]\\^*+é|-]{0,24}") {
            if let Err(why) = read(&text) {
                prop_assert!(why.starts_with("error parsing regexp: "), "{}", why);
            }
        }
    }
}
