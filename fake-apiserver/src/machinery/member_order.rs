//! The order in which a body has its members, which a parsed one has lost.
//!
//! Asked for only where several members are at fault: the real server tells of them as it comes to them.

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::fmt;

/// A member or an entry at a path (`spec.ports[0].name`), at the time at which a body comes to it: the first, or the second.
pub(crate) type Meeting<'p> = (&'p str, u8);

/// Where a body of JSON comes to members: the one with the lowest number is the first one. What it does not come to is last.
pub(crate) fn places(body: &[u8], wanted: &[Meeting<'_>]) -> Vec<usize> {
    let places = RefCell::new(Places {
        wanted,
        left: wanted.iter().map(|(_, time)| *time).collect(),
        of: vec![usize::MAX; wanted.len()],
        next: 0,
    });
    let root = Walk {
        path: String::new(),
        places: &places,
    };
    // What was parsed once is parsed again: it cannot fail, and where it did, all would be last.
    let read = root.deserialize(&mut serde_json::Deserializer::from_slice(body));
    debug_assert!(read.is_ok(), "a body that was read is JSON");
    places.into_inner().of
}

/// Where each of them was met.
struct Places<'p> {
    wanted: &'p [Meeting<'p>],
    /// How often each is still to be met.
    left: Vec<u8>,
    of: Vec<usize>,
    next: usize,
}

/// What is below a path.
struct Walk<'a, 'p> {
    path: String,
    places: &'a RefCell<Places<'p>>,
}

impl Walk<'_, '_> {
    /// Takes a place down, and says whether anything that is wanted is below it.
    fn meet(&self, path: &str) -> bool {
        let mut places = self.places.borrow_mut();
        let Places {
            wanted,
            left,
            of,
            next,
        } = &mut *places;
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

    fn below(&self, path: String) -> Self {
        Walk {
            path,
            places: self.places,
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
            let item = match self.meet(&path) {
                true => items.next_element_seed(self.below(path))?,
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
            match self.meet(&path) {
                true => members.next_value_seed(self.below(path))?,
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
    fn members_are_told_of_as_a_body_comes_to_them() {
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
        let places = places(body, &wanted);
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by_key(|i| places[*i]);
        assert_eq!(order, [6, 5, 4, 3, 2, 0, 1]);
    }
}
