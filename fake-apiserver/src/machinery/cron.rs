//! The schedules of cron, as far as it is told what is wrong with one.
//!
//! Owns the grammar of five fields and its complaints. Knows no time.

use super::{duration, go};
use jiff::tz::TimeZone;

/// A field: the smallest and the largest number, and names for numbers from the smallest on.
struct Field {
    least: i64,
    most: i64,
    names: &'static [&'static str],
}

const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const fn numbers(least: i64, most: i64) -> Field {
    Field {
        least,
        most,
        names: &[],
    }
}

/// Minutes, hours, days of the month, months and days of the week.
const FIELDS: [Field; 5] = [
    numbers(0, 59),
    numbers(0, 23),
    numbers(1, 31),
    Field {
        names: MONTHS,
        ..numbers(1, 12)
    },
    Field {
        names: DAYS,
        ..numbers(0, 6)
    },
];

/// Schedules with names of their own.
const NAMED: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

/// Whether there is a time zone of that name (`time.LoadLocation`).
pub(crate) fn has_zone(name: &str) -> bool {
    // The database does not mind how letters are written, and Go does.
    let found = || TimeZone::get(name).ok();
    ["", "UTC", "Local"].contains(&name) || found().is_some_and(|zone| zone.iana_name() == Some(name))
}

/// What is wrong with a schedule, if anything is.
pub(crate) fn fault(schedule: &str) -> Option<String> {
    check(schedule).err()
}

fn check(schedule: &str) -> Result<(), String> {
    let is_zoned = ["TZ=", "CRON_TZ="].iter().any(|zone| schedule.starts_with(zone));
    let schedule = match schedule.split_once(' ') {
        Some((zone, rest)) if is_zoned => {
            let zone = zone.split_once('=').map_or("", |(_, zone)| zone);
            if !has_zone(zone) {
                return Err(format!("provided bad location {zone}: unknown time zone {zone}"));
            }
            rest.trim()
        }
        None if is_zoned => {
            let why = "runtime error: slice bounds out of range [:-1]";
            return Err(format!("invalid schedule format: {why}"));
        }
        _ => schedule,
    };
    if schedule.starts_with('@') {
        return named(schedule);
    }
    let found: Vec<&str> = schedule.split_whitespace().collect();
    if found.len() != FIELDS.len() {
        let (most, count) = (FIELDS.len(), found.len());
        let fields = found.join(" ");
        return Err(format!(
            "expected exactly {most} fields, found {count}: [{fields}]"
        ));
    }
    found.iter().zip(&FIELDS).try_for_each(|(text, field)| {
        let mut ranges = text.split(',').filter(|range| !range.is_empty());
        ranges.try_for_each(|range| field.check(range))
    })
}

fn named(schedule: &str) -> Result<(), String> {
    if NAMED.contains(&schedule) {
        return Ok(());
    }
    match schedule.strip_prefix("@every ").map(duration::parse) {
        Some(Ok(_)) => Ok(()),
        Some(Err(why)) => Err(format!("failed to parse duration {schedule}: {why}")),
        None => Err(format!("unrecognized descriptor: {schedule}")),
    }
}

impl Field {
    /// Judges a range with its step: `*`, `2`, `2-5`, and these with `/2`.
    fn check(&self, range: &str) -> Result<(), String> {
        let mut parts = range.split('/');
        let bounds: Vec<&str> = parts.next().unwrap_or_default().split('-').collect();
        let (least, most) = match bounds.as_slice() {
            ["*" | "?", ..] => (self.least, self.most),
            [only] => {
                let only = self.number(only)?;
                (only, only)
            }
            [first, last] => (self.number(first)?, self.number(last)?),
            [first, ..] => {
                self.number(first)?;
                return Err(format!("too many hyphens: {range}"));
            }
            [] => (self.least, self.most),
        };
        let (step, most) = match (parts.next(), parts.next()) {
            (None, _) => (1, most),
            (Some(step), None) if bounds.len() == 1 => (number(step)?, self.most),
            (Some(step), None) => (number(step)?, most),
            (Some(_), Some(_)) => return Err(format!("too many slashes: {range}")),
        };
        let (lowest, highest) = (self.least, self.most);
        if least < lowest {
            return Err(format!(
                "beginning of range ({least}) below minimum ({lowest}): {range}"
            ));
        }
        if most > highest {
            return Err(format!(
                "end of range ({most}) above maximum ({highest}): {range}"
            ));
        }
        if least > most {
            return Err(format!(
                "beginning of range ({least}) beyond end of range ({most}): {range}"
            ));
        }
        if step == 0 {
            return Err(format!("step of range should be a positive number: {range}"));
        }
        Ok(())
    }

    fn number(&self, text: &str) -> Result<i64, String> {
        let lower = text.to_lowercase();
        let named = self.names.iter().position(|name| *name == lower);
        match named.and_then(|at| i64::try_from(at).ok()) {
            Some(at) => Ok(self.least + at),
            None => number(text),
        }
    }
}

fn number(text: &str) -> Result<i64, String> {
    let number: i64 = text.parse().map_err(|error| {
        let why = go::no_number("Atoi", text, &error);
        format!("failed to parse int from {text}: {why}")
    })?;
    match number {
        ..0 => Err(format!("negative number ({number}) not allowed: {text}")),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_those_of_cron() {
        for legal in [
            "* * * * *",
            " 0 0 31 2 * ",
            "1-5/2,7 */2 ? jan-DEC SUN",
            "1,,2 * * * *",
            "*/70 * * * *",
            "@hourly",
            "@every 1h30m",
            "TZ=UTC 0 0 * * *",
        ] {
            assert_eq!(fault(legal), None, "{legal}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_as_cron_tells_it() {
        for (schedule, said) in [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "5-1 * * * *",
                "beginning of range (5) beyond end of range (1): 5-1",
            ),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            (
                "* * * foo *",
                "failed to parse int from foo: strconv.Atoi: parsing \"foo\": invalid syntax",
            ),
            ("@reboot", "unrecognized descriptor: @reboot"),
            (
                "@every x",
                "failed to parse duration @every x: time: invalid duration \"x\"",
            ),
        ] {
            assert_eq!(fault(schedule).as_deref(), Some(said), "{schedule}");
        }
    }
}
