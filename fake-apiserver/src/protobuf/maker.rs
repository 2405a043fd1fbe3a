//! Random objects of any kind, for tests.
//!
//! Objects are generated from the type table, in their canonical JSON form: without the fields that kube-apiserver omits.

use super::scalars;
use super::table::{Message, Omission, Shape, TABLE, WireField, WireType};
use proptest::prelude::*;
use proptest::test_runner::TestRng;
use serde_json::{Map, Value, json};

/// Optional messages are not generated below this nesting depth.
const DEPTH_MAX: u32 = 6;

/// Generates objects in the JSON form that kube-apiserver writes.
pub(super) struct MessageGenerator {
    rng: TestRng,
    /// Whether to set all fields of an object; otherwise random fields.
    full: bool,
    depth: u32,
}

impl MessageGenerator {
    pub(super) fn new(seed: [u8; 32], full: bool) -> Self {
        Self {
            rng: TestRng::from_seed(prop::test_runner::RngAlgorithm::ChaCha, &seed),
            full,
            depth: 0,
        }
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.rng.next_u32() % bound
    }

    pub(super) fn object(&mut self, api_version: &str, kind: &str) -> Value {
        let message = TABLE.kind(api_version, kind).expect("the kind is in the table");
        let mut members = self.message(TABLE.message(message));
        members.insert("apiVersion".to_owned(), api_version.into());
        members.insert("kind".to_owned(), kind.into());
        members.into()
    }

    fn of_message(&mut self, message: &Message) -> Value {
        if !message.either {
            return self.message(message).into();
        }
        let is_deep = self.depth > DEPTH_MAX;
        let fits = |field: &&WireField| !is_deep || field.shape != Shape::Pointer;
        let fields: Vec<&WireField> = message.fields.iter().filter(fits).collect();
        let field = fields[self.below(fields.len() as u32) as usize];
        match field.shape {
            Shape::List if is_deep && field.of.is_struct() => json!([{}]),
            Shape::List => json!([self.value(field.of)]),
            _ => self.value(field.of),
        }
    }

    fn message(&mut self, message: &Message) -> Map<String, Value> {
        let mut out = Map::new();
        for field in &message.fields {
            match (field.member, field.of) {
                (None, WireType::Message(inner)) => out.extend(self.message(TABLE.message(inner))),
                (Some(member), _) => {
                    out.extend(self.field(field).map(|value| (member.to_owned(), value)));
                }
                (None, of) => panic!("an inlined {of:?}"),
            }
        }
        out
    }

    /// Generates the value of a field; `None` if JSON omits the field.
    fn field(&mut self, field: &WireField) -> Option<Value> {
        // Without this limit, recursive types would not end.
        let is_deep = self.depth > DEPTH_MAX && matches!(field.of, WireType::Message(_));
        let set = !is_deep && (self.full || self.below(2) == 0);
        let missing = (field.empty == Omission::Kept).then_some(Value::Null);
        match field.shape {
            Shape::One if field.of == WireType::Bytes || field.of == WireType::Strings => {
                if set {
                    Some(self.value(field.of))
                } else {
                    missing
                }
            }
            Shape::One => {
                let value = if set || field.of.is_struct() {
                    self.value(field.of)
                } else {
                    scalars::zero(field.of)
                };
                let zero = value == scalars::zero(field.of);
                let is_dropped = match field.empty {
                    Omission::Kept => false,
                    Omission::Omitted => zero && !field.of.is_struct(),
                    Omission::OmittedStruct => zero,
                };
                (!is_dropped).then_some(value)
            }
            Shape::Pointer if set => Some(self.value(field.of)),
            Shape::List if set => {
                let count = 1 + self.below(2);
                Some((0..count).map(|_| self.value(field.of)).collect())
            }
            Shape::Map if set => {
                let count = 1 + self.below(3);
                Some((0..count).map(|_| (self.text(), self.value(field.of))).collect())
            }
            _ => missing,
        }
    }

    fn value(&mut self, of: WireType) -> Value {
        match of {
            WireType::String => self.text().into(),
            WireType::Int32 => (self.rng.next_u32() as i32).into(),
            WireType::Int64 => (self.rng.next_u64() as i64).into(),
            WireType::Double => scalars::double(f64::from(self.rng.next_u32() as i32) / 4.0),
            WireType::Bool => (self.full || self.below(2) == 0).into(),
            WireType::Bytes => ["", "AA==", "aGVsbG8="][self.below(3) as usize].into(),
            WireType::Quantity => ["0", "1", "250m", "10Gi", "-3k"][self.below(5) as usize].into(),
            WireType::Time => ["2026-11-21T09:03:00Z", "1969-12-31T23:59:59Z"][self.below(2) as usize].into(),
            WireType::MicroTime => {
                ["2026-11-21T09:03:00.000001Z", "1969-12-31T23:59:59.250000Z"][self.below(2) as usize].into()
            }
            WireType::IntOrString if self.below(2) == 0 => (self.rng.next_u32() as i32).into(),
            WireType::IntOrString => self.text().into(),
            WireType::Raw => json!({"a": [1, "b", null]}),
            WireType::Strings => json!([self.text()]),
            WireType::Message(number) => {
                self.depth += 1;
                let made = self.of_message(TABLE.message(number));
                self.depth -= 1;
                made
            }
        }
    }

    fn text(&mut self) -> String {
        ["", "a", "node-1", "ä\u{0}\n", "x".repeat(200).as_str()][self.below(5) as usize].to_owned()
    }
}
