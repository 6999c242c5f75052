//! Whether `--gpu` names a GPU that is there, and how they are called where it does not.

use model::{Device, Gap, Selected, Selection, Selector, Snapshot, SourceState};

use crate::failure::Failure;

/// Refuses a name that no GPU has, or several. Without any GPU there is nothing to refuse: what was
/// looked for is more useful. What is no name at all is refused in any case.
pub(super) fn check(selector: Option<&Selector>, snapshot: &Snapshot) -> Result<(), Failure> {
    let Some(selector) = selector else {
        return Ok(());
    };
    let devices = snapshot.devices.as_slice();
    let nonsense = matches!(selector, Selector::Other(_));
    if devices.is_empty() && !nonsense {
        return Ok(());
    }
    let error = match selector.among(devices) {
        Selected::One(index) if devices.iter().any(|device| device.index == index) => {
            return Ok(());
        }
        Selected::Several(indices) => anyhow::anyhow!(
            "{selector} could be more than one:{}",
            list(devices.iter().filter(|it| indices.contains(&it.index)))
        ),
        Selected::None if devices.iter().any(|it| may_be(selector, it)) => {
            let sleeping = devices.iter().filter(|it| may_be(selector, it));
            return Err(Failure::usage(
                anyhow::anyhow!(
                    "GPU {selector} is none whose UUID is known; a GPU that sleeps does not tell its own:{}",
                    list(sleeping)
                ),
                "name it by its number or PCI address, or wake it once with --wake",
            ));
        }
        Selected::One(_) | Selected::None if nonsense => anyhow::anyhow!(
            "{:?} is no number, PCI address or UUID of a GPU, and not `all`",
            selector.to_string()
        ),
        Selected::One(_) | Selected::None => {
            let range = match devices.len() {
                1 => "only GPU 0".to_owned(),
                count => format!("GPUs 0 to {}", count - 1),
            };
            let whole = if selector.to_string().starts_with("MIG-") {
                " (a MIG instance cannot be selected, only its GPU)"
            } else {
                ""
            };
            anyhow::anyhow!("GPU {selector} does not exist{whole}: this machine has {range}")
        }
    };
    let valid = if devices.is_empty() {
        String::new()
    } else {
        format!("valid are all and:{}\n", list(devices.iter()))
    };
    Err(Failure::usage(
        error,
        format!("{valid}gputaskman --list-gpus shows them"),
    ))
}

/// The same in a stream of snapshots, of which the first come before the driver has said which GPUs
/// there are.
#[derive(Default)]
pub(super) struct Check {
    passed: bool,
}

impl Check {
    /// Refuses as [`check`] does. Once a GPU was found it may go away again: that is news, not a mistake.
    pub(super) fn pass(
        &mut self,
        selector: Option<&Selector>,
        snapshot: &Snapshot,
    ) -> Result<(), Failure> {
        let asked = |source: &model::SourceStatus| source.state == SourceState::Pending;
        if self.passed || snapshot.sources.iter().any(asked) {
            return Ok(());
        }
        check(selector, snapshot)?;
        self.passed = !snapshot.devices.is_empty();
        Ok(())
    }
}

/// A selector that names the same GPU without its UUID, which would stand in a recording's first
/// line before anything is hidden.
pub(super) fn without_uuid(selector: Selector, devices: &[Device]) -> Option<Selector> {
    if !matches!(selector, Selector::Uuid(_)) {
        return Some(selector);
    }
    match selector.selection(devices) {
        Selection::One(index) => Some(Selector::Index(index)),
        Selection::All | Selection::Nothing => None,
    }
}

/// Whether `selector` may be the UUID of `device`, which cannot be asked for it while it sleeps.
fn may_be(selector: &Selector, device: &Device) -> bool {
    matches!(selector, Selector::Uuid(_)) && device.uuid.gap() == Some(Gap::Asleep)
}

/// Number, address and UUID of each, as far as they are known: one alone in the sentence, several on a line each.
fn list<'a>(devices: impl Iterator<Item = &'a Device>) -> String {
    let names: Vec<String> = devices
        .map(|device| {
            let address = device.pci.value().map(ToString::to_string);
            let uuid = device.uuid.value().map(ToString::to_string);
            let others: Vec<String> = address.into_iter().chain(uuid).collect();
            match others.as_slice() {
                [] => device.index.to_string(),
                others => format!("{} ({})", device.index, others.join(", ")),
            }
        })
        .collect();
    match names.as_slice() {
        [one] => format!(" {one}"),
        several => format!("\n  {}", several.join("\n  ")),
    }
}
