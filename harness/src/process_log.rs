//! What a child process says: kept in a file up to a limit, and its last lines at hand.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of a file; what comes later is counted, not kept.
const FILE_LIMIT: u64 = 16 * 1024 * 1024;
/// Bytes that the last lines are taken from.
const TAIL_LIMIT: usize = 16 * 1024;
/// Characters of a line that is shown.
const LINE_LIMIT: usize = 400;

/// The output of one process.
pub(crate) struct ProcessLog(Mutex<State>);

struct State {
    file: Option<File>,
    written: u64,
    tail: VecDeque<u8>,
}

impl ProcessLog {
    /// Appends to that file; without one only the last lines are kept.
    pub(crate) fn open(path: Option<&Path>) -> std::io::Result<Self> {
        let open = |path| File::options().create(true).append(true).open(path);
        Ok(ProcessLog(Mutex::new(State {
            file: path.map(open).transpose()?,
            written: 0,
            tail: VecDeque::new(),
        })))
    }

    fn append(&self, bytes: &[u8]) {
        let mut state = self.0.lock();
        state.tail.extend(bytes);
        let surplus = state.tail.len().saturating_sub(TAIL_LIMIT);
        state.tail.drain(..surplus);
        if state.written > FILE_LIMIT {
            return;
        }
        state.written += bytes.len() as u64;
        let over = state.written > FILE_LIMIT;
        if let Some(file) = &mut state.file {
            // A full disk must not end what is being tested; the last lines are still there.
            drop(file.write_all(bytes));
            if over {
                drop(file.write_all(b"\n[the rest is not kept]\n"));
            }
        }
    }

    /// The last lines, without what would confuse a terminal.
    pub(crate) fn last_lines(&self, count: usize) -> Vec<String> {
        let mut state = self.0.lock();
        let text = String::from_utf8_lossy(state.tail.make_contiguous());
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let first = lines.len().saturating_sub(count);
        lines[first..].iter().map(|line| readable(line)).collect()
    }
}

fn readable(line: &str) -> String {
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

/// Reads a pipe to its end, however much comes.
pub(crate) async fn copy(mut pipe: impl AsyncRead + Unpin, log: std::sync::Arc<ProcessLog>) {
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        log.append(&buffer[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_bounded_and_harmless() {
        let log = ProcessLog::open(None).unwrap();
        for number in 0..10_000 {
            log.append(format!("line {number}\n").as_bytes());
        }
        log.append(b"\x1b[31mred \xff\n");
        log.append("x".repeat(1000).as_bytes());
        let lines = log.last_lines(3);
        assert_eq!(lines[0], "line 9999");
        assert_eq!(lines[1], "·[31mred \u{fffd}");
        assert_eq!(lines[2].chars().count(), LINE_LIMIT + 1);
        assert!(log.0.lock().tail.len() <= TAIL_LIMIT);
    }
}
