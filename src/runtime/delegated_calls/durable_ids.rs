//! Ids of interactions that outlive the process that created them: an id names its run and its call, and cannot be made
//! without the run's seed. Nothing stores them: the journal has all that is needed to verify one.

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::Duration;

use sha2::{Digest, Sha256};

use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{JournalRowKind, RunHeader};
use synthdev_domain::model::{ModelReply, ModelRequest};
use synthdev_engine::input::Input;
use synthdev_ports::run_store::{JournalRowRef, RunReader, RunStore};

/// How long an answer is waited for.
pub const TTL: Duration = Duration::from_secs(15 * 60);
/// Hexadecimal digits of its parts: run, request, time, random number, and the proof.
const TAG: usize = 16;
const WHAT: usize = 16;
const SECONDS: usize = 8;
const LUCK: usize = 8;
const PROOF: usize = 32;

/// What is known of an id without the run's seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DurableIdParts<'i> {
    tag: &'i str,
    pub(super) content_hash: &'i str,
    seconds: &'i str,
    random_part: &'i str,
    proof: &'i str,
}

impl<'i> DurableIdParts<'i> {
    pub(super) fn parse(id: &'i str) -> Option<Self> {
        let fits = id.len() == TAG + WHAT + SECONDS + LUCK + PROOF && id.is_ascii();
        let (tag, rest) = fits.then(|| id.split_at(TAG))?;
        let (what, rest) = rest.split_at(WHAT);
        let (seconds, rest) = rest.split_at(SECONDS);
        let (random_part, proof) = rest.split_at(LUCK);
        Some(Self { tag, content_hash: what, seconds, random_part, proof })
    }

    fn build_id(&self, run: &RunId, seed: u64) -> String {
        let Self { content_hash: what, seconds, random_part, .. } = self;
        hex_digits(&format!("interaction {seed:016x} {run} {what} {seconds} {random_part}"), PROOF)
    }
}

/// Whether an id can be one of this run.
pub fn may_belong_to_run(id: &str, run: &RunId) -> bool {
    DurableIdParts::parse(id).is_some_and(|parts| parts.tag == run_tag(run))
}

/// Whether this run gave an id out, and it still counts.
pub(super) fn is_id_valid(store: &dyn RunStore, run: &RunId, id: &str, now: Timestamp) -> bool {
    let Some(parts) = DurableIdParts::parse(id).filter(|_| may_belong_to_run(id, run)) else { return false };
    let Ok(seconds) = i64::from_str_radix(parts.seconds, 16) else { return false };
    let age = (now.0 / 1_000).saturating_sub(seconds);
    let fresh = u64::try_from(age).is_ok_and(|age| age <= TTL.as_secs());
    fresh && load_seed(store, run).is_some_and(|seed| parts.build_id(run, seed) == parts.proof)
}

/// What models have answered in a run, as far as it is written down.
pub(super) fn recorded_replies(store: &dyn RunStore, run: &RunId) -> Vec<ModelReply> {
    let inputs = read_inputs(store, run).into_iter();
    inputs
        .filter_map(|input| if let Input::Replied { reply, .. } = input { Some(reply) } else { None })
        .collect()
}

/// The seed of one run, read when it is first needed.
#[derive(Default)]
pub(super) struct RunSeedCache(OnceLock<u64>);

impl RunSeedCache {
    /// `random_part` replaces a seed that cannot be read: the id is then valid in this process only.
    pub(super) fn get_or_load(&self, store: &dyn RunStore, run: &RunId, random_part: u64) -> u64 {
        *self.0.get_or_init(|| load_seed(store, run).unwrap_or(random_part))
    }
}

pub(super) fn new_durable_id(
    run: &RunId,
    seed: u64,
    request: &ModelRequest,
    now: Timestamp,
    random_part: u64,
) -> String {
    let said: Vec<(&str, &str)> =
        request.messages.iter().map(|message| (message.role.as_str(), message.content.as_str())).collect();
    let what = hex_digits(&format!("{} {} {said:?}", request.state, request.agent), WHAT);
    let seconds = format!("{:08x}", u32::try_from(now.0 / 1_000).unwrap_or(0));
    let (tag, random_part) = (run_tag(run), format!("{:08x}", random_part & 0xffff_ffff));
    let parts = DurableIdParts {
        tag: &tag,
        content_hash: &what,
        seconds: &seconds,
        random_part: &random_part,
        proof: "",
    };
    let proof = parts.build_id(run, seed);
    [tag.as_str(), &what, &seconds, &random_part, &proof].concat()
}

fn load_seed(store: &dyn RunStore, run: &RunId) -> Option<u64> {
    let mut first = FirstInput::default();
    store.read(run, &mut first).ok()?;
    if let Some(Input::Started { seed }) = first.0 { Some(seed) } else { None }
}

/// A run begins with its seed: nothing after its first input is read for it, however long the run is.
#[derive(Default)]
struct FirstInput(Option<Input>);

impl RunReader for FirstInput {
    fn header(&mut self, _: RunHeader) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn row(&mut self, row: JournalRowRef<'_>) -> ControlFlow<()> {
        if row.kind != JournalRowKind::Input {
            return ControlFlow::Continue(());
        }
        self.0 = serde_json::from_str(row.body).ok();
        ControlFlow::Break(())
    }
}

fn read_inputs(store: &dyn RunStore, run: &RunId) -> Vec<Input> {
    let rows = store.load(run).map(|(_, rows)| rows).unwrap_or_default();
    let inputs = rows.iter().filter(|row| row.kind == JournalRowKind::Input);
    inputs.filter_map(|row| serde_json::from_str(&row.body).ok()).collect()
}

fn run_tag(run: &RunId) -> String {
    hex_digits(&format!("interactions of {run}"), TAG)
}

fn hex_digits(text: &str, digits: usize) -> String {
    let mut all: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    all.truncate(digits);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::model::{ModelChoice, ToolChoice};

    #[test]
    fn an_id_is_proof_only_for_its_run_its_request_and_its_time() {
        let (one, other) = (RunId("r1".to_owned()), RunId("r2".to_owned()));
        let request = |state: &str| ModelRequest {
            agent: "a".to_owned(),
            state: state.to_owned(),
            choice: ModelChoice::default(),
            messages: Vec::new(),
            tools: [].into(),
            parsing_tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            answer_schema: None,
        };
        let id = new_durable_id(&one, 7, &request("a"), Timestamp(5_000), 9);
        assert!(may_belong_to_run(&id, &one) && !may_belong_to_run(&id, &other));
        let parts = DurableIdParts::parse(&id).unwrap();
        assert_eq!((parts.build_id(&one, 7).as_str(), parts.seconds), (parts.proof, "00000005"));
        for (run, seed) in [(&one, 8), (&other, 7)] {
            assert_ne!(parts.build_id(run, seed), parts.proof);
        }
        for forged in [
            DurableIdParts { content_hash: "0000000000000000", ..parts },
            DurableIdParts { seconds: "00000006", ..parts },
        ] {
            assert_ne!(forged.build_id(&one, 7), parts.proof);
        }
        let again = new_durable_id(&one, 7, &request("a"), Timestamp(6_000), 1);
        assert_eq!(DurableIdParts::parse(&again).unwrap().content_hash, parts.content_hash);
        assert_ne!(
            DurableIdParts::parse(&new_durable_id(&one, 7, &request("b"), Timestamp(5_000), 9))
                .unwrap()
                .content_hash,
            parts.content_hash
        );
        for wrong in ["", "x", &id[1..], &"ä".repeat(40)] {
            assert_eq!(DurableIdParts::parse(wrong), None, "{wrong}");
        }
    }
}
