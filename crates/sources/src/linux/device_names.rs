//! Names of products, from the lists that distributions install.

use model::Gap;
use model::names::name_in;

use super::errors::gap_of_attribute;
use super::place::Place;
use super::text::read_all;

/// AMD's own list: a device may be several products, which its revision tells apart.
const AMD: [&str; 2] = [
    "/usr/share/libdrm/amdgpu.ids",
    "/usr/local/share/libdrm/amdgpu.ids",
];

/// The list of everybody's devices.
const ALL: [&str; 3] = [
    "/usr/share/hwdata/pci.ids",
    "/usr/share/misc/pci.ids",
    "/usr/share/pci.ids",
];

/// Bytes of a list; the longest has about 1.5 million.
const LIST_BOUND: usize = 8 << 20;

/// Bytes of a name.
const NAME_BOUND: usize = 200;

/// The name in the first list that has one.
pub(super) fn name(
    place: &Place,
    vendor: u16,
    device: u16,
    revision: Option<u8>,
) -> Result<String, Gap> {
    let in_lists = |lists: &[&str], find: &dyn Fn(&str) -> Option<String>| {
        lists.iter().find_map(|path| find(&list(place, path).ok()?))
    };
    let of_revision = revision.and_then(|revision| {
        in_lists(&AMD, &|text| amd_name(text, device, revision)).filter(|_| vendor == 0x1002)
    });
    of_revision
        .or_else(|| in_lists(&ALL, &|text| pci_name(text, vendor, device)))
        .ok_or(Gap::NotFound)
}

fn list(place: &Place, path: &str) -> Result<String, Gap> {
    let file = place.open(path)?;
    let mut text = Vec::new();
    read_all(&file, &mut text, LIST_BOUND).map_err(|error| error.gap(gap_of_attribute))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// `15BF,\tC4,\tAMD Radeon 780M Graphics`.
fn amd_name(text: &str, device: u16, revision: u8) -> Option<String> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let mut fields = line.splitn(3, ',').map(str::trim);
            let is_device = u16::from_str_radix(fields.next()?, 16) == Ok(device);
            let is_revision = u8::from_str_radix(fields.next()?, 16) == Ok(revision);
            (is_device && is_revision)
                .then(|| fields.next().and_then(bounded))
                .flatten()
        })
}

/// Vendors begin a line with their number, their devices with a tab, and what is below a device with two.
fn pci_name(text: &str, vendor: u16, device: u16) -> Option<String> {
    let numbered = |line: &str| {
        let (number, name) = line.split_once(char::is_whitespace)?;
        (number.len() == 4).then_some((u16::from_str_radix(number, 16).ok()?, bounded(name)?))
    };
    let mut is_vendor = false;
    for line in text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        match line.strip_prefix('\t') {
            None => is_vendor = numbered(line).is_some_and(|(number, _)| number == vendor),
            Some(rest) if is_vendor => match numbered(rest) {
                Some((number, name)) if number == device => return Some(name),
                _ => {}
            },
            Some(_) => {}
        }
    }
    None
}

fn bounded(name: &str) -> Option<String> {
    Some(name_in(name)?.chars().take(NAME_BOUND).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_tells_products_of_one_device_apart() {
        let text =
            "# list\n1.0.0\n15BF,\tC4,\tAMD Radeon 780M Graphics\n15BF,\tDD,\tAMD Radeon 760M\n\n";
        assert_eq!(
            amd_name(text, 0x15bf, 0xdd).as_deref(),
            Some("AMD Radeon 760M")
        );
        assert_eq!(amd_name(text, 0x15bf, 0x01), None);
        for line in ["15BF\n,,\n", "15BF, 00,\n", "15BF, 00, \0\u{1b}\u{200b}\n"] {
            assert_eq!(amd_name(line, 0x15bf, 0), None, "{line:?}");
        }
    }

    #[test]
    fn a_device_stands_below_its_vendor() {
        let text = "# list\n1002  Advanced Micro Devices\n\t15bf  Phoenix1\n\t\t17aa 50da  Board\n\
                    8086  Intel Corporation\n\t15bf  Other\n\t56a5  DG2 [Arc A380]\nC 03  Display\n\t00  VGA\n";
        assert_eq!(pci_name(text, 0x1002, 0x15bf).as_deref(), Some("Phoenix1"));
        assert_eq!(
            pci_name(text, 0x8086, 0x56a5).as_deref(),
            Some("DG2 [Arc A380]")
        );
        assert_eq!(pci_name(text, 0x1002, 0x56a5), None);
        assert_eq!(pci_name(text, 0x1002, 0x17aa), None);
    }
}
