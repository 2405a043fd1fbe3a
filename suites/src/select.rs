//! Selection of cases: by id, id prefix, role or requirement.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use harness::alike::nearest;
use harness::invocation::program;
use harness::plan::Plan;
use harness::scenario::Role;

use crate::Catalogue;

/// The cases that the user selects; without ids, role and requirement, all cases.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Case ids, or leading path segments of case ids, such as `a` for `a/b`.
    pub ids: Vec<String>,
    /// Only cases in which this role takes part.
    pub role: Option<Role>,
    /// Only cases that verify this requirement.
    pub requirement: Option<String>,
}

/// One shard of a run that several machines share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    part: usize,
    of: usize,
}

impl Shard {
    /// The cases of this shard: every n-th case, so that slow cases, which are often adjacent, are distributed over the shards.
    pub fn apply(self, plans: Vec<Plan>) -> Vec<Plan> {
        let mine = |(index, plan)| self.has(index).then_some(plan);
        plans.into_iter().enumerate().filter_map(mine).collect()
    }

    /// Whether the shard includes the item of this 0-based index.
    pub fn has(self, index: usize) -> bool {
        is_in_shard(index, self.part, self.of)
    }

    /// Number of the shard, from 1.
    pub fn part(self) -> usize {
        self.part
    }

    /// Number of shards.
    pub fn shard_count(self) -> usize {
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

/// Whether the item of a 0-based index belongs to a shard, numbered from 1.
pub(crate) fn is_in_shard(index: usize, part: usize, of: usize) -> bool {
    index % of == part - 1
}

/// The selection is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// No case matches a name of the selection.
    #[error("no case is called `{name}`{hint}")]
    Unknown {
        /// The unknown name.
        name: String,
        /// Suggestion of the closest name, such as `, did you mean …`; may be empty.
        hint: String,
    },
    /// An unknown requirement.
    #[error("{0}")]
    Requirement(String),
    /// No case verifies the requirement.
    #[error("no case verifies {0}; `{program} list --requirement {0}` shows its other evidence", program = program())]
    WithoutCase(String),
    /// All names are known, but no case matches all filters.
    #[error("no case matches all filters")]
    NoCases,
}

impl Selection {
    /// The selected cases, in order.
    pub fn apply(&self, plans: Vec<Plan>) -> Result<Vec<Plan>, SelectError> {
        if let Some(name) = self.first_unknown_name(&plans) {
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
            return Err(SelectError::Requirement(catalogue.unknown_id_message(id)));
        }
        // Not checked if case ids are given, because `plans` may then lack the cases that verify the requirement.
        if let Some(id) = self
            .requirement
            .as_ref()
            .filter(|id| self.ids.is_empty() && !plans.iter().any(|plan| plan.requirements.contains(id)))
        {
            return Err(SelectError::WithoutCase(id.clone()));
        }
        let selected: Vec<Plan> = plans.into_iter().filter(|plan| self.includes(plan)).collect();
        if selected.is_empty() {
            Err(SelectError::NoCases)
        } else {
            Ok(selected)
        }
    }

    /// The first name of the selection that matches none of these cases.
    pub fn first_unknown_name(&self, plans: &[Plan]) -> Option<&str> {
        let mut names = self.ids.iter().map(String::as_str);
        names.find(|name| !plans.iter().any(|plan| matches_id(name, plan.id())))
    }

    fn includes(&self, plan: &Plan) -> bool {
        (self.ids.is_empty() || self.ids.iter().any(|name| matches_id(name, plan.id())))
            && self.role.is_none_or(|role| plan.roles.contains(&role))
            && self
                .requirement
                .as_ref()
                .is_none_or(|id| plan.requirements.contains(id))
    }
}

/// Whether a name selects an id: `a/b` selects `a/b` and all ids that start with `a/b/`.
pub(crate) fn matches_id(name: &str, id: &str) -> bool {
    let name = name.trim_end_matches('/');
    id.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A suggestion for an unknown name.
pub(crate) fn hint<'a>(name: &str, plans: &'a [Plan]) -> String {
    if Path::new(name).is_file() {
        return format!(
            ", but a file with this name exists: `{program} repro {name}` runs it, and `--folder FOLDER` reads all cases of a folder",
            program = program()
        );
    }
    // An area (a leading part of a case id, such as `a` of `a/b`) is a valid name.
    let areas = |id: &'a str| id.match_indices('/').map(move |(end, _)| &id[..end]);
    let ids = plans.iter().map(|plan| plan.id());
    let ends = format!("/{name}");
    let below = |id: &&str| id.ends_with(&ends);
    let found = nearest(name, ids.clone().flat_map(areas).chain(ids.clone()));
    let found = found.or_else(|| ids.clone().find(below));
    found.map_or_else(String::new, |id| format!(", did you mean `{id}`?"))
}
