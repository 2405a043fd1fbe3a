//! Values of one type from those of another; points in time and durations, and their parts.

use super::found::Found;
use crate::machinery::go;
use crate::rules::failure::Failure;
use crate::rules::instants::{duration, time};
use crate::rules::value::Val;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp, Zoned};

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let [value] = args else {
        return None;
    };
    let converted = match name {
        "dyn" => Some(value.clone()),
        "type" => Some(Val::Type(value.type_name())),
        "int" => whole(value)?.map(Val::Int),
        "uint" => match value {
            Val::Uint(value) => Some(Val::Uint(*value)),
            other => whole(other)?
                .and_then(|whole| u64::try_from(whole).ok())
                .map(Val::Uint),
        },
        "double" => float(value)?.map(Val::Double),
        "string" => Some(Val::text(shown(value)?)),
        "bool" => match value {
            Val::Bool(value) => Some(Val::Bool(*value)),
            Val::Text(text) => truth(text).map(Val::Bool),
            _ => return None,
        },
        "bytes" => match value {
            Val::Text(text) => Some(Val::Bytes(text.as_bytes().into())),
            Val::Bytes(bytes) => Some(Val::Bytes(bytes.clone())),
            _ => return None,
        },
        "duration" => match value {
            Val::Text(text) => duration(text).map(Val::Duration),
            Val::Int(nanos) => Some(Val::Duration(SignedDuration::from_nanos(*nanos))),
            Val::Duration(value) => Some(Val::Duration(*value)),
            _ => return None,
        },
        "timestamp" => match value {
            Val::Text(text) => time(text).map(Val::Time),
            Val::Int(seconds) => Timestamp::from_second(*seconds).ok().map(Val::Time),
            Val::Time(value) => Some(Val::Time(*value)),
            _ => return None,
        },
        _ => return None,
    };
    Some(converted.ok_or_else(|| unconverted(name, value)))
}

/// What is said of a value that has none of the other type.
fn unconverted(name: &str, value: &Val<'_>) -> Failure {
    let name = match name {
        "duration" => "google.protobuf.Duration",
        "timestamp" => "google.protobuf.Timestamp",
        name => name,
    };
    Failure::new(match (name, value) {
        ("int", Val::Double(_) | Val::Uint(_)) => "integer overflow".to_owned(),
        ("uint", Val::Double(_) | Val::Int(_)) => "unsigned integer overflow".to_owned(),
        _ => format!("type conversion error from '{}' to '{name}'", value.type_name()),
    })
}

/// What Go takes for true or false.
fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// A whole number: none for other types, `None` inside for values without one.
fn whole(value: &Val<'_>) -> Option<Option<i64>> {
    match value {
        Val::Int(value) => Some(Some(*value)),
        Val::Uint(value) => Some(i64::try_from(*value).ok()),
        Val::Double(value) => {
            let is_whole = value.is_finite() && value.abs() < 9.3e18;
            Some(is_whole.then_some(*value as i64))
        }
        Val::Text(text) => Some(text.parse().ok()),
        Val::Time(time) => Some(Some(time.as_second())),
        Val::Duration(value) => Some(i64::try_from(value.as_nanos()).ok()),
        _ => None,
    }
}

fn float(value: &Val<'_>) -> Option<Option<f64>> {
    match value {
        Val::Double(value) => Some(Some(*value)),
        Val::Int(value) => Some(Some(*value as f64)),
        Val::Uint(value) => Some(Some(*value as f64)),
        Val::Text(text) => Some(text.parse().ok()),
        _ => None,
    }
}

/// A value as text; none for types that have none.
pub(in crate::rules) fn shown(value: &Val<'_>) -> Option<String> {
    Some(match value {
        Val::Text(text) => text.to_string(),
        Val::Bool(value) => value.to_string(),
        Val::Int(value) => value.to_string(),
        Val::Uint(value) => value.to_string(),
        Val::Double(value) => go::float(*value),
        Val::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Val::Time(time) => time.to_string(),
        Val::Duration(value) => format!("{}s", value.as_secs_f64()),
        Val::Ip(ip) => ip.to_string(),
        Val::Cidr(range) => range.to_string(),
        Val::Type(name) => (*name).to_owned(),
        _ => return None,
    })
}

/// Parts of points in time and of durations.
pub(super) fn part<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let value = match args {
        [Val::Duration(value)] => of_duration(name, *value)?,
        [Val::Time(time)] => of_time(name, &time.to_zoned(TimeZone::UTC))?,
        [Val::Time(time), Val::Text(zone)] => match zone_named(zone) {
            Ok(zone) => of_time(name, &time.to_zoned(zone))?,
            Err(failure) => return Some(Err(failure)),
        },
        _ => return None,
    };
    Some(Ok(Val::Int(value)))
}

/// A time zone by its name, or by its distance from UTC in hours and minutes.
fn zone_named(name: &str) -> Result<TimeZone, Failure> {
    let Some((hours, minutes)) = name.split_once(':') else {
        return TimeZone::get(name).map_err(|_| Failure::new(format!("unknown time zone {name}")));
    };
    let (hour, minute): (i32, i32) = match (hours.parse(), minutes.parse()) {
        (Ok(hour), Ok(minute)) => (hour, minute),
        _ => {
            return Err(Failure::new(format!(
                "strconv.Atoi: parsing {name:?}: invalid syntax"
            )));
        }
    };
    let minute = if hours.starts_with('-') { -minute } else { minute };
    let offset = Offset::from_seconds(hour * 3600 + minute * 60);
    offset
        .map(TimeZone::fixed)
        .map_err(|_| Failure::new(format!("unknown time zone {name}")))
}

fn of_duration(name: &str, value: SignedDuration) -> Option<i64> {
    Some(match name {
        "getHours" => value.as_secs() / 3600,
        "getMinutes" => value.as_secs() / 60,
        "getSeconds" => value.as_secs(),
        "getMilliseconds" => i64::try_from(value.as_millis()).unwrap_or(i64::MAX),
        _ => return None,
    })
}

/// Months and days of the month, of the year and of the week are counted from 0.
fn of_time(name: &str, time: &Zoned) -> Option<i64> {
    Some(match name {
        "getFullYear" => i64::from(time.year()),
        "getMonth" => i64::from(time.month()) - 1,
        "getDate" => i64::from(time.day()),
        "getDayOfMonth" => i64::from(time.day()) - 1,
        "getDayOfYear" => i64::from(time.day_of_year()) - 1,
        "getDayOfWeek" => i64::from(time.weekday().to_sunday_zero_offset()),
        "getHours" => i64::from(time.hour()),
        "getMinutes" => i64::from(time.minute()),
        "getSeconds" => i64::from(time.second()),
        "getMilliseconds" => i64::from(time.millisecond()),
        _ => return None,
    })
}
