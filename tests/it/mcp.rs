//! The workflow server, driven over its pipes line by line: the real program, the real store.

mod agents;
mod answer_schemas;
mod beside;
pub(crate) mod client;
mod crowds;
mod elsewhere;
mod examples;
mod expiry;
mod flows;
pub(crate) mod foreign;
mod fresh;
mod front_ends;
mod hostile;
mod http;
mod noise;
mod official;
mod page;
pub(crate) mod pausing;
mod people;
mod protocol;
mod restarts;
mod runs;
mod samples;
mod start_warnings;
mod sub_agents;
mod transcript;
mod web;
