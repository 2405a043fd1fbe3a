//! What a child process says: its beginning and its end are kept, in a file and in memory, and what it died of.
//!
//! Knows no program; how programs give their last reason is `last_words`'.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use memchr::memmem;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::last_words::{LINE_LIMIT, LastWords, readable};
use crate::log_lines::LogLines;

/// Bytes of the beginning that a file keeps, over all runs of the program that append to it.
const HEAD_LIMIT: u64 = 128 * 1024;
/// Bytes of the end that are kept.
const TAIL_LIMIT: usize = 128 * 1024;

/// What stands in a file where it lacks something, after the number of bytes.
pub(crate) const LEFT_OUT: &str = "bytes are left out here: the program said more than is kept]";

/// Replaces a secret.
const MASK: &str = "[secret]";

/// The output of one process.
pub(crate) struct ProcessLog {
    state: Mutex<State>,
    secrets: Vec<String>,
}

struct State {
    file: Option<File>,
    /// Bytes that the file takes before it is full.
    room: u64,
    /// Bytes that came after that, and are not in the file yet.
    surplus: u64,
    /// The last bytes of all.
    tail: VecDeque<u8>,
    /// The line that is not at its end yet, as far as it is looked at.
    line: Vec<u8>,
    words: LastWords,
    /// What the case asks for.
    lines: Option<LogLines>,
}

impl ProcessLog {
    /// Appends to that file; without one only the end is kept. `lines`: who listens. `secrets`: what is replaced in the output.
    pub(crate) fn open(
        path: Option<&Path>,
        lines: Option<LogLines>,
        mut secrets: Vec<String>,
    ) -> std::io::Result<Self> {
        secrets.retain(|secret| !secret.is_empty());
        // One may be a part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let open = |path| File::options().create(true).append(true).open(path);
        let file = path.map(open).transpose()?;
        let length = file
            .as_ref()
            .and_then(|file| file.metadata().ok())
            .map_or(0, |file| file.len());
        let state = Mutex::new(State {
            file,
            room: HEAD_LIMIT.saturating_sub(length),
            surplus: 0,
            tail: VecDeque::new(),
            line: Vec::new(),
            words: LastWords::default(),
            lines,
        });
        Ok(ProcessLog { state, secrets })
    }

    fn append(&self, bytes: &[u8]) {
        let mut state = self.state.lock();
        state.tail.extend(bytes);
        let surplus = state.tail.len().saturating_sub(TAIL_LIMIT);
        state.tail.drain(..surplus);
        state.look_at(bytes);
        let taken = bytes.len().min(usize::try_from(state.room).unwrap_or(usize::MAX));
        state.room -= taken as u64;
        state.surplus += (bytes.len() - taken) as u64;
        if let Some(file) = &mut state.file {
            // A full disk must not end what is being tested; the last lines are still there.
            file.write_all(&bytes[..taken]).ok();
        }
    }

    /// Writes what the file lacks: how much is left out, and the end.
    pub(crate) fn finish(&self) {
        let mut state = self.state.lock();
        let surplus = std::mem::take(&mut state.surplus);
        let kept = usize::try_from(surplus)
            .unwrap_or(usize::MAX)
            .min(state.tail.len());
        let from = state.tail.len() - kept;
        let end: Vec<u8> = state.tail.range(from..).copied().collect();
        if let Some(file) = state.file.as_mut().filter(|_| surplus > 0) {
            match surplus - kept as u64 {
                0 => {}
                gone => {
                    write!(file, "\n[{gone} {LEFT_OUT}\n").ok();
                }
            }
            file.write_all(&end).ok();
        }
    }

    /// What the process ended for, as far as it said so, with what stands below that line.
    pub(crate) fn reason(&self) -> Option<Vec<String>> {
        let mut state = self.state.lock();
        state.end_line();
        state.words.reason().map(<[String]>::to_vec)
    }

    /// The last lines, without what would confuse a terminal.
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
    fn look_at(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            // Four bytes are the longest character.
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
                lines.hear(line.trim_end());
            }
            self.words.take(line.trim_end());
        }
    }
}

/// Reads a pipe to its end, however much comes.
pub(crate) async fn copy(mut pipe: impl AsyncRead + Unpin, log: std::sync::Arc<ProcessLog>) {
    let mut buffer = [0; 8192];
    let mut unmasked = Vec::new();
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        unmasked.extend(&buffer[..count]);
        log.append(&masked(&mut unmasked, &log.secrets));
    }
    log.append(&unmasked);
}

/// Takes the output with secrets replaced, and leaves its end where that may be the beginning of a secret.
fn masked(output: &mut Vec<u8>, secrets: &[String]) -> Vec<u8> {
    for secret in secrets.iter().map(String::as_bytes) {
        let places: Vec<usize> = memmem::find_iter(output, secret).collect();
        for place in places.into_iter().rev() {
            output.splice(place..place + secret.len(), MASK.bytes());
        }
    }
    let begun = |secret: &String| {
        let is_begun = |length: &usize| output.ends_with(&secret.as_bytes()[..*length]);
        (1..secret.len()).rev().find(is_begun)
    };
    let left = secrets.iter().filter_map(begun).max().unwrap_or_default();
    let rest = output.split_off(output.len() - left);
    std::mem::replace(output, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_bounded_and_harmless() {
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
    fn a_file_keeps_beginning_and_end_and_says_what_it_lacks() {
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
        assert_eq!(text.matches("bytes are left out here").count(), 3);
        assert!(text.len() < 5 * TAIL_LIMIT, "{}", text.len());
    }

    #[tokio::test]
    async fn a_secret_is_replaced_also_where_two_reads_meet() {
        let log = ProcessLog::open(
            None,
            None,
            vec!["sesa".to_owned(), "sesame".to_owned(), String::new()],
        )
        .unwrap();
        let log = std::sync::Arc::new(log);
        let pipe = b"open ses".chain(&b"ame! sesa"[..]).chain(&b"sesame ses"[..]);
        copy(pipe, log.clone()).await;
        assert_eq!(log.last_lines(1), ["open [secret]! [secret][secret] ses"]);
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = ProcessLog::open(Some(&path), None, Vec::new()).unwrap();
        let text = "a line\n".repeat(30_000);
        log.append(text.as_bytes());
        log.finish();
        assert!(std::fs::read_to_string(&path).unwrap() == text);
    }
}
