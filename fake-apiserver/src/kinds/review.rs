//! Reviews: kinds of authentication.k8s.io and authorization.k8s.io that are answered and never stored.
//!
//! Owns their form. Does not know how they are answered: `verbs::review` does.

use super::{Kind, PLAIN, Review};
use crate::shape::{Field, STRINGS, Shape, Struct, field, pointer};

/// Extra facts about a user: lists by name.
const EXTRA: Shape = Shape::Map(&STRINGS);

const RESOURCE: Field = pointer(
    "resourceAttributes",
    Shape::Struct(&Struct {
        go: "ResourceAttributes",
        fields: &[
            field("namespace", Shape::Str),
            field("verb", Shape::Str),
            field("group", Shape::Str),
            field("version", Shape::Str),
            field("resource", Shape::Str),
            field("subresource", Shape::Str),
            field("name", Shape::Str),
            pointer("fieldSelector", Shape::Any),
            pointer("labelSelector", Shape::Any),
        ],
        open: false,
    }),
);

const PATH: Field = pointer(
    "nonResourceAttributes",
    Shape::Struct(&Struct {
        go: "NonResourceAttributes",
        fields: &[field("path", Shape::Str), field("verb", Shape::Str)],
        open: false,
    }),
);

const USER_INFO: Shape = Shape::Struct(&Struct {
    go: "UserInfo",
    fields: &[
        field("username", Shape::Str),
        field("uid", Shape::Str),
        field("groups", STRINGS),
        field("extra", EXTRA),
    ],
    open: false,
});

const ACCESS_STATUS: Field = pointer("status", Shape::Any);

/// `spec` of the reviews that name a user.
const SUBJECT_SPEC: Field = pointer(
    "spec",
    Shape::Struct(&Struct {
        go: "SubjectAccessReviewSpec",
        fields: &[
            RESOURCE,
            PATH,
            field("user", Shape::Str),
            field("groups", STRINGS),
            field("extra", EXTRA),
            field("uid", Shape::Str),
        ],
        open: false,
    }),
);

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
    form: &Struct {
        go: "SelfSubjectReview",
        fields: &[pointer(
            "status",
            Shape::Struct(&Struct {
                go: "SelfSubjectReviewStatus",
                fields: &[field("userInfo", USER_INFO)],
                open: false,
            }),
        )],
        open: false,
    },
    ..authentication(Review::SelfSubject)
};

pub(super) static TOKEN_REVIEW: Kind = Kind {
    kind: "TokenReview",
    plural: "tokenreviews",
    singular: "tokenreview",
    form: &Struct {
        go: "TokenReview",
        fields: &[
            pointer(
                "spec",
                Shape::Struct(&Struct {
                    go: "TokenReviewSpec",
                    fields: &[field("token", Shape::Str), field("audiences", STRINGS)],
                    open: false,
                }),
            ),
            ACCESS_STATUS,
        ],
        open: false,
    },
    ..authentication(Review::Token)
};

pub(super) static LOCAL_SUBJECT_ACCESS_REVIEW: Kind = Kind {
    kind: "LocalSubjectAccessReview",
    plural: "localsubjectaccessreviews",
    singular: "localsubjectaccessreview",
    namespaced: true,
    form: &Struct {
        go: "LocalSubjectAccessReview",
        fields: &[SUBJECT_SPEC, ACCESS_STATUS],
        open: false,
    },
    ..authorization(Review::LocalSubjectAccess)
};

pub(super) static SELF_SUBJECT_ACCESS_REVIEW: Kind = Kind {
    kind: "SelfSubjectAccessReview",
    plural: "selfsubjectaccessreviews",
    singular: "selfsubjectaccessreview",
    form: &Struct {
        go: "SelfSubjectAccessReview",
        fields: &[
            pointer(
                "spec",
                Shape::Struct(&Struct {
                    go: "SelfSubjectAccessReviewSpec",
                    fields: &[RESOURCE, PATH],
                    open: false,
                }),
            ),
            ACCESS_STATUS,
        ],
        open: false,
    },
    ..authorization(Review::SelfSubjectAccess)
};

pub(super) static SELF_SUBJECT_RULES_REVIEW: Kind = Kind {
    kind: "SelfSubjectRulesReview",
    plural: "selfsubjectrulesreviews",
    singular: "selfsubjectrulesreview",
    form: &Struct {
        go: "SelfSubjectRulesReview",
        fields: &[
            pointer(
                "spec",
                Shape::Struct(&Struct {
                    go: "SelfSubjectRulesReviewSpec",
                    fields: &[field("namespace", Shape::Str)],
                    open: false,
                }),
            ),
            ACCESS_STATUS,
        ],
        open: false,
    },
    ..authorization(Review::SelfSubjectRules)
};

pub(super) static SUBJECT_ACCESS_REVIEW: Kind = Kind {
    kind: "SubjectAccessReview",
    plural: "subjectaccessreviews",
    singular: "subjectaccessreview",
    form: &Struct {
        go: "SubjectAccessReview",
        fields: &[SUBJECT_SPEC, ACCESS_STATUS],
        open: false,
    },
    ..authorization(Review::SubjectAccess)
};
