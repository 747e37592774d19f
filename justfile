# Recipes for everyday work; `just` alone lists them. Each is one cargo command that also works without `just`.

# Lists the recipes.
default:
    @just --list --unsorted

# Builds the program for development: target/debug/synthdev.
build:
    cargo build --locked

# Runs the program: `just run check workflows`.
run *arguments:
    cargo run --locked -- {{ arguments }}

# The demo: a real run with scripted words in a temporary project. `just demo --headless` needs no screen.
demo *arguments:
    cargo run --locked -- demo {{ arguments }}

# Every test of the usual tier; they wait a third of their time, so two run on each core.
test *arguments:
    RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((2 * $(getconf _NPROCESSORS_ONLN)))}" cargo test --locked {{ arguments }}

# Tests beside the code of one member, or those of them whose name holds FILTER: `just unit engine prompt::`.
unit member filter="":
    cargo test --locked --package synthdev-{{ member }} {{ filter }}

# Tests of the integration binary whose name holds FILTER: `just test-one machine::retries`.
test-one filter:
    cargo test --locked --test it {{ filter }}

# Draws the pictures of the documentation again, from the screen as it is now.
pictures:
    UPDATE_PICTURES=1 cargo test --locked --test it tui::pictures

# The slow tier: the ignored tests whose reason is "slow", and the random tests with FACTOR times as many cases.
slow factor="100":
    FUZZ_FACTOR={{ factor }} cargo test --locked --package synthdev-tui transcript::markdown
    FUZZ_FACTOR={{ factor }} cargo test --locked --test it -- tui::fuzz mcp::noise
    MCP_KILLS=1000 cargo test --locked --test it -- mcp::examples mcp::page
    cargo test --locked --test it -- --ignored runtime::travel mcp::crowds

# The ignored tests whose reason is "tool": they need tmux, Graphviz, toolchains and package registries, and fail without.
tools *filters="pty::tmux cli::graph sandbox::toolchains mcp::official mcp::foreign tools::foreign_servers real_model":
    cargo test --locked --test it -- --ignored {{ filters }}

# Runs on a Restate server, whose npm package is installed for it.
restate:
    cargo test --locked --features restate --test it -- --include-ignored restate:: conformance::on_restate

# Kills the program at every place where that could hurt, and at POINTS random times.
crash points="300" seconds="60":
    CRASH_POINTS={{ points }} CRASH_SECONDS={{ seconds }} cargo test --locked --test it crash::

# Randomized tests of the engine (deterministic simulation): WORLDS seeds.
fuzz-engine worlds="10000":
    SIM_WORLDS={{ worlds }} cargo test --release --locked --test it sim::

# Formats the code and runs the linter as the gate does.
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets --locked --features restate -- -D warnings

# The guard of layers, sizes, names and paths, and the test of the reference pages. Run both before each commit.
guard:
    cargo test --locked --test it architecture
    cargo test --locked --test it docs::

# Everything that must hold before a change is merged.
gate:
    bash .ci/run

# Writes the stored pictures of the screen and of graphs anew. Look at the diff before you commit it.
snapshots:
    INSTA_UPDATE=always cargo test --locked --test it tui::
    INSTA_UPDATE=always cargo test --locked --test it cli::graph
    git --no-pager diff --stat -- tests/frames

# Writes the stored answers of `why` and the shipped recording anew.
recordings:
    UPDATE_WHY=1 cargo test --locked --test it machine::why
    UPDATE_CASSETTE=1 cargo test --locked --test it shipped_recording

# Writes the JSON Schemas in config/schema and the page of workflow keys (docs/workflow-keys.md) anew.
schema:
    cargo run --locked -- schema --write config/schema
    UPDATE_KEYS=1 cargo test --locked --test it docs::key_page

# One benchmark, or all: `just bench machine`. The files are in benches/.
bench name="":
    cargo bench --locked {{ if name == "" { "" } else { "--bench " + name } }}
