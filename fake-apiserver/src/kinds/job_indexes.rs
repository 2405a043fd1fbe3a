//! Indexes of the pods of a job, as its status has them: numbers and ranges such as `1,3-5`.

/// Reads indexes, which must rise and stay below the count; an error says what is wrong.
pub(super) fn read(text: &str, count: i64) -> Result<(), String> {
    let mut last = None;
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let (first, end) = interval(part, count)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(falling(last, first));
        }
        last = Some(end);
    }
    Ok(())
}

fn falling(before: i64, after: i64) -> String {
    format!("non-increasing order, previous: {before}, current: {after}")
}

fn interval(text: &str, count: i64) -> Result<(i64, i64), String> {
    let index = |text: &str| match text.parse::<i64>() {
        Err(_) => Err(format!("cannot convert string to integer for index: {text:?}")),
        Ok(index) if index >= count => Err(format!("too large index: {text:?}")),
        Ok(index) => Ok(index),
    };
    let mut limits = text.split('-');
    let (first, end) = (limits.next().unwrap_or_default(), limits.next());
    if limits.next().is_some() {
        return Err(format!(
            "the fragment {text:?} violates the requirement that an index interval can have at most two parts separated by '-'"
        ));
    }
    let first = index(first)?;
    match end.map(index).transpose()? {
        Some(end) if first >= end => Err(falling(first, end)),
        end => Ok((first, end.unwrap_or(first))),
    }
}

/// The first index that stands in both; what can't be read is passed over, for it is reported by itself.
pub(super) fn overlap(completed: &str, failed: &str, count: i64) -> Option<i64> {
    let intervals = |text: &str| -> Vec<(i64, i64)> {
        text.split(',')
            .filter_map(|part| interval(part, count).ok())
            .collect()
    };
    let (completed, failed) = (intervals(completed), intervals(failed));
    let (mut completed, mut failed) = (completed.iter().peekable(), failed.iter().peekable());
    while let (Some(one), Some(other)) = (completed.peek(), failed.peek()) {
        if one.0 <= other.1 && other.0 <= one.1 {
            return Some(one.0.max(other.0));
        }
        if one.0 <= other.0 {
            completed.next()
        } else {
            failed.next()
        };
    }
    None
}
