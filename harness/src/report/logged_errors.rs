//! Error messages in the logs of the programs of a failed case. Does not know verdicts.

use crate::exit_reason::{error_lines, readable};
use crate::process_log::OMITTED;

/// Maximum number of error messages of all programs together.
const LINES_MAX: usize = 4;

/// Maximum length of an error message, in characters.
const WIDTH_MAX: usize = 200;

/// The last error messages of each program, prefixed with the client name. `logs`: output by client name.
pub fn logged_errors(logs: &[(String, Vec<u8>)]) -> Vec<String> {
    let count = (LINES_MAX / logs.len().max(1)).max(1);
    let of_program = |(client, log): &(String, Vec<u8>)| {
        let mut lines = error_lines(log, count);
        lines.extend(omission_note(log));
        lines
            .into_iter()
            .map(|line| format!("{client}: {}", shorten(&line)))
            .collect::<Vec<_>>()
    };
    logs.iter().flat_map(of_program).collect()
}

/// Returns [`logged_errors`]; if no program has logged an error message, the last lines of each program.
pub fn errors_or_last_lines(logs: &[(String, Vec<u8>)]) -> Vec<String> {
    let lines = logged_errors(logs);
    if !lines.is_empty() {
        return lines;
    }
    let of_program = |(client, log): &(String, Vec<u8>)| {
        let text = String::from_utf8_lossy(log);
        let mut lines: Vec<String> = text
            .lines()
            .rev()
            .filter(|line| !line.trim().is_empty())
            .take(LINES_MAX)
            .map(readable)
            .collect();
        lines.reverse();
        lines
            .into_iter()
            .map(|line| format!("{client}: {}", shorten(&line)))
            .collect::<Vec<_>>()
    };
    logs.iter().flat_map(of_program).collect()
}

/// A note with the number of bytes that the log omits; `None` if the log is complete.
fn omission_note(log: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(log);
    let lines = text
        .lines()
        .filter_map(|line| line.strip_suffix(OMITTED)?.strip_prefix('['));
    let bytes: u64 = lines.filter_map(|number| number.trim().parse::<u64>().ok()).sum();
    (bytes > 0).then(|| format!("[{bytes} bytes of the log were not stored: the log exceeds the limit]"))
}

fn shorten(line: &str) -> String {
    match line.char_indices().nth(WIDTH_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
