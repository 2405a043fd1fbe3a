//! Reviews of authentication.k8s.io and authorization.k8s.io. They are evaluated, not stored.
//!
//! Owns the resource definitions. Reviews are evaluated by `verbs::review`.

use super::{PLAIN, ResourceDefinition, Review, UnstoredAction};

const fn authentication(review: Review) -> ResourceDefinition {
    ResourceDefinition {
        group: "authentication.k8s.io",
        namespaced: false,
        unstored: Some(UnstoredAction::Review(review)),
        deletes_collection: false,
        ..PLAIN
    }
}

const fn authorization(review: Review) -> ResourceDefinition {
    ResourceDefinition {
        group: "authorization.k8s.io",
        ..authentication(review)
    }
}

pub(super) static SELF_SUBJECT_REVIEW: ResourceDefinition = ResourceDefinition {
    kind: "SelfSubjectReview",
    plural: "selfsubjectreviews",
    ..authentication(Review::SelfSubject)
};

pub(super) static TOKEN_REVIEW: ResourceDefinition = ResourceDefinition {
    kind: "TokenReview",
    plural: "tokenreviews",
    ..authentication(Review::Token)
};

pub(super) static LOCAL_SUBJECT_ACCESS_REVIEW: ResourceDefinition = ResourceDefinition {
    kind: "LocalSubjectAccessReview",
    plural: "localsubjectaccessreviews",
    namespaced: true,
    ..authorization(Review::LocalSubjectAccess)
};

pub(super) static SELF_SUBJECT_ACCESS_REVIEW: ResourceDefinition = ResourceDefinition {
    kind: "SelfSubjectAccessReview",
    plural: "selfsubjectaccessreviews",
    ..authorization(Review::SelfSubjectAccess)
};

pub(super) static SELF_SUBJECT_RULES_REVIEW: ResourceDefinition = ResourceDefinition {
    kind: "SelfSubjectRulesReview",
    plural: "selfsubjectrulesreviews",
    ..authorization(Review::SelfSubjectRules)
};

pub(super) static SUBJECT_ACCESS_REVIEW: ResourceDefinition = ResourceDefinition {
    kind: "SubjectAccessReview",
    plural: "subjectaccessreviews",
    ..authorization(Review::SubjectAccess)
};
