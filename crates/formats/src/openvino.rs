//! `OpenVINO`'s description of a model: XML whose root is `<net name=… version=…>`.

use crate::description::{Description, Format};
use crate::limits::OPENVINO_WINDOW;

/// What the file is, if it starts like one. The XML is not parsed: only its root element is looked at.
pub(crate) fn describe(start: &[u8]) -> Option<Description> {
    let window = usize::try_from(OPENVINO_WINDOW).unwrap_or(usize::MAX);
    let start = start.get(..window).unwrap_or(start);
    let text = String::from_utf8_lossy(start);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let text = match text.strip_prefix("<?xml") {
        Some(rest) => rest.split_once("?>")?.1.trim_start(),
        None => text,
    };
    let root = text.strip_prefix("<net ")?.split_once('>')?.0;
    let (_, version) = root
        .split_once(" version=\"")
        .or_else(|| root.split_once("version=\""))?;
    let version: u64 = version.split_once('"')?.0.parse().ok()?;
    let mut found = Description::new(Format::OpenVino);
    found.version = Some(version);
    Some(found)
}
