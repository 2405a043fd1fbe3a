//! How programs say what went wrong: the line with the reason for which a program ends, and lines that speak of errors.
//!
//! Go programs print the reason first and all their goroutines after it, so the last lines say nothing; klog's header begins with
//! `F` for what ends the program. Knows no process.

/// Characters of a line that is shown.
pub(crate) const LINE_LIMIT: usize = 400;

/// Lines that are kept of a reason: itself, and what stands below it.
const REASON_LINES: usize = 12;

/// So many lines of other things after a reason, and the program has lived on.
const LIVES: usize = 8;

/// Looks at all lines of a program as they come.
#[derive(Default)]
pub(crate) struct LastWords {
    /// The reason first.
    reason: Vec<String>,
    /// Lines since then which belong to no stack.
    others: usize,
}

impl LastWords {
    pub(crate) fn take(&mut self, line: &str) {
        if is_reason(line) {
            // One that is recovered and thrown again is printed twice.
            self.reason = vec![readable(line)];
            self.others = 0;
            return;
        }
        if self.reason.is_empty() || line.trim().is_empty() {
            return;
        }
        if is_klog(line) {
            self.others += 1;
        }
        if self.others >= LIVES {
            self.reason.clear();
        } else if self.reason.len() < REASON_LINES && !is_frame_of_go(line) {
            self.reason.push(readable(line));
        }
    }

    /// The reason for which the program ends, and what stands below it; none: it gave none.
    pub(crate) fn reason(&self) -> Option<&[String]> {
        (!self.reason.is_empty()).then_some(&self.reason)
    }
}

/// Whether a line says why a Go or Rust program ends.
fn is_reason(line: &str) -> bool {
    const STARTS: [&str; 4] = ["panic: ", "fatal error: ", "runtime: ", "fatal: "];
    STARTS.iter().any(|start| line.starts_with(start))
        || klog_level(line) == Some('F')
        // What the commands of Kubernetes print before they end with 1.
        || (klog_level(line) == Some('E') && line.contains("] \"command failed\" err="))
        || (line.starts_with("thread '") && line.contains(" panicked at "))
}

/// Whether a line of a stack leads through Go's own way to end a program, or says no more than in which file the line above is.
fn is_frame_of_go(line: &str) -> bool {
    const OWN: [&str; 4] = [
        "panic(",
        "runtime.",
        "runtime/",
        "k8s.io/apimachinery/pkg/util/runtime.",
    ];
    line.starts_with('\t') || OWN.iter().any(|own| line.starts_with(own))
}

fn is_klog(line: &str) -> bool {
    klog_level(line).is_some()
}

/// The level of a line with klog's header, such as `E1122 06:31:00.123456`.
fn klog_level(line: &str) -> Option<char> {
    let bytes = line.as_bytes();
    let level = bytes.first().filter(|level| b"IWEF".contains(level))?;
    let is_header =
        bytes.len() > 8 && bytes[1..5].iter().all(u8::is_ascii_digit) && bytes[5] == b' ' && bytes[8] == b':';
    is_header.then_some(char::from(*level))
}

/// Whether a line speaks of something that went wrong.
fn is_complaint(line: &str) -> bool {
    const WORDS: [&str; 8] = [
        "error",
        "fatal",
        "panic",
        "failed",
        "failure",
        "refused",
        "forbidden",
        "unable to",
    ];
    match klog_level(line) {
        Some('I') => false,
        Some(_) => true,
        None => {
            let line = line.to_ascii_lowercase();
            WORDS.iter().any(|word| line.contains(word))
        }
    }
}

/// The last different lines that speak of errors, oldest first, `count` at most.
pub fn complaints(said: &[u8], count: usize) -> Vec<String> {
    let text = String::from_utf8_lossy(said);
    let mut found: Vec<(&str, String)> = Vec::new();
    for line in text.lines().rev().filter(|line| is_complaint(line)) {
        let message = message(line);
        // The same again and again is said once.
        if found.iter().all(|(other, _)| *other != message) {
            found.push((message, readable(line)));
        }
        if found.len() == count {
            break;
        }
    }
    found.into_iter().rev().map(|(_, line)| line).collect()
}

/// A line without the time at which it was said.
fn message(line: &str) -> &str {
    match klog_level(line) {
        Some(_) => line.split_once(']').map_or(line, |(_, message)| message),
        None => line.trim_start_matches(|c: char| c.is_ascii_digit() || "-:.TZ/ []+".contains(c)),
    }
}

/// A line without what would confuse a terminal, and not too long.
pub(crate) fn readable(line: &str) -> String {
    let mut out: String = line
        .chars()
        .take(LINE_LIMIT)
        .map(|c| if c.is_control() && c != '\t' { '·' } else { c })
        .collect();
    if line.chars().nth(LINE_LIMIT).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(lines: &[&str]) -> Option<Vec<String>> {
        let mut words = LastWords::default();
        lines.iter().for_each(|line| words.take(line));
        words.reason().map(<[String]>::to_vec)
    }

    #[test]
    fn the_reason_stands_before_the_goroutines() {
        const FATAL: &str = "F1122 06:31:00.123456   12345 main.go:210] no CSIDriver is named a.example.org";
        let stacks: Vec<String> = (1..500)
            .map(|number| {
                format!("goroutine {number} [select]:\nmain.wait(0x1)\n\t/src/main.go:{number} +0x1f")
            })
            .collect();
        for first in [
            FATAL,
            "E1122 06:31:00.123456   12345 run.go:72] \"command failed\" err=\"duplicate name\"",
            "panic: runtime error: index out of range [3]",
            "fatal error: concurrent map writes",
        ] {
            let mut lines = vec!["I1122 06:31:00.000001   12345 main.go:1] it begins", first];
            lines.extend(stacks.iter().flat_map(|stack| stack.lines()));
            let told = reason(&lines).unwrap();
            assert_eq!(
                (told[0].as_str(), told[1].as_str()),
                (first, "goroutine 1 [select]:")
            );
            assert!(told.len() <= REASON_LINES);
        }
    }

    #[test]
    fn what_a_program_survives_is_no_reason() {
        let more = ["I1122 06:31:00.000001   12345 main.go:1] it goes on"; LIVES];
        let lines = [&["panic: recovered by somebody"][..], &more].concat();
        assert_eq!(reason(&lines), None);
        assert_eq!(
            reason(&["I1122 06:31:00.000001   1 a.go:1] panic: not mine"]),
            None
        );
    }

    #[test]
    fn complaints_are_the_last_ones_and_each_is_said_once() {
        let said = b"I1122 06:31:00.000001   1 a.go:1] error handling is on\n\
            E1122 06:31:00.000001   1 a.go:1] cannot list\n\
            E1122 06:31:01.000001   1 a.go:1] cannot list\n\
            E1122 06:31:02.000001   1 a.go:1] cannot watch\n\
            all is well\n2026-11-22T06:31:00Z ERROR no socket\n";
        let told = complaints(said, 2);
        assert_eq!(told.len(), 2);
        assert!(
            told[0].ends_with("cannot watch") && told[1].ends_with("ERROR no socket"),
            "{told:?}"
        );
        assert_eq!(complaints(said, 9).len(), 3);
        assert!(complaints(b"all is well\n", 9).is_empty());
    }
}
