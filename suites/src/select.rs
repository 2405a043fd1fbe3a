//! Which cases to run: by id, by the beginning of an id, by role or by requirement.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use harness::alike::nearest;
use harness::invocation::program;
use harness::plan::Plan;
use harness::scenario::Role;

use crate::Catalogue;

/// What the user asked for. Empty: everything.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Ids, or beginnings of ids up to a `/`.
    pub ids: Vec<String>,
    /// Only cases with that role.
    pub role: Option<Role>,
    /// Only cases that show that requirement.
    pub requirement: Option<String>,
}

/// One part of a run that several machines share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    part: usize,
    of: usize,
}

impl Shard {
    /// Every n-th case, so that areas with slow cases are spread as well.
    pub fn apply(self, plans: Vec<Plan>) -> Vec<Plan> {
        let mine = |(index, plan)| self.has(index).then_some(plan);
        plans.into_iter().enumerate().filter_map(mine).collect()
    }

    /// Whether it has the thing of that number, from 0, of all that the run has.
    pub fn has(self, index: usize) -> bool {
        falls_to(index, self.part, self.of)
    }

    /// Its number, from 1.
    pub fn part(self) -> usize {
        self.part
    }

    /// How many there are.
    pub fn of(self) -> usize {
        self.of
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((part, of)) if (1..=of).contains(&part) => Ok(Shard { part, of }),
            _ => Err("write m/n with m from 1 to n, such as 1/4".to_owned()),
        }
    }
}

/// Whether the thing of that number, from 0, falls to a part, from 1, of so many.
pub(crate) fn falls_to(index: usize, part: usize, of: usize) -> bool {
    index % of == part - 1
}

/// The selection can't be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// A name that no case has.
    #[error("no case is called `{name}`{hint}; `{program} list` shows them all", program = program())]
    Unknown {
        /// The name.
        name: String,
        /// The closest name, as `, did you mean …`.
        hint: String,
    },
    /// A requirement that there is not.
    #[error("{0}")]
    Requirement(String),
    /// A requirement that no case shows.
    #[error("no case shows {0}; `{program} list --requirement {0}` says what does", program = program())]
    WithoutCase(String),
    /// Every name is known, and nothing is left.
    #[error("no case matches all filters; `{program} list` shows all cases", program = program())]
    Nothing,
}

impl Selection {
    /// The cases that are meant, in their order.
    pub fn apply(&self, plans: Vec<Plan>) -> Result<Vec<Plan>, SelectError> {
        if let Some(name) = self.unknown(&plans) {
            return Err(SelectError::Unknown {
                name: name.to_owned(),
                hint: hint(name, &plans),
            });
        }
        let catalogue = Catalogue::load();
        if let Some(id) = self
            .requirement
            .as_deref()
            .filter(|id| catalogue.get(id).is_none())
        {
            return Err(SelectError::Requirement(catalogue.unknown(id)));
        }
        // Of the cases of some names nothing follows about the others.
        if let Some(id) = self
            .requirement
            .as_ref()
            .filter(|id| self.ids.is_empty() && !plans.iter().any(|plan| plan.requirements.contains(id)))
        {
            return Err(SelectError::WithoutCase(id.clone()));
        }
        let selected: Vec<Plan> = plans.into_iter().filter(|plan| self.includes(plan)).collect();
        if selected.is_empty() {
            Err(SelectError::Nothing)
        } else {
            Ok(selected)
        }
    }

    /// A name that means none of these cases.
    pub fn unknown(&self, plans: &[Plan]) -> Option<&str> {
        let mut names = self.ids.iter().map(String::as_str);
        names.find(|name| !plans.iter().any(|plan| is_meant(name, plan.id())))
    }

    fn includes(&self, plan: &Plan) -> bool {
        (self.ids.is_empty() || self.ids.iter().any(|name| is_meant(name, plan.id())))
            && self.role.is_none_or(|role| plan.roles.contains(&role))
            && self
                .requirement
                .as_ref()
                .is_none_or(|id| plan.requirements.contains(id))
    }
}

/// `a/b` means `a/b` and everything below it.
pub(crate) fn is_meant(name: &str, id: &str) -> bool {
    let name = name.trim_end_matches('/');
    id.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What may have been meant by a name that no case has.
pub(crate) fn hint<'a>(name: &str, plans: &'a [Plan]) -> String {
    if Path::new(name).is_file() {
        return format!(
            ", but there is such a file: `{program} repro {name}` runs it, and `--folder FOLDER` reads all cases of a folder",
            program = program()
        );
    }
    // Areas of cases can be meant as well as cases.
    let areas = |id: &'a str| id.match_indices('/').map(move |(end, _)| &id[..end]);
    let ids = plans.iter().map(|plan| plan.id());
    let ends = format!("/{name}");
    let below = |id: &&str| id.ends_with(&ends);
    let found = nearest(name, ids.clone().flat_map(areas).chain(ids.clone()));
    let found = found.or_else(|| ids.clone().find(below));
    found.map_or_else(String::new, |id| format!(", did you mean `{id}`?"))
}
