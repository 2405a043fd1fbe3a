//! What the programs of a failed case have said about errors, in a few lines. Knows no verdict.

use crate::last_words::{complaints, readable};
use crate::process_log::LEFT_OUT;

/// Lines of all programs together.
const LINES: usize = 4;

/// Characters of a line.
const WIDTH: usize = 200;

/// The last complaints of each program, after its name. `logs`: what they have said, by client name.
pub fn said(logs: &[(String, Vec<u8>)]) -> Vec<String> {
    let count = (LINES / logs.len().max(1)).max(1);
    let of_program = |(client, log): &(String, Vec<u8>)| {
        let mut lines = complaints(log, count);
        lines.extend(left_out(log));
        lines
            .into_iter()
            .map(|line| format!("{client}: {}", short(&line)))
            .collect::<Vec<_>>()
    };
    logs.iter().flat_map(of_program).collect()
}

/// The same, and the last lines of a program whose log speaks of no error.
pub fn last_logged(logs: &[(String, Vec<u8>)]) -> Vec<String> {
    let lines = said(logs);
    if !lines.is_empty() {
        return lines;
    }
    let of_program = |(client, log): &(String, Vec<u8>)| {
        let text = String::from_utf8_lossy(log);
        let mut lines: Vec<String> = text
            .lines()
            .rev()
            .filter(|line| !line.trim().is_empty())
            .take(LINES)
            .map(readable)
            .collect();
        lines.reverse();
        lines
            .into_iter()
            .map(|line| format!("{client}: {}", short(&line)))
            .collect::<Vec<_>>()
    };
    logs.iter().flat_map(of_program).collect()
}

/// How much is not kept of a program that says very much.
fn left_out(log: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(log);
    let lines = text
        .lines()
        .filter_map(|line| line.strip_suffix(LEFT_OUT)?.strip_prefix('['));
    let bytes: u64 = lines.filter_map(|number| number.trim().parse::<u64>().ok()).sum();
    (bytes > 0).then(|| format!("[its log lacks {bytes} bytes: it said more than is kept]"))
}

fn short(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
