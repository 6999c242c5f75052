//! Readings of the device in a line or two. Each can be missing on its own.

use std::borrow::Cow;

use model::{Device, Reading, Stamp};
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::style::Style;

use crate::device::is_structural;
use crate::figure::{self, Figure};
use crate::paint::{Strip, width};
use crate::panel::{Form, Name, Panel, Room};
use crate::panels::{OLD_MS, old};
use crate::theme::{Class, Look};
use crate::view::View;

/// See the module.
pub(crate) struct Readings;

impl Panel for Readings {
    fn name(&self) -> Name {
        Name::Readings
    }

    fn room(&self, view: View<'_>, size: Size) -> Room {
        if Form::of(size) != Form::Full || view.has_no_device() {
            Room::Nothing
        } else if size.width >= 132 || size.height < 20 {
            Room::Lines(1)
        } else {
            Room::Lines(2)
        }
    }

    fn draw(&self, view: View<'_>, area: Rect, buffer: &mut Buffer) {
        let look = view.look();
        let Some(device) = view.device() else {
            let mut strip = Strip::new(buffer, look, area, 0);
            strip.skip(1);
            strip.put("GPU ", look.label());
            strip.put(look.pending(), look.dim());
            return;
        };
        let items = items(device, look, view.snapshot.map(|snapshot| snapshot.at));
        let mut next = 0;
        for line in 0..area.height {
            let mut strip = Strip::new(buffer, look, area, line);
            strip.skip(1);
            let last = line + 1 == area.height;
            if line == 0
                && let Some(age) = age(view, device)
            {
                strip.put_right(" ", look.plain());
                let (text, style) = old(device, &age, look);
                strip.put_right(&text, style);
            }
            while let Some(item) = items.get(next) {
                let left = items.len() - next;
                let more = if last && left > 1 { 4 } else { 0 };
                if item.width() + more > strip.room() {
                    if last {
                        strip.put(&format!("+{left}"), look.dim());
                    }
                    break;
                }
                strip.put(item.label, look.label());
                strip.put(" ", look.plain());
                for (text, style) in &item.values {
                    strip.put(text, *style);
                }
                strip.put_whole("  ", look.plain());
                next += 1;
            }
        }
    }
}

/// How old the load figure is, where it is older than it should be.
fn age(view: View<'_>, device: &Device) -> Option<String> {
    let at = device.gpu.known()?.from.at;
    let ms = view.snapshot?.at.ms_since(at);
    (ms > OLD_MS).then(|| output::format::age(ms))
}

/// A label and its figures.
struct Item {
    label: &'static str,
    values: Vec<(Cow<'static, str>, Style)>,
}

impl Item {
    fn width(&self) -> usize {
        let values: usize = self.values.iter().map(|(text, _)| width(text)).sum();
        width(self.label) + 1 + values
    }
}

/// Place of what explains a held clock: behind load, memory activity, temperature and power.
const AFTER_POWER: usize = 4;

fn items(device: &Device, look: Look, now: Option<Stamp>) -> Vec<Item> {
    let share = |reading| figure::measured(reading, look, |value| figure::percent(*value));
    let number = |reading| {
        figure::measured(reading, look, |clock: &model::Megahertz| {
            clock.0.to_string()
        })
    };
    let rate = |reading| figure::measured(reading, look, |it| figure::rate(*it));
    let watts =
        |reading| figure::measured(reading, look, |power: &model::Watts| figure::whole(power.0));
    let celsius = figure::measured(&device.temperature, look, |it| figure::whole(it.0));
    let lanes = figure::measured(&device.pcie_width, look, |lanes| format!("x{lanes}"));
    let generation = figure::measured(&device.pcie_generation, look, |it| format!("gen{it}"));
    // Traffic is read every few refreshes only, so it may be older than the rest.
    let traffic_age = now
        .zip(device.pcie_tx.known())
        .map(|(now, traffic)| now.ms_since(traffic.from.at))
        .filter(|ms| *ms >= 2000)
        .map_or(String::new(), |ms| {
            format!(" ({})", output::format::age(ms))
        });
    let mut items = vec![
        item(look, "GPU", vec![(share(&device.gpu), "%")]),
        item(look, "MEM ACT", vec![(share(&device.memory_activity), "%")]),
        item(look, "TEMP", vec![(celsius, look.celsius())]),
        Item {
            label: "PWR",
            values: figure::part_of(
                watts(&device.power),
                watts(&device.power_limit),
                "limit",
                "W",
                look,
            ),
        },
        Item {
            label: "CLK",
            values: figure::part_of(
                number(&device.core_clock),
                number(&device.memory_clock),
                "memory",
                "MHz",
                look,
            ),
        },
    ];
    // Turns are as good as a share of the maximum.
    let turns = device.turns().filter(|_| device.fan.known().is_none());
    match turns.and_then(|turns| Some((turns.unit, *turns.value.value()?))) {
        Some((unit, speed)) => {
            let text = output::format::sensor(unit, speed);
            items.push(item(look, "FAN", vec![(Figure::measured(text), "")]));
        }
        None => items.extend(offered(&device.fan, || {
            item(look, "FAN", vec![(share(&device.fan), "%")])
        })),
    }
    if device.memory.shared_used.known().is_some() {
        let size = |reading| figure::measured(reading, look, |it| figure::size(*it));
        let memory = &device.memory;
        let (used, total) = (size(&memory.shared_used), size(&memory.shared_total));
        items.push(Item {
            label: "SHARED",
            values: figure::part_of(used, total, "total", "", look),
        });
    }
    items.extend(offered(&device.encoder, || {
        item(look, "ENC", vec![(share(&device.encoder), "%")])
    }));
    items.extend(offered(&device.decoder, || {
        item(look, "DEC", vec![(share(&device.decoder), "%")])
    }));
    let linked = !is_structural(&device.pcie_generation) || !is_structural(&device.pcie_width);
    if linked {
        let figures = if generation.is_known() || lanes.is_known() {
            vec![(generation, " "), (lanes, "")]
        } else {
            vec![(generation, "")]
        };
        items.push(item(look, "PCIe", figures));
    }
    items.extend(offered(&device.pcie_rx, || {
        item(look, "rx", vec![(rate(&device.pcie_rx), "")])
    }));
    items.extend(offered(&device.pcie_tx, || {
        item(look, "tx", vec![(rate(&device.pcie_tx), &traffic_age)])
    }));
    items.extend(device.sensors.iter().filter_map(|sensor| {
        if turns.is_some_and(|turns| turns.id == sensor.id) {
            return None;
        }
        let value = *sensor.value.value()?;
        let text = output::format::sensor(sensor.unit, value);
        Some(item(look, sensor.label, vec![(Figure::measured(text), "")]))
    }));
    let busiest = device
        .visible_loads
        .iter()
        .filter_map(|(_, load)| Some(load.known()?.low.0));
    if let Some(busiest) = busiest.reduce(f64::max) {
        // That a load is at least nothing says nothing.
        let figure = if busiest > 0.0 {
            let least = figure::percent(model::Percent(busiest));
            Figure {
                text: format!("{}{least}%", look.at_least()).into(),
                class: Class::Estimated,
            }
        } else {
            Figure::gap(model::Gap::InputMissing, look)
        };
        items.push(item(look, "busiest engine", vec![(figure, "")]));
    }
    // Only where something holds the clocks down: the inspector always tells.
    if let Some(reasons) = device.details.clocks_event_reasons.value()
        && reasons.limit()
    {
        let text = output::format::clocks_event_reasons(*reasons);
        let limit = Item {
            label: "LIMIT",
            values: vec![(text.into(), look.warning())],
        };
        // Heat and defects go before what is there all the time; a power limit follows the power.
        let at = if reasons.slowdown() { 0 } else { AFTER_POWER };
        items.insert(at, limit);
    }
    items
}

/// What `item` makes of a reading, unless the driver family has no such thing.
fn offered<T>(reading: &Reading<T>, item: impl FnOnce() -> Item) -> Option<Item> {
    (!is_structural(reading)).then(item)
}

/// A unit follows a number, not a gap; a blank follows either.
fn item(look: Look, label: &'static str, figures: Vec<(Figure, &str)>) -> Item {
    let mut values = Vec::with_capacity(figures.len() * 2);
    for (figure, after) in figures {
        let known = figure.is_known();
        values.push((figure.text, look.class(figure.class)));
        if known || after == " " {
            values.push((after.to_owned().into(), look.plain()));
        }
    }
    Item { label, values }
}
