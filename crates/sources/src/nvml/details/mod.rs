//! What a device tells of its modes, errors and links.

mod ffi;

use raw::nvml::{CallAnswer, LinkRow, Output, code};

use super::ffi::{Api, Device};

/// Links asked of a device at most: `NVML_NVLINK_MAX_LINKS` of the newest header (13.5). Libraries know fewer and
/// say so.
const MAX_LINKS: u32 = 36;

/// The links of a device. A device without any answers the first question alone.
pub(super) fn links(api: &Api, device: Device) -> CallAnswer {
    let (answer, state) = api.link_state(device, 0);
    if answer.rc != code::SUCCESS {
        return answer;
    }
    let mut rows = vec![row(api, device, 0, (answer.rc, state))];
    for link in 1..MAX_LINKS {
        let (answer, state) = api.link_state(device, link);
        // Beyond the last link; a link that is not there in between is NOT_SUPPORTED.
        if answer.rc == code::INVALID_ARGUMENT {
            break;
        }
        rows.push(row(api, device, link, (answer.rc, state)));
    }
    CallAnswer {
        out: Output::Links(rows),
        ..answer
    }
}

fn row(api: &Api, device: Device, link: u32, state: (i32, u32)) -> LinkRow {
    let answered = state.0 == code::SUCCESS;
    LinkRow {
        link,
        state,
        version: if answered {
            api.link_version(device, link)
        } else {
            (state.0, 0)
        },
        remote: (answered && state.1 != 0).then(|| api.link_remote(device, link)),
    }
}
