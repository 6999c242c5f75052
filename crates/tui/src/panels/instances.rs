//! The MIG instances of the device, one a line.

use model::{Device, MigInstance};
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use crate::figure;
use crate::paint::Strip;
use crate::panel::{Form, Name, Panel, Room};
use crate::theme::Look;
use crate::view::View;
use crate::widgets::bar::{self, Part};

/// See the module.
pub(crate) struct Instances;

/// Below this width a bar says nothing.
const LEAST_BAR: usize = 12;

/// Cells of the longest profile there is, `1c.1g.12gb+me`.
const PROFILE: u16 = 13;

impl Panel for Instances {
    fn name(&self) -> Name {
        Name::Instances
    }

    fn room(&self, view: View<'_>, size: Size) -> Room {
        let split = view.device().filter(|device| device.in_mig_mode());
        match split {
            Some(device) if Form::of(size) == Form::Full => Room::Flexible {
                wanted: model::units::saturating_u16(
                    device.read_instances().count() + usize::from(unread(device).is_some()),
                ),
                least: 1,
                rank: 3,
            },
            _ => Room::Nothing,
        }
    }

    fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer) {
        let look = view.look();
        let Some(device) = view.device() else {
            return;
        };
        let read = device.read_instances().count();
        let lines = usize::from(area.height);
        let beyond = read.saturating_sub(lines);
        for (line, instance) in (0..area.height).zip(device.read_instances()) {
            let more = if line + 1 == area.height { beyond } else { 0 };
            draw_line(look, device, instance, more, area, line, buffer);
        }
        if let Some(words) = unread(device)
            && read < lines
        {
            let line = model::units::saturating_u16(read);
            let mut strip = Strip::new(buffer, look, area, line);
            strip.skip(1);
            strip.put("MIG ", look.label());
            strip.put(&words, look.dim());
        }
    }
}

/// What stands in place of instances, or after them.
fn unread(device: &Device) -> Option<String> {
    if let Some(missing) = &device.instances_missing {
        return Some(format!("instances n/a: {}", missing.gap.sentence()));
    }
    if let Some((count, why)) = device.refused_slots() {
        let slots = if count == 1 { "slot" } else { "slots" };
        let why = why.sentence();
        return Some(format!("{count} {slots} could not be read: {why}"));
    }
    let none = device.instances.is_empty();
    none.then(|| "on, without an instance that can be seen".to_owned())
}

fn draw_line(
    look: Look,
    device: &Device,
    instance: &MigInstance,
    more: usize,
    area: Rect,
    line: u16,
    buffer: &mut Buffer,
) {
    let mut strip = Strip::new(buffer, look, area, line);
    strip.skip(1);
    strip.put("MIG ", look.label());
    strip.field(&place(instance), 5, false, look.bold());
    let profile = instance.profile().map_or_else(
        || {
            figure::measured(&instance.name, look, |name| {
                figure::clean(name).into_owned()
            })
            .text
        },
        |profile| figure::clean(profile).into_owned().into(),
    );
    strip.field(&profile, PROFILE + 1, false, look.plain());
    let memory = &instance.memory;
    let used = figure::measured(&memory.used, look, |used| figure::size(*used));
    let total = figure::measured(&memory.total, look, |total| figure::size(*total));
    // The parts line up.
    let before = 5_usize.saturating_sub(crate::paint::width(&used.text));
    strip.skip(model::units::saturating_u16(before));
    for (text, style) in figure::part_of(used, total, "total", "", look) {
        strip.put(&text, style);
    }
    if more > 0 {
        strip.put_right(&format!(" +{more} more "), look.dim());
    }
    strip.put_right(" ", look.plain());
    let load = figure::measured(&instance.gpu, look, |share| figure::percent(*share) + "%");
    let processes = match instance.processes() {
        None => "processes n/a".to_owned(),
        Some(1) => "1 process".to_owned(),
        Some(count) => format!("{count} processes"),
    };
    strip.put_right(&format!("{processes}, load {}", load.text), look.dim());
    strip.skip(1);
    if let (Some(used), Some(total)) = (memory.used.value(), memory.total.value()) {
        if let Some(share) = used.percent_of(*total) {
            strip.put_whole(
                &format!("{:>3}%", figure::percent(share)),
                look.level(share.0),
            );
        }
        strip.skip(1);
        if strip.room() > LEAST_BAR {
            let part = |letter, bytes: f64, style, hollow| Part {
                letter,
                weight: bytes,
                style,
                hollow,
            };
            let rows = attributed_of_gpu_instance(device, instance).min(used.as_f64());
            let parts = [
                part('P', rows, look.chart(), false),
                part('U', used.as_f64() - rows, look.dim(), true),
                part('.', total.as_f64() - used.as_f64(), look.dim(), true),
            ];
            let cells = model::units::saturating_u16(strip.room() - 1);
            bar::draw(&mut strip, look, &parts, cells);
        }
    } else if let Some(gap) = memory.used.gap() {
        strip.put(gap.sentence(), look.dim());
    }
}

/// Memory is that of the GPU instance: its other compute instances' processes are in it too.
fn attributed_of_gpu_instance(device: &Device, instance: &MigInstance) -> f64 {
    let gpu = |instance: &MigInstance| instance.ids().map(|(gpu, _)| gpu);
    let siblings = device.instances.iter().filter(|other| {
        other.slot == instance.slot || (gpu(other).is_some() && gpu(other) == gpu(instance))
    });
    siblings
        .map(|sibling| sibling.attributed.known.as_f64())
        .sum()
}

/// GPU and compute instance, or the driver's slot where they are unknown.
pub(crate) fn place(instance: &MigInstance) -> String {
    match instance.ids() {
        Some((gpu, compute)) => format!("{gpu}/{compute}"),
        None => format!("#{}", instance.slot),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_gpu_instance_is_that_of_all_its_compute_instances() {
        let servers = model::sample::servers();
        let mut devices = servers.devices.iter();
        let mut device = devices.find(|it| it.in_mig_mode()).unwrap().clone();
        let first = device.instances[0].clone();
        let own = first.attributed.known.as_f64();
        assert!(own > 0.0);
        assert!((attributed_of_gpu_instance(&device, &first) - own).abs() < 1.0);
        // A second compute instance of the same GPU instance; the other GPU instance stays out of it.
        let mut second = first.clone();
        second.slot = 5;
        second.attributed.known = model::Bytes::mib(1000);
        device.instances.push(second.clone());
        device.instances[1].attributed.known = model::Bytes::mib(77);
        let both = own + model::Bytes::mib(1000).as_f64();
        for instance in [&first, &second] {
            assert!((attributed_of_gpu_instance(&device, instance) - both).abs() < 1.0);
        }
    }
}
