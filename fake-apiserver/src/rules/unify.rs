//! Which types go together, and what types that are not known yet turn out to be.
//!
//! Does not know expressions.

use super::types::CelType;
use std::collections::HashMap;
use std::sync::Arc;

/// Variables in signatures are numbered below this one.
const LETTERS: u32 = 26;

/// What is known of types that were not known before.
#[derive(Clone, Debug, Default)]
pub(super) struct Bindings<'a> {
    known: HashMap<u32, CelType<'a>>,
    /// What was known before of what the attempt under way has changed.
    changes: Vec<(u32, Option<CelType<'a>>)>,
    made: u32,
}

impl<'a> Bindings<'a> {
    /// A type of which nothing is known yet.
    pub(super) fn fresh(&mut self) -> CelType<'a> {
        self.made += 1;
        CelType::Variable(LETTERS + self.made - 1)
    }

    /// Types of a signature, with types of which nothing is known yet in the places of its letters.
    pub(super) fn instantiate(&mut self, types: &[&CelType<'a>]) -> Vec<CelType<'a>> {
        let mut letters = Bindings::default();
        for of in types {
            self.rename(of, &mut letters);
        }
        types.iter().map(|of| letters.resolve(of)).collect()
    }

    fn rename(&mut self, of: &CelType<'a>, letters: &mut Self) {
        match of {
            CelType::Variable(letter) if !letters.known.contains_key(letter) => {
                let fresh = self.fresh();
                letters.known.insert(*letter, fresh);
            }
            other => other
                .parts()
                .into_iter()
                .for_each(|part| self.rename(part, letters)),
        }
    }

    /// The type, as far as it is known.
    pub(super) fn resolve(&self, of: &CelType<'a>) -> CelType<'a> {
        self.put(of, &|number| CelType::Variable(number))
    }

    /// The type; what is not known of it is anything.
    pub(super) fn settle(&self, of: &CelType<'a>) -> CelType<'a> {
        self.put(of, &|_| CelType::Dyn)
    }

    fn put(&self, of: &CelType<'a>, unknown: &impl Fn(u32) -> CelType<'a>) -> CelType<'a> {
        let inner = |of: &CelType<'a>| Arc::new(self.put(of, unknown));
        match of {
            CelType::Variable(number) => match self.known.get(number) {
                Some(known) => self.put(known, unknown),
                None => unknown(*number),
            },
            CelType::List(item) => CelType::List(inner(item)),
            CelType::Map(key, value) => CelType::Map(inner(key), inner(value)),
            CelType::Optional(of) => CelType::Optional(inner(of)),
            CelType::Type(of) => CelType::Type(inner(of)),
            other => other.clone(),
        }
    }

    /// Whether values of one type can stand where the other is wanted; notes what that tells of unknown types.
    pub(super) fn assign(&mut self, one: &CelType<'a>, other: &CelType<'a>) -> bool {
        self.assign_all(&[(one, other)])
    }

    /// The same for several, all or none.
    pub(super) fn assign_all(&mut self, pairs: &[(&CelType<'a>, &CelType<'a>)]) -> bool {
        self.changes.clear();
        let fits = pairs.iter().all(|(one, other)| self.fits(one, other));
        if !fits {
            while let Some((number, before)) = self.changes.pop() {
                match before {
                    Some(before) => self.known.insert(number, before),
                    None => self.known.remove(&number),
                };
            }
        }
        fits
    }

    fn note(&mut self, number: u32, of: CelType<'a>) {
        let before = self.known.insert(number, of);
        self.changes.push((number, before));
    }

    fn fits(&mut self, one: &CelType<'a>, other: &CelType<'a>) -> bool {
        if let CelType::Variable(number) = other {
            match self.bind(*number, one) {
                Bound::Fits => return true,
                Bound::Otherwise => return false,
                Bound::Circular => {}
            }
        }
        if let CelType::Variable(number) = one {
            return matches!(self.bind(*number, other), Bound::Fits);
        }
        match (one, other) {
            _ if one.is_any() || other.is_any() => true,
            (CelType::Null, of) | (of, CelType::Null) => is_nullable(of),
            (CelType::Type(_), CelType::Type(_)) => true,
            (CelType::List(_), CelType::List(_))
            | (CelType::Map(..), CelType::Map(..))
            | (CelType::Optional(_), CelType::Optional(_)) => {
                let parts = one.parts().into_iter().zip(other.parts());
                parts.into_iter().all(|(one, other)| self.fits(one, other))
            }
            _ => one == other,
        }
    }

    /// Notes that a variable stands for a type, unless it is known to stand for another.
    fn bind(&mut self, number: u32, of: &CelType<'a>) -> Bound {
        let variable = CelType::Variable(number);
        if variable == *of {
            return Bound::Fits;
        }
        let Some(known) = self.known.get(&number).cloned() else {
            if self.occurs(&variable, of) {
                return Bound::Circular;
            }
            self.note(number, of.clone());
            return Bound::Fits;
        };
        if *of == known {
            return Bound::Fits;
        }
        if !self.fits(of, &known) {
            return Bound::Otherwise;
        }
        let wider = wider(of, &known).clone();
        if !self.occurs(&variable, &wider) {
            self.note(number, wider);
        }
        Bound::Fits
    }

    /// Whether a type is, or is part of, another.
    fn occurs(&self, variable: &CelType<'a>, of: &CelType<'a>) -> bool {
        if variable == of {
            return true;
        }
        match of {
            CelType::Variable(number) => match self.known.get(number) {
                Some(known) => self.occurs(variable, known),
                None => false,
            },
            other => other.parts().into_iter().any(|part| self.occurs(variable, part)),
        }
    }
}

/// What came of the attempt to let a variable stand for a type.
enum Bound {
    Fits,
    /// It stands for another.
    Otherwise,
    /// It is part of the type.
    Circular,
}

/// The type of both that says less, of two that go together.
pub(super) fn wider<'t, 'a>(one: &'t CelType<'a>, other: &'t CelType<'a>) -> &'t CelType<'a> {
    match says_less(one, other) {
        true => one,
        false => other,
    }
}

fn says_less(one: &CelType<'_>, other: &CelType<'_>) -> bool {
    match (one, other) {
        (CelType::Dyn | CelType::Variable(_), _) | (CelType::Type(_), CelType::Type(_)) => true,
        (CelType::List(_), CelType::List(_))
        | (CelType::Map(..), CelType::Map(..))
        | (CelType::Optional(_), CelType::Optional(_)) => {
            let (ones, others) = (one.parts(), other.parts());
            ones.iter().zip(&others).all(|(one, other)| says_less(one, other))
        }
        _ => one == other,
    }
}

/// Whether there may be nothing instead of a value.
fn is_nullable(of: &CelType<'_>) -> bool {
    matches!(
        of,
        CelType::Null | CelType::Optional(_) | CelType::Library(_) | CelType::Duration | CelType::Time
    ) || of.is_struct()
}
