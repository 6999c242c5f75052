//! Folders of one test below the target folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// An empty folder that goes away with this value.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The path of something in it.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, with the folders above it.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Makes a link with this text, with the folders above it.
    pub(crate) fn link(&self, name: &str, text: &str) {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(text, path).unwrap();
    }

    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let path = self.at(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What a failed test leaves behind is below the target folder.
        let _left_behind = std::fs::remove_dir_all(&self.0);
    }
}
