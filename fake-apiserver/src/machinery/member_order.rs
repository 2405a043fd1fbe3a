//! The order of fields in a JSON body, which the parsed value does not preserve.
//!
//! Used only if several fields are invalid: kube-apiserver reports errors in the order of the fields in the body.

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::fmt;

/// A field path such as `spec.ports[0].name`, and whether the first (1) or second (2) occurrence of the field in the body is meant.
pub(crate) type Occurrence<'p> = (&'p str, u8);

/// The positions of the wanted fields in a JSON body, as ordinal numbers. A field missing in the body gets `usize::MAX`.
pub(crate) fn positions(body: &[u8], wanted: &[Occurrence<'_>]) -> Vec<usize> {
    let positions = RefCell::new(Positions {
        wanted,
        left: wanted.iter().map(|(_, time)| *time).collect(),
        of: vec![usize::MAX; wanted.len()],
        next: 0,
    });
    let root = Walk {
        path: String::new(),
        positions: &positions,
    };
    // The body was parsed before, so this parse does not fail; if it did, all fields would count as missing.
    let read = root.deserialize(&mut serde_json::Deserializer::from_slice(body));
    debug_assert!(read.is_ok(), "the body was parsed as JSON before");
    positions.into_inner().of
}

/// The positions of the wanted fields found so far.
struct Positions<'p> {
    wanted: &'p [Occurrence<'p>],
    /// For each wanted field, the number of its occurrences that the search must still skip.
    left: Vec<u8>,
    of: Vec<usize>,
    next: usize,
}

/// Visits the fields below a path in a JSON body.
struct Walk<'a, 'p> {
    path: String,
    positions: &'a RefCell<Positions<'p>>,
}

impl Walk<'_, '_> {
    /// Records the position of a field path; returns whether a wanted field is below that path.
    fn record(&self, path: &str) -> bool {
        let mut positions = self.positions.borrow_mut();
        let Positions {
            wanted,
            left,
            of,
            next,
        } = &mut *positions;
        *next += 1;
        let mut goes_on = false;
        for (i, (wanted, _)) in wanted.iter().enumerate() {
            match wanted.strip_prefix(path) {
                Some("") => {
                    left[i] = left[i].saturating_sub(1);
                    if left[i] == 0 && of[i] == usize::MAX {
                        of[i] = *next;
                    }
                }
                Some(rest) if rest.starts_with(['.', '[']) => goes_on = true,
                _ => {}
            }
        }
        goes_on
    }

    fn walk_below(&self, path: String) -> Self {
        Walk {
            path,
            positions: self.positions,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for i in 0.. {
            let path = format!("{}[{i}]", self.path);
            let item = match self.record(&path) {
                true => items.next_element_seed(self.walk_below(path))?,
                false => items.next_element::<IgnoredAny>()?.map(drop),
            };
            if item.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(key) = members.next_key::<String>()? {
            let path = match self.path.as_str() {
                "" => key,
                path => format!("{path}.{key}"),
            };
            match self.record(&path) {
                true => members.next_value_seed(self.walk_below(path))?,
                false => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_numbered_in_the_order_of_the_body() {
        let body = br#"{"z": {"b": [1, {"y": 1, "x": {}}], "a": 2}, "c": 1, "z": null, "b": null}"#;
        let wanted = [
            ("b", 1),
            ("nowhere", 1),
            ("z", 2),
            ("z.a", 1),
            ("z.b[1].x", 1),
            ("z.b[1].y", 1),
            ("z.b[0]", 1),
        ];
        let positions = positions(body, &wanted);
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by_key(|i| positions[*i]);
        assert_eq!(order, [6, 5, 4, 3, 2, 0, 1]);
    }
}
