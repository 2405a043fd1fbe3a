//! Authentication: users and their tokens.
//!
//! Does not authorize: `rbac` does.

mod account;
mod authenticator;
mod token_file;
mod user;

pub use account::service_account_user;
pub(crate) use account::{
    BINDABLE, Bound, Claim, groups as account_groups, split_user_name as account_of,
    user_name as account_user,
};
pub(crate) use authenticator::Authenticator;
pub use token_file::TokenFileError;
pub use user::User;
pub(crate) use user::{ANONYMOUS, Authenticated, MASTERS, UNAUTHENTICATED};
