//! Files of applications that an adapter describes, reduced to what it keeps.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use model::{Gap, Text};
use raw::apps::{
    Adapter, AppFilter, AppPaths, MAX_FOLDER_ENTRIES, MAX_INSTALLED, MAX_SETTINGS_BYTES, setting,
};
use raw::{AppPart, Reply};
use rustix::fs::{Dir, Mode, OFlags, openat};

use super::beneath;
use super::errors::{gap, gap_of_process};
use super::logs;
use super::place::Place;
use super::subject::Subject;

/// The system whose paths are taken.
const SYSTEM: &str = "linux";

/// Adapters by application, with their compiled patterns.
pub(crate) struct Apps(BTreeMap<Text, (Adapter, Option<AppFilter>)>);

impl Apps {
    pub(crate) fn new(own: &[Adapter]) -> Self {
        let all = raw::apps::all(own).into_iter();
        let compiled = all.map(|adapter| {
            let filter = AppFilter::new(&adapter);
            (adapter.app.clone(), (adapter, filter))
        });
        Self(compiled.collect())
    }

    /// A part of an application, whose process this is.
    pub(super) fn read(
        &self,
        place: &Place,
        subject: &Subject,
        app: &str,
        part: AppPart,
    ) -> Result<Reply, Gap> {
        let (adapter, filter) = self.0.get(app).ok_or(Gap::NotApplicable)?;
        match part {
            AppPart::Setting => {
                let settings = adapter.settings.as_ref().ok_or(Gap::NotApplicable)?;
                let file = logs::open(place, subject, path(&settings.paths)?)?;
                let size = file
                    .metadata()
                    .map_err(|error| super::errors::gap_of_io(&error))?;
                if size.len() > MAX_SETTINGS_BYTES {
                    return Err(Gap::OverBound);
                }
                let bytes = logs::part(&file, 0, size.len())?;
                let value = setting(settings.format, &settings.key, &bytes);
                Ok(Reply::text(&value.ok_or(Gap::NotFound)?))
            }
            AppPart::Log(known) => {
                let (log, filter) = adapter
                    .log
                    .as_ref()
                    .zip(filter.as_ref())
                    .ok_or(Gap::NotApplicable)?;
                let file = logs::open(place, subject, path(&log.paths)?)?;
                logs::tail(&file, known, |bytes| filter.kept(bytes)).map(Reply::Log)
            }
            AppPart::Installed => {
                let models = adapter.models.as_ref().ok_or(Gap::NotApplicable)?;
                let folder = path(&models.paths)?;
                installed(place, subject, folder, &models.extensions).map(Reply::Names)
            }
        }
    }
}

fn path(paths: &AppPaths) -> Result<&str, Gap> {
    paths
        .on(SYSTEM)
        .map(|path| &**path)
        .ok_or(Gap::NotApplicable)
}

/// Names of files with these extensions in a folder, in order.
fn installed(
    place: &Place,
    subject: &Subject,
    path: &str,
    extensions: &[Text],
) -> Result<Vec<Text>, Gap> {
    let root = place.process_root(subject.folder());
    let root = root.map_err(gap_of_process)?;
    let found = match path.strip_prefix("~/") {
        None => beneath::find(root.as_fd(), path, OFlags::DIRECTORY).map_err(gap)?,
        Some(path) => {
            let (home, _) = logs::home(place, subject, &root)?;
            beneath::find_unlinked(home.as_fd(), path).map_err(gap)?
        }
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(&found, ".", flags, Mode::empty()).map_err(gap)?;
    let entries = Dir::new(folder).map_err(gap)?.take(MAX_FOLDER_ENTRIES);
    let names = entries.filter_map(Result::ok).filter_map(|entry| {
        let name = entry.file_name().to_str().ok()?;
        let (_, extension) = name.rsplit_once('.')?;
        let is_model = extensions
            .iter()
            .any(|known| known.eq_ignore_ascii_case(extension));
        (is_model && !name.chars().any(char::is_control)).then(|| Text::from(name))
    });
    let mut names: Vec<Text> = names.collect();
    names.sort_unstable();
    names.truncate(MAX_INSTALLED);
    Ok(names)
}
