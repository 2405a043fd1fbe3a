//! Finds in a program's log the reason for its exit, and the lines that belong to the reason. Also finds other error messages.
//!
//! Go programs print the reason first and then all goroutines; klog marks fatal lines with an `F` header. Python prints an exception after
//! its stack and after the exceptions that caused it; Java prints the causes after the exception. Does not know processes.

use crate::text::is_unprintable;

/// Maximum length in characters of a log line in reports.
pub(crate) const LINE_LIMIT: usize = 400;

/// Maximum number of lines that are stored for a reason.
const REASON_LINES: usize = 12;

/// Maximum number of stack frames of a Python exception, counted from the innermost one. Each frame has two lines.
const PYTHON_FRAMES: usize = 3;

/// If a program logs this many lines after a supposed reason, it has survived the error, and the reason is dropped.
const SURVIVED_LINES: usize = 8;

const TRACEBACK: &str = "Traceback (most recent call last):";

/// Text that Python prints between two chained tracebacks, and how the earlier exception relates to the later one.
const CHAINED: [(&str, &str); 2] = [
    (
        "During handling of the above exception, another exception occurred:",
        "while handling",
    ),
    (
        "The above exception was the direct cause of the following exception:",
        "caused by",
    ),
];

/// Reads a program's log line by line and finds the reason for its exit.
#[derive(Default)]
pub(crate) struct ExitReason {
    /// The log line with the exit reason, then the lines that belong to the reason.
    reason: Vec<String>,
    /// Number of log lines after the reason that are not part of a stack trace.
    later_lines: usize,
    /// Python: exceptions that preceded the current one in the same chain.
    causes: Vec<String>,
    /// Python: number of lines in `reason`, after the first, that show earlier exceptions of the chain.
    cause_lines: usize,
    /// Python: the innermost frames of a traceback whose exception line has not been read yet.
    frames: Option<Vec<String>>,
    is_python: bool,
    /// Go: whether the stacks of other goroutines have begun; no line after that belongs to the reason.
    is_complete: bool,
}

impl ExitReason {
    pub(crate) fn read_line(&mut self, line: &str) {
        if line == TRACEBACK {
            self.frames = Some(Vec::new());
            return;
        }
        if let Some(frames) = &mut self.frames {
            // Since Python 3.11, a line of carets or tildes may follow a frame.
            let is_marker = line.trim_start().chars().all(|c| c == '^' || c == '~');
            match line.starts_with(' ') || line.is_empty() {
                true => {
                    frames.extend((!is_marker).then(|| readable(line)));
                    // A program may print an endless stack, so only the innermost frames are stored.
                    let outer = frames.len().saturating_sub(2 * PYTHON_FRAMES);
                    frames.drain(..outer);
                }
                false => self.end_traceback(line),
            }
            return;
        }
        if is_reason(line) {
            // Go prints a panic twice if it is recovered and raised again.
            *self = ExitReason {
                reason: vec![readable(line)],
                ..ExitReason::default()
            };
            return;
        }
        if self.reason.is_empty() || line.trim().is_empty() {
            return;
        }
        if let Some((_, relation)) = CHAINED
            .iter()
            .find(|(separator, _)| *separator == line)
            .filter(|_| self.is_python)
        {
            let latest = format!("{relation}: {}", self.reason[0]);
            let earlier = self.reason[1..=self.cause_lines].iter().cloned();
            self.causes = std::iter::once(latest).chain(earlier).collect();
            return;
        }
        if is_klog(line) || self.is_python {
            self.later_lines += 1;
        }
        // The stacks of other goroutines do not belong to the reason.
        let is_other_goroutine =
            line.starts_with("goroutine ") && self.reason.iter().any(|line| line.starts_with("goroutine "));
        if self.later_lines >= SURVIVED_LINES {
            self.reason.clear();
        } else if is_other_goroutine {
            self.is_complete = true;
        } else if self.reason.len() < REASON_LINES && !self.is_complete && !is_frame_of_go(line) {
            self.reason.push(readable(line));
        }
    }

    /// Handles the line with the exception, which ends a Python traceback.
    fn end_traceback(&mut self, exception: &str) {
        let frames = self.frames.take().unwrap_or_default();
        self.reason = vec![readable(exception)];
        self.causes.truncate(REASON_LINES);
        self.cause_lines = self.causes.len();
        self.reason.append(&mut self.causes);
        self.reason.extend(frames);
        self.later_lines = 0;
        self.is_python = true;
    }

    /// The reason for the exit and the lines that belong to it; `None` if the log contains no reason.
    pub(crate) fn reason(&self) -> Option<&[String]> {
        (!self.reason.is_empty()).then_some(&self.reason)
    }
}

/// The reason for the exit among the last lines of a log. If no line is a reason, the last line.
pub fn reason_of(lines: &[String]) -> Option<&str> {
    let mut lines = lines.iter().map(String::as_str);
    let first = lines.clone().next().filter(|line| is_exception(line));
    let reason = lines.clone().find(|line| is_reason(line)).or(first);
    let reason = reason.or_else(|| lines.clone().find(|line| line.contains(".go:")));
    let reason = reason.or_else(|| lines.next_back())?;
    let text = match is_klog(reason) {
        true => reason.split_once("] ").map_or(reason, |(_, text)| text),
        false => reason,
    };
    Some(text.trim_start_matches([' ', '|']))
}

/// Whether a line states why a Go, Rust or Java program exited.
fn is_reason(line: &str) -> bool {
    const STARTS: [&str; 5] = [
        "panic: ",
        "fatal error: ",
        "runtime: ",
        "fatal: ",
        "Exception in thread \"",
    ];
    STARTS.iter().any(|start| line.starts_with(start))
        || klog_level(line) == Some('F')
        // Kubernetes commands print this line before they exit with code 1.
        || (klog_level(line) == Some('E') && line.contains("] \"command failed\" err="))
        || (line.starts_with("thread '") && line.contains(" panicked at "))
}

/// Whether a line starts with the class name of an exception, such as `grpc._channel._InactiveRpcError: <details>`.
fn is_exception(line: &str) -> bool {
    const ENDS: [&str; 5] = ["Error", "Exception", "Exit", "Interrupt", "Warning"];
    let class = line.split_once(':').map_or(line, |(class, _)| class);
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    class.split('.').all(is_name) && ENDS.iter().any(|end| class.ends_with(end))
}

/// Whether to omit a line of a Go stack trace: a function of the runtime's panic handling, or the source file of the function in the
/// previous line.
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

/// Severity in a klog header, such as `E` of `E1122 06:31:00.123456`.
fn klog_level(line: &str) -> Option<char> {
    let bytes = line.as_bytes();
    let level = bytes.first().filter(|level| b"IWEF".contains(level))?;
    let is_header =
        bytes.len() > 8 && bytes[1..5].iter().all(u8::is_ascii_digit) && bytes[5] == b' ' && bytes[8] == b':';
    is_header.then_some(char::from(*level))
}

/// Whether a line is an error message, according to its klog level or to words such as `failed`.
fn is_error_line(line: &str) -> bool {
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

/// The last `count` different error messages of a log, oldest first.
pub fn error_lines(log: &[u8], count: usize) -> Vec<String> {
    let text = String::from_utf8_lossy(log);
    let mut found: Vec<(&str, String)> = Vec::new();
    for line in text.lines().rev().filter(|line| is_error_line(line)) {
        let message = without_header(line);
        // A message that was logged several times is listed once.
        if found.iter().all(|(other, _)| *other != message) {
            found.push((message, readable(line)));
        }
        if found.len() == count {
            break;
        }
    }
    found.into_iter().rev().map(|(_, line)| line).collect()
}

/// A log line without its klog header or timestamp.
fn without_header(line: &str) -> &str {
    match klog_level(line) {
        Some(_) => line.split_once(']').map_or(line, |(_, message)| message),
        None => line.trim_start_matches(|c: char| c.is_ascii_digit() || "-:.TZ/ []+".contains(c)),
    }
}

/// A line without terminal control characters, truncated to `LINE_LIMIT`.
pub(crate) fn readable(line: &str) -> String {
    let mut out: String = line
        .chars()
        .take(LINE_LIMIT)
        .map(|c| if is_unprintable(c) { '·' } else { c })
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
        let mut exit_reason = ExitReason::default();
        lines.iter().for_each(|line| exit_reason.read_line(line));
        exit_reason.reason().map(<[String]>::to_vec)
    }

    #[test]
    fn reason_is_found_before_the_goroutines() {
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
            let shown = reason(&lines).unwrap();
            assert_eq!(
                (shown[0].as_str(), shown[1].as_str()),
                (first, "goroutine 1 [select]:")
            );
            assert!(shown.len() <= REASON_LINES);
        }
    }

    #[test]
    fn python_exception_is_shown_with_its_causes_and_innermost_frames() {
        let stack = |deep: usize, exception: &str| {
            let frame = |number| format!("  File \"/p.py\", line {number}, in f\n    f({number})\n    ~^^^");
            let frames: Vec<String> = (0..deep).map(frame).collect();
            format!("{TRACEBACK}\n{}\n{exception}\n", frames.join("\n"))
        };
        let log = [
            "starting\n".to_owned(),
            stack(2, "KeyError: 'a'"),
            format!("\n{}\n\n", CHAINED[0].0),
            stack(20, "OSError: [Errno 2] no such file"),
            format!("\n{}\n\n", CHAINED[1].0),
            stack(9, "app.ConfigError: no class\nsee the manual"),
        ]
        .concat();
        let shown = reason(&log.lines().collect::<Vec<_>>()).unwrap();
        let frames = [6, 7, 8].map(|number| {
            [
                format!("  File \"/p.py\", line {number}, in f"),
                format!("    f({number})"),
            ]
        });
        let mut wanted = vec![
            "app.ConfigError: no class",
            "caused by: OSError: [Errno 2] no such file",
            "while handling: KeyError: 'a'",
        ];
        wanted.extend(frames.as_flattened().iter().map(String::as_str));
        wanted.push("see the manual");
        assert_eq!(shown, wanted);
        assert_eq!(reason_of(&shown), Some("app.ConfigError: no class"));
    }

    #[test]
    fn innermost_frames_of_an_endless_stack_are_stored() {
        let mut exit_reason = ExitReason::default();
        exit_reason.read_line(TRACEBACK);
        (0..1000).for_each(|number| exit_reason.read_line(&format!("  frame {number}")));
        let frames = exit_reason.frames.unwrap();
        assert_eq!(
            (frames.len(), frames[5].as_str()),
            (2 * PYTHON_FRAMES, "  frame 999")
        );
    }

    #[test]
    fn traceback_that_the_program_survives_is_not_a_reason() {
        let mut lines = vec![TRACEBACK, "  File \"/p.py\", line 1, in f", "ValueError: no"];
        lines.extend(["goes on"; SURVIVED_LINES]);
        assert_eq!(reason(&lines), None);
    }

    #[test]
    fn java_exception_is_shown_with_its_causes() {
        let log = "Exception in thread \"main\" java.lang.IllegalStateException: no driver\n\tat a.B.run(B.java:7)\n\
                   Caused by: java.io.IOException: refused\n\tat a.C.open(C.java:9)\n\t... 12 more";
        let shown = reason(&log.lines().collect::<Vec<_>>()).unwrap();
        assert_eq!(
            shown,
            [
                "Exception in thread \"main\" java.lang.IllegalStateException: no driver",
                "Caused by: java.io.IOException: refused"
            ]
        );
    }

    #[test]
    fn panic_is_shown_with_the_frames_of_its_own_goroutine() {
        let log = "panic: no class\n\ngoroutine 7 [running]:\npanic(0x1)\nmain.publish(0x1)\n\t/a.go:1 +0x1\n\
                   main.main()\n\t/a.go:2 +0x1\n\ngoroutine 1 [select]:\nmain.other()";
        let shown = reason(&log.lines().collect::<Vec<_>>()).unwrap();
        assert_eq!(
            shown,
            [
                "panic: no class",
                "goroutine 7 [running]:",
                "main.publish(0x1)",
                "main.main()"
            ]
        );
        let log =
            "thread 'main' (7) panicked at src/main.rs:1:2:\nno class\nnote: run with `RUST_BACKTRACE=1`";
        let shown = reason(&log.lines().collect::<Vec<_>>()).unwrap();
        assert_eq!(
            &shown[..2],
            ["thread 'main' (7) panicked at src/main.rs:1:2:", "no class"]
        );
    }

    #[test]
    fn error_that_a_program_survives_is_not_a_reason() {
        let more = ["I1122 06:31:00.000001   12345 main.go:1] it goes on"; SURVIVED_LINES];
        let lines = [&["panic: recovered by somebody"][..], &more].concat();
        assert_eq!(reason(&lines), None);
        assert_eq!(
            reason(&["I1122 06:31:00.000001   1 a.go:1] panic: not mine"]),
            None
        );
    }

    #[test]
    fn last_distinct_error_lines_are_returned() {
        let log = b"I1122 06:31:00.000001   1 a.go:1] error handling is on\n\
            E1122 06:31:00.000001   1 a.go:1] cannot list\n\
            E1122 06:31:01.000001   1 a.go:1] cannot list\n\
            E1122 06:31:02.000001   1 a.go:1] cannot watch\n\
            all is well\n2026-11-22T06:31:00Z ERROR no socket\n";
        let shown = error_lines(log, 2);
        assert_eq!(shown.len(), 2);
        assert!(
            shown[0].ends_with("cannot watch") && shown[1].ends_with("ERROR no socket"),
            "{shown:?}"
        );
        assert_eq!(error_lines(log, 9).len(), 3);
        assert!(error_lines(b"all is well\n", 9).is_empty());
    }
}
