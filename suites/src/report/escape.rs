//! Makes foreign text harmless in the languages that reports are written in. Knows no report.
//!
//! Whatever a system under test has said can stand in a failure: no byte of it may become markup or a command.

use harness::is_unprintable;

/// What can't be shown stands as this.
const UNSHOWN: char = '\u{fffd}';

/// For text and attribute values of XML, HTML and SVG.
pub fn xml(text: &str) -> String {
    translate(text, |letter| match letter {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        _ => None,
    })
}

/// For Markdown within a line: nothing in it is markup, a mention or a reference, and it stays one line.
pub fn markdown(text: &str) -> String {
    translate(text, |letter| match letter {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        // A backslash would keep them from being markup, and not from being a mention or a reference.
        '@' => Some("&#64;"),
        '#' => Some("&#35;"),
        '\n' | '\t' => Some(" "),
        '\\' => Some("\\\\"),
        '`' => Some("\\`"),
        '*' => Some("\\*"),
        '_' => Some("\\_"),
        '[' => Some("\\["),
        ']' => Some("\\]"),
        '|' => Some("\\|"),
        '~' => Some("\\~"),
        _ => None,
    })
}

/// A fenced block of Markdown, behind a fence that is longer than any in the text.
pub fn markdown_block(text: &str) -> String {
    let text = plain(text);
    let longest = text.split(|letter| letter != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// The message of a GitHub workflow command.
pub(super) fn message(text: &str) -> String {
    translate(text, |letter| match letter {
        '%' => Some("%25"),
        '\r' => Some("%0D"),
        '\n' => Some("%0A"),
        _ => None,
    })
}

/// The value of a property of a GitHub workflow command.
pub(super) fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

/// For writers that escape by themselves.
pub fn plain(text: &str) -> String {
    translate(text, |_| None)
}

/// Markup as a file holds it: what can't be shown is replaced, wherever it stands.
pub(super) fn printable(markup: &str) -> String {
    let shown = |letter| if is_unprintable(letter) { UNSHOWN } else { letter };
    markup.chars().map(shown).collect()
}

/// Replaces letters by what stands for them, drops colours, and shows that something can't be shown.
fn translate(text: &str, stands_for: impl Fn(char) -> Option<&'static str>) -> String {
    let text = anstream::adapter::strip_str(text).to_string();
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match stands_for(letter) {
            Some(other) => out.push_str(other),
            None if is_unprintable(letter) => out.push(UNSHOWN),
            None => out.push(letter),
        }
    }
    out
}
