//! Snapshots in git: commits of our own beside the user's, from a private index (SNAP-1 to SNAP-10, SNAP-16).
//!
//! Objects go to the project's repository, refs to `refs/synthdev/snapshots/`; the user's index, HEAD, branches,
//! stash, reflog, hooks and filters are never touched. Without a repository, or with one libgit2 cannot serve,
//! a private one in the data directory is used. Bytes are stored and restored raw: no line-end conversion, no
//! filter. The project is the directory given, even if the repository's work tree is larger.
//! Covered: files that git tracks and files no ignore file names. Not covered, but listed: other repositories
//! inside, submodules, pipes, what is over the limits. Of permissions, only the executable bit is kept. What the
//! settings exclude never goes to git: private copies of it lie in the data directory ([`kept`]).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::ids::{SnapshotId, Timestamp};
use crate::domain::snapshot::{
    Beyond, ChangedFile, CutOff, Goal, Restored, SnapshotInfo, SnapshotRequest, Sweep,
};
use crate::ports::clock::Clock;
use crate::ports::snapshot::{Begin, SnapshotError, SnapshotPort};

pub(super) mod apply;
pub(super) mod between;
mod beyond;
pub(super) mod compare;
pub(super) mod cut_off;
mod durable;
pub(super) mod entry;
pub(super) mod fault;
pub(super) mod here;
mod kept;
pub(super) mod opening;
mod pair;
pub(super) mod place;
pub(super) mod record;
mod remains;
mod rules;
pub(super) mod scan;
mod seed;
pub(super) mod stat_cache;
mod sweep;
pub(super) mod tree;
mod walk;

use apply::Restore;
use compare::Change;
use entry::RelPath;
use fault::{Outcome, fault};
use here::Here;
pub use opening::OutsideFiles;
use place::{Place, Store};
use record::{Found, Record, holding, one, unknown};
use scan::{Blobs, Scan};
use stat_cache::StatCache;

/// A change of the project's files that is saved first.
pub(super) struct Plan<'a> {
    pub changes: &'a [Change],
    /// See [`Restore`].
    pub empty_dirs: &'a BTreeSet<RelPath>,
    pub hollow_now: &'a [RelPath],
    pub act: &'static str,
    pub goal: &'a Goal,
    /// The snapshot that undoes it.
    pub request: &'a SnapshotRequest,
}

/// How a change of the files can be taken back.
pub(super) struct Saved {
    /// The files as they were before, or before an earlier attempt that was cut off.
    pub safety: SnapshotId,
    /// The files as that had left them.
    pub halfway: Option<SnapshotId>,
}

/// The snapshots of one project.
pub struct GitSnapshots {
    project: PathBuf,
    data: PathBuf,
    exclude: Vec<String>,
    home: Option<PathBuf>,
    outside: OutsideFiles,
    clock: Arc<dyn Clock>,
}

impl GitSnapshots {
    /// `data_dir` is the user's data directory; `exclude` holds lines as in an ignore file, and wins over git's
    /// tracking. Touches nothing until used.
    pub fn open(project: PathBuf, data_dir: PathBuf, exclude: Vec<String>, clock: Arc<dyn Clock>) -> Self {
        let (home, outside) = (std::env::home_dir(), OutsideFiles::Refused);
        Self { project, data: data_dir, exclude, home, outside, clock }
    }

    /// Whether the project's repository may open files outside of itself.
    #[must_use]
    pub fn with_outside_files(mut self, outside: OutsideFiles) -> Self {
        self.outside = outside;
        self
    }

    /// Another home directory than the environment's.
    #[must_use]
    pub fn with_home(mut self, home: PathBuf) -> Self {
        self.home = Some(home);
        self
    }

    /// The same settings for another directory.
    pub(super) fn at(&self, project: &Path) -> Self {
        Self {
            project: project.to_owned(),
            data: self.data.clone(),
            exclude: self.exclude.clone(),
            home: self.home.clone(),
            outside: self.outside,
            clock: Arc::clone(&self.clock),
        }
    }

    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// # Errors
    /// The project does not exist or is refused.
    pub(super) fn place(&self) -> Outcome<Place> {
        let place = Place::resolve(&self.project, &self.data, self.home.as_deref())?;
        Ok(Place { outside: self.outside, ..place })
    }

    /// Scans, writes and records; call with the lock held.
    fn record(
        &self,
        here: &Here,
        scan: Scan,
        since: (i64, u32),
        request: &SnapshotRequest,
    ) -> Outcome<SnapshotInfo> {
        let store = &here.store;
        let failed = |error: git2::Error| fault::git_write(store.location(), &error);
        let odb = store.repo.odb().map_err(failed)?;
        let mut new = scan.written;
        let tree = tree::write_named(&odb, &scan.entries, &mut new).map_err(failed)?;
        let text = |dir: RelPath| String::from_utf8(dir).ok();
        let record = Record {
            label: request.label.clone(),
            note: request.note.clone(),
            run: request.run.clone(),
            created: self.clock.now(),
            files: scan.entries.iter().filter(|entry| entry.stat.kind != entry::Kind::Submodule).count(),
            skipped: scan.skipped,
            scope: store.scope(),
            empty_dirs: scan.empty_dirs.into_iter().filter_map(text).collect(),
            exclude: self.exclude.clone(),
            partial: scan.partial,
            head: (!store.private).then(|| beyond::head(&store.repo)),
        };
        let id = record::create(store, tree, &record, new)?;
        let kept = kept::write(&here.place, store.private, &id, &scan.left_out, &scan.lost);
        if let Err(error) = kept {
            // without what belongs to it, it would promise too much; that it cannot go matters less than why
            let _ = record::delete(store, &id);
            return Err(error);
        }
        StatCache { entries: scan.entries, snapshot: id.0.clone() }.save(&here.place, store, since)?;
        Ok(record::info(&id, &record))
    }

    pub(super) fn here(&self, place: Place, store: Store) -> Here {
        let rules = place.rules(&store, &self.exclude);
        let cache = StatCache::load(&place, &store, record::reference);
        Here { place, store, rules, cache }
    }

    /// Snapshots the present as scanned, then applies the changes; call with the lock held. `begin` is told the snapshot
    /// that undoes it when all was checked, before the first change.
    pub(super) fn save_and_apply(
        &self,
        here: &Here,
        scan: Scan,
        since: (i64, u32),
        plan: &Plan<'_>,
        begin: Begin<'_>,
    ) -> Outcome<Saved> {
        let act = plan.act;
        if let Some(lost) = plan.changes.iter().find(|change| scan.unreadable.contains(&change.path)) {
            let path = lost.shown().path;
            return Err(fault(
                format!("{path} cannot be read, so it could not be saved; nothing was changed"),
                format!("Make it readable or move it away, then {act} again."),
            ));
        }
        let earlier = cut_off::read(&here.place).filter(|earlier| {
            earlier.goal == *plan.goal && one(&here.store, earlier.safety.as_str()).is_ok()
        });
        let halfway =
            || SnapshotRequest { label: format!("Half of a {act} that was cut off"), ..plan.request.clone() };
        let request = if earlier.is_some() { &halfway() } else { plan.request };
        let present = self.record(here, scan, since, request)?.id;
        let saved = match &earlier {
            Some(earlier) => Saved { safety: earlier.safety.clone(), halfway: Some(present) },
            None => Saved { safety: present, halfway: None },
        };
        let odb = here.store.repo.odb().map_err(|error| fault::git_read(here.store.location(), &error))?;
        let place = &here.place;
        let (empty_dirs, hollow_now) = (plan.empty_dirs, plan.hollow_now);
        let restore = Restore { place, odb, empty_dirs, hollow_now, act };
        let undone_by = |error: SnapshotError| SnapshotError {
            hint: Some(format!(
                "{} The state before is snapshot {}.",
                error.hint.as_deref().unwrap_or_default(),
                saved.safety
            )),
            ..error
        };
        restore.check(plan.changes).map_err(undone_by)?;
        let (goal, safety) = (plan.goal.clone(), saved.safety.clone());
        begin(Some(&saved.safety))?;
        cut_off::write(&here.place, &CutOff { goal, safety, since: self.clock.now() })?;
        restore.run(plan.changes).and_then(|()| restore.sync(plan.changes)).map_err(undone_by)?;
        cut_off::clear(&here.place)?;
        Ok(saved)
    }

    /// Compares a snapshot with the present without storing anything of it.
    fn compared<T>(
        &self,
        id: &SnapshotId,
        blobs: Blobs,
        use_it: impl FnOnce(&Here, &Found<'_>, &Scan, &[Change]) -> Outcome<T>,
    ) -> Outcome<T> {
        let place = self.place()?;
        let store = holding(&place, id.as_str())?;
        let here = self.here(place, store);
        let found = one(&here.store, id.as_str())?;
        let stored = here.stored(&found)?;
        let odb = here.store.repo.odb().map_err(|error| fault::git_read(here.store.location(), &error))?;
        let memory = (blobs == Blobs::InMemory).then(|| odb.add_new_mempack_backend(1000));
        let _memory = memory.transpose().map_err(|error| fault::git_read(here.store.location(), &error))?;
        let kept = here.kept(&found);
        let scan = here.scan_with(&stored, kept.as_ref(), blobs)?;
        let changes = here.changes(&found, (&stored, kept.as_ref()), &scan);
        use_it(&here, &found, &scan, &changes)
    }
}

impl SnapshotPort for GitSnapshots {
    fn take(&self, request: &SnapshotRequest) -> Result<SnapshotInfo, SnapshotError> {
        let place = self.place()?;
        let _lock = place.lock()?;
        let store = place.store()?;
        remains::sweep(&store, record::NAMESPACE);
        let here = self.here(place, store);
        let since = stat_cache::disk_time(&here.place);
        let scan = here.scan(&tree::Stored::new(), Blobs::Stored)?;
        self.record(&here, scan, since, request)
    }

    fn list(&self) -> Result<Vec<SnapshotInfo>, SnapshotError> {
        let mut all = Vec::new();
        for store in self.place()?.stores()? {
            all.extend(record::all(&store)?.iter().map(Found::info));
        }
        all.sort_by(|a, b| b.id.cmp(&a.id));
        Ok(all)
    }

    fn find(&self, id: &str) -> Result<SnapshotInfo, SnapshotError> {
        let mut fitting: Vec<SnapshotInfo> = self
            .list()?
            .into_iter()
            .filter(|info| !id.is_empty() && info.id.as_str().starts_with(id))
            .collect();
        match fitting.len() {
            1 => Ok(fitting.remove(0)),
            0 => Err(unknown(id)),
            count => {
                let ids: Vec<&str> = fitting.iter().take(5).map(|info| info.id.as_str()).collect();
                Err(fault(
                    format!("`{id}` could be {count} snapshots: {}", ids.join(", ")),
                    "Type more of the id.",
                ))
            }
        }
    }

    fn changes(
        &self,
        id: &SnapshotId,
        other: Option<&SnapshotId>,
    ) -> Result<Vec<ChangedFile>, SnapshotError> {
        if let Some(other) = other {
            let place = self.place()?;
            let mut changes =
                pair::compared(&place, id, other, |pair| Ok(between::changes(&pair.old, &pair.new)))?;
            if let Some((old, new)) = kept::read(&place, id).zip(kept::read(&place, other)) {
                changes.extend(kept::changes(&old, &new));
                changes.sort_by(|a, b| a.0.cmp(&b.0));
            }
            return Ok(between::listed(&changes));
        }
        self.compared(id, Blobs::Named, |_, _, _, changes| Ok(changes.iter().map(Change::shown).collect()))
    }

    fn diff(&self, id: &SnapshotId, other: Option<&SnapshotId>) -> Result<String, SnapshotError> {
        if let Some(other) = other {
            return pair::compared(&self.place()?, id, other, |pair| pair.diff());
        }
        self.compared(id, Blobs::InMemory, |here, found, scan, changes| {
            here.diff(found, scan, changes).map_err(|error| fault::git_read(here.store.location(), &error))
        })
    }

    fn bring_back(&self, id: &SnapshotId, begin: Begin<'_>) -> Result<Restored, SnapshotError> {
        let place = self.place()?;
        let _lock = place.lock()?;
        let store = holding(&place, id.as_str())?;
        let here = self.here(place, store);
        if cut_off::is_there(&here.place) {
            cut_off::sweep(&here.place, &here.rules);
        }
        let since = stat_cache::disk_time(&here.place);
        let found = one(&here.store, id.as_str())?;
        let stored = here.stored(&found)?;
        let kept = here.kept(&found);
        let scan = here.scan_with(&stored, kept.as_ref(), Blobs::Stored)?;
        let changes = here.changes(&found, (&stored, kept.as_ref()), &scan);
        let beyond = beyond::beyond(&here, &found.record, (&stored, kept.as_ref()))?;
        if changes.is_empty() && !here.hollow_differs(&found, &scan) {
            begin(None)?;
            // they are those of one moment
            cut_off::clear(&here.place)?;
            return Ok(Restored { safety: None, files: Vec::new(), halfway: None, beyond });
        }
        let request = SnapshotRequest {
            label: format!("Before restore of {id}"),
            run: None,
            note: format!("Restore this one to undo the restore of `{}`.", found.record.label),
        };
        let hollow_now = scan.empty_dirs.clone();
        let empty_dirs = found.record.empty_dirs.iter().map(|dir| dir.clone().into_bytes()).collect();
        let plan = Plan {
            changes: &changes,
            empty_dirs: &empty_dirs,
            hollow_now: &hollow_now,
            act: "restore",
            goal: &Goal::Snapshot(id.clone()),
            request: &request,
        };
        let Saved { safety, halfway } = self.save_and_apply(&here, scan, since, &plan, begin)?;
        let files = changes.iter().map(Change::shown).collect();
        Ok(Restored { safety: Some(safety), files, halfway, beyond })
    }

    fn cut_off(&self) -> Result<Option<CutOff>, SnapshotError> {
        let place = self.place()?;
        if !cut_off::is_there(&place) {
            return Ok(None);
        }
        // whoever is at work removes it
        let _lock = place.lock()?;
        Ok(cut_off::read(&place))
    }

    fn accept(&self) -> Result<(), SnapshotError> {
        let place = self.place()?;
        if !cut_off::is_there(&place) {
            return Ok(());
        }
        let _lock = place.lock()?;
        let store = place.store()?;
        cut_off::sweep(&place, &place.rules(&store, &self.exclude));
        cut_off::clear(&place)
    }

    fn beyond(&self, id: &SnapshotId) -> Result<Beyond, SnapshotError> {
        let place = self.place()?;
        let store = holding(&place, id.as_str())?;
        let here = self.here(place, store);
        let found = one(&here.store, id.as_str())?;
        let stored = here.stored(&found)?;
        beyond::beyond(&here, &found.record, (&stored, here.kept(&found).as_ref()))
    }

    fn delete(&self, id: &SnapshotId) -> Result<(), SnapshotError> {
        let place = self.place()?;
        let _lock = place.lock()?;
        record::delete(&holding(&place, id.as_str())?, id)?;
        forget(&place)
    }

    fn sweep(&self, sweep: &Sweep) -> Result<Vec<SnapshotInfo>, SnapshotError> {
        let swept = sweep::chosen(self.list()?, sweep);
        if !sweep.dry && !swept.is_empty() {
            let place = self.place()?;
            let _lock = place.lock()?;
            for store in place.stores()? {
                // Another instance may have deleted some meanwhile.
                let there = record::all(&store)?.into_iter().map(|found| found.id);
                let there: Vec<SnapshotId> =
                    there.filter(|id| swept.iter().any(|info| info.id == *id)).collect();
                there.iter().try_for_each(|id| record::delete(&store, id))?;
                if store.private {
                    sweep::prune(&store)?;
                }
            }
            forget(&place)?;
        }
        Ok(swept)
    }
}

/// Private copies of snapshots that are gone; call with the lock held.
fn forget(place: &Place) -> Outcome<()> {
    let mut there = Vec::new();
    for store in place.stores()? {
        there.push((store.private, record::all(&store)?.into_iter().map(|found| found.id.0).collect()));
    }
    kept::prune(place, &there)
}
