//! The output of a child process: a file stores the beginning and the end of the output, memory stores its end and the exit reason.
//!
//! Does not know programs; `exit_reason` knows how programs log the reason for their exit.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use memchr::memmem;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::exit_reason::{ExitReason, LINE_LIMIT, readable};
use crate::log_lines::LogLines;

/// Maximum number of bytes of the beginning of the output in the file, over all runs of the program that append to the file.
const HEAD_LIMIT: u64 = 128 * 1024;
/// Maximum number of bytes of the end of the output, in memory and in the file.
const TAIL_LIMIT: usize = 128 * 1024;

/// Text in a file that replaces omitted output. The number of omitted bytes precedes it.
pub(crate) const OMITTED: &str = "bytes are omitted here: the program logged more than is stored]";

const MASK: &str = "[secret]";

pub(crate) struct ProcessLog {
    state: Mutex<State>,
    secrets: Vec<String>,
}

struct State {
    file: Option<File>,
    /// Number of bytes that the file can still store for the beginning of the output.
    head_room: u64,
    /// Number of output bytes that are not in the file yet. `finish` writes at most the last `TAIL_LIMIT` of these bytes.
    unwritten: u64,
    /// The last bytes of the output, at most `TAIL_LIMIT`.
    tail: VecDeque<u8>,
    /// The current output line, which is not complete yet; truncated if it is long.
    line: Vec<u8>,
    exit_reason: ExitReason,
    /// Records output lines that contain a text of the case.
    lines: Option<LogLines>,
}

impl ProcessLog {
    /// Opens a log that appends to a file; without one, stores only the output's end. `lines` receives each line. `secrets` are masked.
    pub(crate) fn open(
        path: Option<&Path>,
        lines: Option<LogLines>,
        mut secrets: Vec<String>,
    ) -> std::io::Result<Self> {
        secrets.retain(|secret| !secret.is_empty());
        // Longer secrets are masked first, because one secret may contain another secret.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let open = |path| File::options().create(true).append(true).open(path);
        let file = path.map(open).transpose()?;
        let length = file
            .as_ref()
            .and_then(|file| file.metadata().ok())
            .map_or(0, |file| file.len());
        let state = Mutex::new(State {
            file,
            head_room: HEAD_LIMIT.saturating_sub(length),
            unwritten: 0,
            tail: VecDeque::new(),
            line: Vec::new(),
            exit_reason: ExitReason::default(),
            lines,
        });
        Ok(ProcessLog { state, secrets })
    }

    fn append(&self, bytes: &[u8]) {
        let mut state = self.state.lock();
        state.tail.extend(bytes);
        let surplus = state.tail.len().saturating_sub(TAIL_LIMIT);
        state.tail.drain(..surplus);
        state.read(bytes);
        let written = bytes
            .len()
            .min(usize::try_from(state.head_room).unwrap_or(usize::MAX));
        state.head_room -= written as u64;
        state.unwritten += (bytes.len() - written) as u64;
        if let Some(file) = &mut state.file {
            // A write error is ignored: a full disk must not stop the program under test. The end of the output is still in memory.
            file.write_all(&bytes[..written]).ok();
        }
    }

    /// Appends to the file the marker for omitted output and the end of the output.
    pub(crate) fn finish(&self) {
        let mut state = self.state.lock();
        let unwritten = std::mem::take(&mut state.unwritten);
        let stored = usize::try_from(unwritten)
            .unwrap_or(usize::MAX)
            .min(state.tail.len());
        let from = state.tail.len() - stored;
        let end: Vec<u8> = state.tail.range(from..).copied().collect();
        if let Some(file) = state.file.as_mut().filter(|_| unwritten > 0) {
            match unwritten - stored as u64 {
                0 => {}
                omitted => {
                    write!(file, "\n[{omitted} {OMITTED}\n").ok();
                }
            }
            file.write_all(&end).ok();
        }
    }

    /// The log line with the exit reason and related lines, if the program logged a reason.
    pub(crate) fn reason(&self) -> Option<Vec<String>> {
        let mut state = self.state.lock();
        state.end_line();
        state.exit_reason.reason().map(<[String]>::to_vec)
    }

    /// The last `count` lines of the output, without terminal control characters.
    pub(crate) fn last_lines(&self, count: usize) -> Vec<String> {
        let mut state = self.state.lock();
        let text = String::from_utf8_lossy(state.tail.make_contiguous());
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let first = lines.len().saturating_sub(count);
        lines[first..].iter().map(|line| readable(line)).collect()
    }
}

impl Drop for ProcessLog {
    fn drop(&mut self) {
        self.finish();
    }
}

impl State {
    /// Splits the output into lines, and searches each line for the exit reason and for texts of the case.
    fn read(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            // A UTF-8 character has at most four bytes.
            let room = (LINE_LIMIT * 4).saturating_sub(self.line.len());
            self.line.extend(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            let line = String::from_utf8_lossy(&line);
            if let Some(lines) = &self.lines {
                lines.record(line.trim_end());
            }
            self.exit_reason.read_line(line.trim_end());
        }
    }
}

pub(crate) async fn copy_output(mut pipe: impl AsyncRead + Unpin, log: std::sync::Arc<ProcessLog>) {
    let mut buffer = [0; 8192];
    let mut unmasked = Vec::new();
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        unmasked.extend(&buffer[..count]);
        log.append(&mask_secrets(&mut unmasked, &log.secrets));
    }
    log.append(&unmasked);
}

/// Moves the output out of the buffer and masks the secrets. Leaves a suffix in the buffer that may be the beginning of a secret.
fn mask_secrets(output: &mut Vec<u8>, secrets: &[String]) -> Vec<u8> {
    for secret in secrets.iter().map(String::as_bytes) {
        let positions: Vec<usize> = memmem::find_iter(output, secret).collect();
        for position in positions.into_iter().rev() {
            output.splice(position..position + secret.len(), MASK.bytes());
        }
    }
    let partial = |secret: &String| {
        let is_partial = |length: &usize| output.ends_with(&secret.as_bytes()[..*length]);
        (1..secret.len()).rev().find(is_partial)
    };
    let left = secrets.iter().filter_map(partial).max().unwrap_or_default();
    let rest = output.split_off(output.len() - left);
    std::mem::replace(output, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_lines_are_limited_and_without_control_characters() {
        let log = ProcessLog::open(None, None, Vec::new()).unwrap();
        for number in 0..100_000 {
            log.append(format!("line {number}\n").as_bytes());
        }
        log.append(b"\x1b[31mred \xff\n");
        log.append("x".repeat(1000).as_bytes());
        let lines = log.last_lines(3);
        assert_eq!(lines[0], "line 99999");
        assert_eq!(lines[1], "·[31mred \u{fffd}");
        assert_eq!(lines[2].chars().count(), LINE_LIMIT + 1);
        assert!(log.state.lock().tail.len() <= TAIL_LIMIT);
    }

    #[test]
    fn file_contains_beginning_end_and_number_of_omitted_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        for _ in 0..3 {
            let log = ProcessLog::open(Some(&path), None, Vec::new()).unwrap();
            log.append(b"the beginning\n");
            for _ in 0..1000 {
                log.append(&[b'x'; 1000]);
            }
            log.append(b"\nthe end\n");
            log.finish();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("the beginning\nxxx"), "{}", &text[..20]);
        assert!(text.ends_with("xxx\nthe end\n"));
        assert_eq!(text.matches("bytes are omitted here").count(), 3);
        assert!(text.len() < 5 * TAIL_LIMIT, "{}", text.len());
    }

    #[tokio::test]
    async fn secret_is_masked_across_reads() {
        let log = ProcessLog::open(
            None,
            None,
            vec!["sesa".to_owned(), "sesame".to_owned(), String::new()],
        )
        .unwrap();
        let log = std::sync::Arc::new(log);
        let pipe = b"open ses".chain(&b"ame! sesa"[..]).chain(&b"sesame ses"[..]);
        copy_output(pipe, log.clone()).await;
        assert_eq!(log.last_lines(1), ["open [secret]! [secret][secret] ses"]);
    }

    #[test]
    fn short_output_is_stored_completely() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = ProcessLog::open(Some(&path), None, Vec::new()).unwrap();
        let text = "a line\n".repeat(30_000);
        log.append(text.as_bytes());
        log.finish();
        assert!(std::fs::read_to_string(&path).unwrap() == text);
    }
}
