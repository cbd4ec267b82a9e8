//! The laws that the traits state, run over the whole catalogue: a new model or algorithm is
//! covered as soon as it is mounted. What a law needs to know about a method is computed again
//! here, slowly and by other means (`naive`).

mod laws {
    mod algorithms;
    mod anatomy;
    mod cases;
    mod cuts;
    mod elsewhere;
    mod exactness;
    mod freeform;
    mod full_domain;
    mod knowledge;
    mod labels;
    mod local;
    mod microaggregation;
    mod models;
    mod naive;
    mod policies;
    mod predicates;
    mod republication;
    mod taxonomies;
    mod utility;
    mod worst;
}
