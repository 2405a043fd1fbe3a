//! Reviews: kinds of authentication.k8s.io and authorization.k8s.io that are answered and never stored.
//!
//! Does not know how they are answered: `verbs::review` does.

use super::{Kind, PLAIN, Review};

const fn authentication(review: Review) -> Kind {
    Kind {
        group: "authentication.k8s.io",
        namespaced: false,
        review: Some(review),
        deletes_collection: false,
        ..PLAIN
    }
}

const fn authorization(review: Review) -> Kind {
    Kind {
        group: "authorization.k8s.io",
        ..authentication(review)
    }
}

pub(super) static SELF_SUBJECT_REVIEW: Kind = Kind {
    kind: "SelfSubjectReview",
    plural: "selfsubjectreviews",
    singular: "selfsubjectreview",
    ..authentication(Review::SelfSubject)
};

pub(super) static TOKEN_REVIEW: Kind = Kind {
    kind: "TokenReview",
    plural: "tokenreviews",
    singular: "tokenreview",
    ..authentication(Review::Token)
};

pub(super) static LOCAL_SUBJECT_ACCESS_REVIEW: Kind = Kind {
    kind: "LocalSubjectAccessReview",
    plural: "localsubjectaccessreviews",
    singular: "localsubjectaccessreview",
    namespaced: true,
    ..authorization(Review::LocalSubjectAccess)
};

pub(super) static SELF_SUBJECT_ACCESS_REVIEW: Kind = Kind {
    kind: "SelfSubjectAccessReview",
    plural: "selfsubjectaccessreviews",
    singular: "selfsubjectaccessreview",
    ..authorization(Review::SelfSubjectAccess)
};

pub(super) static SELF_SUBJECT_RULES_REVIEW: Kind = Kind {
    kind: "SelfSubjectRulesReview",
    plural: "selfsubjectrulesreviews",
    singular: "selfsubjectrulesreview",
    ..authorization(Review::SelfSubjectRules)
};

pub(super) static SUBJECT_ACCESS_REVIEW: Kind = Kind {
    kind: "SubjectAccessReview",
    plural: "subjectaccessreviews",
    singular: "subjectaccessreview",
    ..authorization(Review::SubjectAccess)
};
