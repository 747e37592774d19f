//! Workflow files as front-ends edit, draw, price and test them.

pub use synthdev_language::{
    cost_estimate, did_you_mean, graph, inputs, json, model_selector, render, source, test_file,
};
