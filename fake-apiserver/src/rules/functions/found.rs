//! What a call comes to.

use crate::rules::failure::Failure;
use crate::rules::value::Val;

/// What a call comes to; none if the function is not known for these arguments.
pub(super) type Found<'a> = Option<Result<Val<'a>, Failure>>;
