//! Arguments of `index`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use synthdev_domain::project_index::SizeLimit;

#[derive(Args, Debug, Default)]
pub struct IndexArgs {
    /// Skip larger files, in kilobytes
    #[arg(long, value_name = "SIZE", default_value = "50", value_parser = size_parser())]
    pub max_size: SizeLimit,
    /// Do not ask for confirmation of the cost
    #[arg(long)]
    pub yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

fn size_parser() -> impl clap::builder::TypedValueParser<Value = SizeLimit> {
    let words = SizeLimit::WORDS.map(|(word, _)| word);
    PossibleValuesParser::new(words).try_map(|word| SizeLimit::parse(&word))
}
