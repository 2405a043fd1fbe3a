//! Time limits of expectations: timeouts and hold times.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A time limit, in the unit that the case uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Number of poll intervals of the publisher.
    Refreshes(u32),
    /// Number of rounds of the program: GetCapacity calls for the same class and segment, or scheduling attempts of the same pod.
    Rounds(u32),
    /// Wall-clock time.
    Time(Duration),
}

impl FromStr for Bound {
    type Err = String;
    /// Parses `2 refreshes`, `1 round`, `10s` or `500ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no bound; write `2 refreshes`, `3 rounds`, `10s` or `500ms`");
        let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let count: u32 = text[..digits].parse().map_err(|_| wrong())?;
        match text[digits..].trim_start() {
            "refresh" | "refreshes" => Ok(Bound::Refreshes(count)),
            "round" | "rounds" => Ok(Bound::Rounds(count)),
            "s" => Ok(Bound::Time(Duration::from_secs(count.into()))),
            "ms" => Ok(Bound::Time(Duration::from_millis(count.into()))),
            _ => Err(wrong()),
        }
    }
}

impl Bound {
    /// The number of poll intervals or rounds; 0 for a wall-clock time.
    pub fn count(self) -> u32 {
        match self {
            Bound::Refreshes(count) | Bound::Rounds(count) => count,
            Bound::Time(_) => 0,
        }
    }

    /// The time limit in wall-clock time. `refresh`: the publisher's poll interval.
    pub fn time(self, refresh: Duration) -> Duration {
        match self {
            Bound::Refreshes(count) | Bound::Rounds(count) => refresh * count,
            Bound::Time(time) => time,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Refreshes(1) => f.write_str("1 refresh"),
            Bound::Refreshes(count) => write!(f, "{count} refreshes"),
            Bound::Rounds(1) => f.write_str("1 round"),
            Bound::Rounds(count) => write!(f, "{count} rounds"),
            Bound::Time(time) => write!(f, "{time:?}"),
        }
    }
}

/// Parses a duration such as `10s` or `500ms`.
pub fn duration(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(Bound::Time(time)) => Ok(time),
        _ => Err(format!("`{text}` is no duration; write `10s` or `500ms`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_format_as_they_parse() {
        for text in ["1 refresh", "2 refreshes", "1 round", "3 rounds", "10s", "500ms"] {
            assert_eq!(text.parse::<Bound>().unwrap().to_string(), text);
        }
        for text in ["", "soon", "5", "5 minutes", "-1 round"] {
            assert!(text.parse::<Bound>().unwrap_err().contains("no bound"), "{text}");
        }
    }
}
