//! The wording for an untolerated taint in each release.

use std::borrow::Cow;

use crate::objects::Taint;

/// The wording for an untolerated taint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaintWording {
    /// A whole clause that contains key and value of the taint.
    Long,
    /// Key and value of the taint.
    KeyValue,
    /// Neither key nor value of the taint.
    #[default]
    Generic,
}

impl TaintWording {
    pub(crate) fn reason(self, taint: &Taint) -> Cow<'static, str> {
        let Taint { key, value, .. } = taint;
        match self {
            Self::Long => {
                format!("node(s) had taint {{{key}: {value}}}, that the pod didn't tolerate").into()
            }
            Self::KeyValue => format!("node(s) had untolerated taint {{{key}: {value}}}").into(),
            Self::Generic => "node(s) had untolerated taint(s)".into(),
        }
    }
}
