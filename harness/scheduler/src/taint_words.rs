//! How releases word a taint that a pod does not tolerate.

use std::borrow::Cow;

use crate::objects::Taint;

/// How a release words a taint that a pod does not tolerate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaintWords {
    /// With key and value, in a whole clause.
    Long,
    /// With key and value.
    Named,
    /// Without.
    #[default]
    Secret,
}

impl TaintWords {
    pub(crate) fn reason(self, taint: &Taint) -> Cow<'static, str> {
        let Taint { key, value, .. } = taint;
        match self {
            Self::Long => {
                format!("node(s) had taint {{{key}: {value}}}, that the pod didn't tolerate").into()
            }
            Self::Named => format!("node(s) had untolerated taint {{{key}: {value}}}").into(),
            Self::Secret => "node(s) had untolerated taint(s)".into(),
        }
    }
}
