//! Unified diffs that match Python's difflib, whose Go port kube-apiserver uses.
//!
//! Finds the longest common block of lines, then recurses before and after it. Does not know the content of the lines.

use std::collections::HashMap;
use std::ops::Range;

const CONTEXT: usize = 3;

/// In a text of at least this many lines, a line that makes up more than 1 % of the text cannot start a block (difflib's `autojunk`).
const LONG: usize = 200;

/// A block of consecutive lines common to both texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    old: usize,
    new: usize,
    len: usize,
}

/// A line range of the old text with the corresponding range of the new text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    is_same: bool,
    old: Range<usize>,
    new: Range<usize>,
}

/// The unified diff; empty if the texts are equal.
pub(crate) fn unified_diff(old: &[String], new: &[String]) -> String {
    let mut out = String::new();
    for hunk in hunks(changed_and_unchanged_parts(old, new)) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            continue;
        };
        let (before, after) = (first.old.start..last.old.end, first.new.start..last.new.end);
        out.push_str(&format!(
            "@@ -{} +{} @@\n",
            hunk_range(&before),
            hunk_range(&after)
        ));
        for part in &hunk {
            let signs = if part.is_same { [" ", ""] } else { ["-", "+"] };
            let sides = [
                (signs[0], &old[part.old.clone()]),
                (signs[1], &new[part.new.clone()]),
            ];
            for (sign, lines) in sides.into_iter().filter(|(sign, _)| !sign.is_empty()) {
                lines
                    .iter()
                    .for_each(|line| out.extend([sign, line.as_str(), "\n"]));
            }
        }
    }
    out
}

fn hunk_range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        len => format!("{},{len}", lines.start + 1),
    }
}

/// Groups the parts of a diff into hunks with context. An unchanged part longer than twice the context separates two hunks.
fn hunks(mut parts: Vec<Part>) -> Vec<Vec<Part>> {
    if let Some(first) = parts.first_mut().filter(|part| part.is_same) {
        *first = context_before_change(first);
    }
    if let Some(last) = parts.last_mut().filter(|part| part.is_same) {
        *last = context_after_change(last);
    }
    let mut hunks = vec![Vec::new()];
    for part in parts {
        let (shown, next) = match part.is_same && part.old.len() > 2 * CONTEXT {
            true => (
                context_after_change(&part),
                Some(vec![context_before_change(&part)]),
            ),
            false => (part, None),
        };
        if let Some(hunk) = hunks.last_mut() {
            hunk.push(shown);
        }
        hunks.extend(next);
    }
    hunks.retain(|hunk| hunk.iter().any(|part| !part.is_same));
    hunks
}

/// The first lines of an unchanged part, shown as context after a change.
fn context_after_change(part: &Part) -> Part {
    let len = part.old.len().min(CONTEXT);
    Part {
        old: part.old.start..part.old.start + len,
        new: part.new.start..part.new.start + len,
        ..*part
    }
}

/// The last lines of an unchanged part, shown as context before a change.
fn context_before_change(part: &Part) -> Part {
    let len = part.old.len().min(CONTEXT);
    Part {
        old: part.old.end - len..part.old.end,
        new: part.new.end - len..part.new.end,
        ..*part
    }
}

fn changed_and_unchanged_parts(old: &[String], new: &[String]) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut i, mut j) = (0, 0);
    let end = Block {
        old: old.len(),
        new: new.len(),
        len: 0,
    };
    for block in blocks(old, new).into_iter().chain([end]) {
        let changed = (i..block.old, j..block.new);
        (i, j) = (block.old + block.len, block.new + block.len);
        let same = (block.old..i, block.new..j);
        for (is_same, (old, new)) in [(false, changed), (true, same)] {
            if !old.is_empty() || !new.is_empty() {
                parts.push(Part { is_same, old, new });
            }
        }
    }
    parts
}

/// The common blocks in order: the longest block, and recursively the blocks before and after it.
fn blocks(old: &[String], new: &[String]) -> Vec<Block> {
    let positions = positions(new);
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = vec![(0..old.len(), 0..new.len())];
    while let Some((olds, news)) = open.pop() {
        let block = longest_common_block(old, new, &positions, &olds, &news);
        if block.len == 0 {
            continue;
        }
        blocks.push(block);
        open.push((olds.start..block.old, news.start..block.new));
        open.push((block.old + block.len..olds.end, block.new + block.len..news.end));
    }
    blocks.sort_by_key(|block| block.old);
    blocks
        .into_iter()
        .fold(Vec::new(), |mut joined: Vec<Block>, block| {
            match joined.last_mut() {
                Some(last) if (last.old + last.len, last.new + last.len) == (block.old, block.new) => {
                    last.len += block.len;
                }
                _ => joined.push(block),
            }
            joined
        })
}

/// For each line that may start a block, the positions of that line in the new text.
fn positions(new: &[String]) -> HashMap<&str, Vec<usize>> {
    let mut positions: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in new.iter().enumerate() {
        positions.entry(line).or_default().push(at);
    }
    if new.len() >= LONG {
        positions.retain(|_, positions| positions.len() <= new.len() / 100 + 1);
    }
    positions
}

/// The longest common block; of several equally long blocks, the first.
fn longest_common_block(
    old: &[String],
    new: &[String],
    positions: &HashMap<&str, Vec<usize>>,
    olds: &Range<usize>,
    news: &Range<usize>,
) -> Block {
    let mut best = Block {
        old: olds.start,
        new: news.start,
        len: 0,
    };
    // For each position in the new text, the length of the common block that ends at this position and at the previous old line.
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for i in olds.clone() {
        let mut ending = HashMap::new();
        let found = positions.get(old[i].as_str()).into_iter().flatten();
        for &j in found.filter(|j| news.contains(j)) {
            let before = j.checked_sub(1).and_then(|before| lengths.get(&before));
            let len = before.copied().unwrap_or_default() + 1;
            ending.insert(j, len);
            if len > best.len {
                best = Block {
                    old: i + 1 - len,
                    new: j + 1 - len,
                    len,
                };
            }
        }
        lengths = ending;
    }
    // A line that may not start a block can still extend a block.
    while best.old > olds.start && best.new > news.start && old[best.old - 1] == new[best.new - 1] {
        best.old -= 1;
        best.new -= 1;
        best.len += 1;
    }
    while best.old + best.len < olds.end
        && best.new + best.len < news.end
        && old[best.old + best.len] == new[best.new + best.len]
    {
        best.len += 1;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str) -> String {
        let [old, new] = [old, new].map(|text| text.chars().map(String::from).collect::<Vec<_>>());
        unified_diff(&old, &new).replace('\n', ";")
    }

    #[test]
    fn equal_texts_have_an_empty_diff() {
        assert_eq!(diff("abc", "abc"), "");
        assert_eq!(diff("", ""), "");
    }

    #[test]
    fn a_change_is_shown_with_context_lines() {
        assert_eq!(
            diff("abcdefghi", "abcdXfghi"),
            "@@ -2,7 +2,7 @@; b; c; d;-e;+X; f; g; h;"
        );
        assert_eq!(diff("ab", "Xab"), "@@ -1,2 +1,3 @@;+X; a; b;");
        assert_eq!(diff("a", ""), "@@ -1 +0,0 @@;-a;");
    }

    #[test]
    fn distant_changes_are_in_separate_hunks() {
        assert_eq!(
            diff("abcdefghijk", "Xbcdefghijk"),
            "@@ -1,4 +1,4 @@;-a;+X; b; c; d;"
        );
        assert_eq!(
            diff("abcdefghijk", "XbcdefghijY"),
            "@@ -1,4 +1,4 @@;-a;+X; b; c; d;@@ -8,4 +8,4 @@; h; i; j;-k;+Y;"
        );
        assert_eq!(
            diff("abcdefgh", "XbcdefgY"),
            "@@ -1,8 +1,8 @@;-a;+X; b; c; d; e; f; g;-h;+Y;"
        );
    }

    #[test]
    fn the_first_of_the_longest_blocks_is_unchanged() {
        // The expected text is the output of Python's difflib.
        assert_eq!(
            diff("qabxcd", "abycdf"),
            "@@ -1,6 +1,6 @@;-q; a; b;-x;+y; c; d;+f;"
        );
        assert_eq!(diff("abab", "ab"), "@@ -1,4 +1,2 @@; a; b;-a;-b;");
    }
}
