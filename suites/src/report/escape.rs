//! Escapes untrusted text for the formats of reports. Does not know reports.
//!
//! A failure can contain output of a system under test, which must never become markup or a workflow command.

use harness::is_unprintable;

/// Replacement for unprintable characters.
const REPLACEMENT: char = '\u{fffd}';

/// Escapes text and attribute values for XML, HTML and SVG.
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

/// Escapes text within a line of Markdown: no markup, mention, reference or line break.
pub fn markdown(text: &str) -> String {
    translate(text, |letter| match letter {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        // A backslash before `@` or `#` would not prevent a mention or a reference.
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

/// A fenced Markdown block; the fence is longer than any run of backticks in the text.
pub fn markdown_block(text: &str) -> String {
    let text = printable_text(text);
    let longest = text.split(|letter| letter != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// Escapes the message of a GitHub workflow command.
pub(super) fn workflow_message(text: &str) -> String {
    translate(text, |letter| match letter {
        '%' => Some("%25"),
        '\r' => Some("%0D"),
        '\n' => Some("%0A"),
        _ => None,
    })
}

/// Escapes a property value of a GitHub workflow command.
pub(super) fn workflow_property(text: &str) -> String {
    workflow_message(text).replace(':', "%3A").replace(',', "%2C")
}

/// Removes colours and replaces unprintable characters, for writers that escape markup by themselves.
pub fn printable_text(text: &str) -> String {
    translate(text, |_| None)
}

/// Replaces unprintable characters in finished markup.
pub(super) fn printable(markup: &str) -> String {
    let shown = |letter| {
        if is_unprintable(letter) {
            REPLACEMENT
        } else {
            letter
        }
    };
    markup.chars().map(shown).collect()
}

/// Replaces characters by escapes, removes colours, and replaces unprintable characters by U+FFFD.
fn translate(text: &str, escape: impl Fn(char) -> Option<&'static str>) -> String {
    let text = anstream::adapter::strip_str(text).to_string();
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match escape(letter) {
            Some(other) => out.push_str(other),
            None if is_unprintable(letter) => out.push(REPLACEMENT),
            None => out.push(letter),
        }
    }
    out
}
