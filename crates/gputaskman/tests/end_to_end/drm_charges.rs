//! Whose the memory of a card is where not everything can be seen: hidden processes that the compute driver knows,
//! processes that cannot be told, sizes that cannot be true. Each machine is a folder, looked at as `--root` does.

use serde_json::Value;

use crate::support::{Folder, Program, json};

const PLACE: &str = "0000:03:00.0";

const CARD: &str = "sys/class/drm/card1/device";

const GIB: u64 = 1 << 30;

/// The number of the card in the compute driver.
const GPU_ID: u32 = 20817;

/// A machine with a discrete AMD card of 16 GiB.
struct Machine(Folder);

impl Machine {
    fn with_card(used: u64) -> Self {
        let it = Self(Folder::new());
        it.0.link("proc/self/ns/pid", "pid:[4026531836]");
        it.0.write("proc/uptime", "20000.50 70000.00\n");
        let uevent = format!("DRIVER=amdgpu\nPCI_ID=1002:73BF\nPCI_SLOT_NAME={PLACE}\n");
        it.0.write("sys/class/drm/renderD128/device/uevent", &uevent);
        it.0.write(&format!("{CARD}/uevent"), &uevent);
        for (name, value) in [
            ("power/runtime_status", "active".to_owned()),
            ("power/control", "on".to_owned()),
            ("mem_info_vram_total", (16 * GIB).to_string()),
            ("mem_info_vram_used", used.to_string()),
            ("mem_info_gtt_total", (8 * GIB).to_string()),
            ("mem_busy_percent", "7".to_owned()),
        ] {
            it.file(name, &value);
        }
        let node = "sys/class/kfd/kfd/topology/nodes/1";
        it.0.write(&format!("{node}/gpu_id"), format!("{GPU_ID}\n"));
        let properties = "location_id 768\ndomain 0\ndrm_render_minor 128\n";
        it.0.write(&format!("{node}/properties"), properties);
        it
    }

    fn file(&self, name: &str, value: &str) {
        self.0
            .write(&format!("{CARD}/{name}"), format!("{value}\n"));
    }

    /// A process whose descriptors cannot be listed.
    fn hidden(&self, pid: u32) {
        let zeros = "0 ".repeat(13);
        let stat = format!("{pid} (app) S 1 {pid} {pid} 0 -1 {zeros}{pid} 1 1 0\n");
        self.0.write(&format!("proc/{pid}/stat"), stat);
        self.0.write(
            &format!("proc/{pid}/status"),
            "Name:\tapp\nUid:\t0\t0\t0\t0\n",
        );
    }

    /// A process that can be looked at and holds no node.
    fn visible(&self, pid: u32) {
        self.hidden(pid);
        let descriptor = format!("proc/{pid}/fd/0");
        if !self.0.at(&descriptor).is_symlink() {
            self.0.link(&descriptor, "/dev/null");
        }
    }

    /// A process that holds a client with this much device memory.
    fn client(&self, pid: u32, client: u64, vram: impl std::fmt::Display) {
        self.visible(pid);
        let text = format!(
            "drm-driver:\tamdgpu\ndrm-client-id:\t{client}\ndrm-pdev:\t{PLACE}\n\
             drm-total-vram:\t{vram}\ndrm-shared-vram:\t0\ndrm-resident-vram:\t{vram}\n\
             drm-total-gtt:\t0\ndrm-shared-gtt:\t0\ndrm-resident-gtt:\t0\n"
        );
        self.text(pid, client, &text);
    }

    fn text(&self, pid: u32, fd: u64, text: &str) {
        self.0
            .link(&format!("proc/{pid}/fd/{fd}"), "/dev/dri/renderD128");
        self.0.write(&format!("proc/{pid}/fdinfo/{fd}"), text);
    }

    /// What the compute driver counts.
    fn counted(&self, folder: &str, vram: impl std::fmt::Display) {
        let path = format!("sys/class/kfd/kfd/proc/{folder}/vram_{GPU_ID}");
        self.0.write(&path, format!("{vram}\n"));
    }

    fn document(&self) -> Value {
        let ran = Program::line("--json").root(self.0.path()).run();
        let document = ran.ended(0).json();
        json::every_null_has_its_reason(&document);
        let memory = &document["devices"][0]["memory"];
        if let Some(used) = memory["vram_used_bytes"].as_u64() {
            let attributed = memory["vram_attributed_bytes"].as_u64().unwrap_or(0);
            assert!(attributed <= used, "{attributed} of {used}");
        }
        document
    }
}

/// Sizes of a process on the card, and every reason.
fn charge(document: &Value, pid: u32) -> (Option<u64>, Option<u64>, Vec<&str>) {
    let device = &json::process(document, pid)["devices"][0];
    let reasons = json::list(&device["drm"], "vram_unattributed_all");
    (
        device["memory"]["vram_bytes"].as_u64(),
        device["memory"]["spill_bytes"].as_u64(),
        reasons.iter().filter_map(Value::as_str).collect(),
    )
}

fn counted(document: &Value, pid: u32) -> Option<u64> {
    json::process(document, pid)["devices"][0]["drm"]["kfd"]["vram_bytes"].as_u64()
}

fn pids(document: &Value) -> Vec<u32> {
    let mut pids: Vec<u32> = json::list(document, "processes")
        .iter()
        .map(json::number_of)
        .collect();
    pids.sort_unstable();
    pids
}

fn notice<'a>(document: &'a Value, code: &str) -> Option<&'a str> {
    let mut notices = json::list(document, "notices").iter();
    notices.find(|it| it["code"] == code)?["text"].as_str()
}

#[test]
fn the_compute_drivers_figure_of_a_hidden_process_is_a_charge_only_where_no_other_row_can_hold_the_bytes()
 {
    let unsure = (None, None, vec!["incomplete", "ambiguous"]);
    let sure = (Some(GIB), None, vec![]);
    // A client that is too small for them, and one that is not: a child of the hidden process may have inherited it.
    for (visible, used, expected) in [
        (GIB / 2, 4 * GIB, &sure),
        (GIB, 4 * GIB, &unsure),
        (3 * GIB, 5 * GIB, &unsure),
        // Nobody has more than there is.
        (GIB / 2, GIB, &unsure),
    ] {
        let machine = Machine::with_card(used);
        machine.client(106, 6, visible);
        machine.hidden(105);
        machine.counted("105", GIB);
        let document = machine.document();
        assert_eq!(charge(&document, 105), *expected, "{visible} of {used}");
        assert_eq!(counted(&document, 105), Some(GIB));
        assert_eq!(charge(&document, 106), (Some(visible), Some(0), vec![]));
        let text = notice(&document, "unreadable_holders").unwrap();
        assert_eq!(text.contains("except"), expected == &sure, "{text}");
    }
}

#[test]
fn a_client_of_a_process_that_computes_itself_has_room_for_what_is_not_its_own() {
    for (total, expected) in [(2 * GIB + GIB / 2, Some(GIB)), (3 * GIB, None)] {
        let machine = Machine::with_card(8 * GIB);
        machine.client(100, 1, total);
        machine.counted("100", 2 * GIB);
        machine.hidden(105);
        machine.counted("105", GIB);
        let document = machine.document();
        assert_eq!(charge(&document, 105).0, expected);
        // Its own figure is a cross-check beside its texts, and not added to them.
        assert_eq!(charge(&document, 100).0, Some(total));
        assert_eq!(counted(&document, 100), Some(2 * GIB));
    }
}

#[test]
fn a_client_that_does_not_say_what_it_can_have_may_have_anything() {
    let machine = Machine::with_card(8 * GIB);
    machine.visible(100);
    let text = format!(
        "drm-driver:\tamdgpu\ndrm-client-id:\t1\ndrm-pdev:\t{PLACE}\ndrm-memory-vram:\t4 KiB\n\
         drm-shared-vram:\t0\ndrm-memory-gtt:\t0 KiB\ndrm-shared-gtt:\t0\n"
    );
    machine.text(100, 5, &text);
    machine.hidden(105);
    machine.counted("105", GIB);
    let document = machine.document();
    assert_eq!(charge(&document, 100).0, Some(4096));
    assert_eq!(charge(&document, 105).0, None);
}

#[test]
fn a_process_that_can_be_looked_at_is_not_said_to_be_unreadable() {
    for (visible, expected) in [
        (GIB, (None, None, vec!["ambiguous", "not_listed"])),
        (GIB / 2, (Some(GIB), None, vec![])),
    ] {
        let machine = Machine::with_card(4 * GIB);
        machine.client(106, 6, visible);
        machine.visible(105);
        machine.0.link("proc/105/fd/3", "/dev/kfd");
        machine.counted("105", GIB);
        let document = machine.document();
        assert_eq!(charge(&document, 105), expected);
        assert_eq!(counted(&document, 105), Some(GIB));
        assert_eq!(document["process_status"]["hidden"], 0);
        assert_eq!(notice(&document, "unreadable_holders"), None);
    }
}

#[test]
fn a_process_is_counted_once_however_its_number_is_spelled() {
    let machine = Machine::with_card(4 * GIB);
    machine.hidden(105);
    machine.counted("105", GIB);
    machine.counted("00105", GIB);
    let document = machine.document();
    assert_eq!(charge(&document, 105).0, Some(GIB));
    assert_eq!(
        json::list(json::process(&document, 105), "devices").len(),
        1
    );
}

#[test]
fn a_figure_of_two_cards_with_one_number_is_of_neither() {
    let machine = Machine::with_card(4 * GIB);
    let uevent = "DRIVER=amdgpu\nPCI_ID=1002:73BF\nPCI_SLOT_NAME=0000:0a:00.0\n";
    for node in ["card2", "renderD129"] {
        machine
            .0
            .write(&format!("sys/class/drm/{node}/device/uevent"), uevent);
    }
    let node = "sys/class/kfd/kfd/topology/nodes/2";
    machine
        .0
        .write(&format!("{node}/gpu_id"), format!("{GPU_ID}\n"));
    machine
        .0
        .write(&format!("{node}/properties"), "drm_render_minor 129\n");
    for (pid, bytes) in [(105, GIB), (107, 0)] {
        machine.hidden(pid);
        machine.counted(&pid.to_string(), bytes);
    }
    let document = machine.document();
    assert_eq!(pids(&document), [105]);
    for device in json::list(json::process(&document, 105), "devices") {
        assert_eq!(device["memory"]["vram_bytes"], Value::Null);
        let reasons = &device["drm"]["vram_unattributed_all"];
        assert_eq!(*reasons, serde_json::json!(["incomplete", "ambiguous"]));
    }
}

#[test]
fn a_hidden_process_of_a_card_that_is_not_asked_stays_with_the_reason() {
    let machine = Machine::with_card(4 * GIB);
    machine.hidden(105);
    machine.counted("105", GIB);
    machine.visible(107);
    machine.counted("107", 0);
    machine.file("power/control", "auto");
    // What it has of the card is use of the card, which is therefore not left alone.
    let ran = Program::line("record --json -i 0.25 --count 5 -o")
        .arg(machine.0.at("capture.ndjson"))
        .root(machine.0.path())
        .run();
    let documents = ran.ended(0).lines();
    let charged = documents.iter().filter(|it| pids(it) == [105]);
    let charged: Vec<_> = charged.map(|it| charge(it, 105).0).collect();
    assert!(charged.len() >= 3, "{charged:?}");
    assert!(charged.iter().all(|it| *it == Some(GIB)), "{charged:?}");
    machine.file("power/runtime_status", "suspended");
    let document = machine.document();
    assert_eq!(pids(&document), [105]);
    let expected = (None, None, vec!["asleep", "incomplete"]);
    assert_eq!(charge(&document, 105), expected);
    assert_eq!(counted(&document, 105), None);
    let memory = &document["devices"][0]["memory"];
    assert_eq!(memory["vram_attributed_bytes"], Value::Null);
}

#[test]
fn a_process_whose_stat_says_nothing_holds_its_clients_and_has_a_row() {
    for stat in ["garbage\n", ""] {
        let machine = Machine::with_card(4 * GIB);
        for pid in [107, 108] {
            machine.client(pid, 7, GIB);
        }
        machine.0.write("proc/107/stat", stat);
        let document = machine.document();
        let expected = (None, None, vec!["shared_client"]);
        for pid in [107, 108] {
            assert_eq!(charge(&document, pid), expected);
        }
        assert_eq!(json::process(&document, 107)["name"], Value::Null);
        assert_eq!(json::process(&document, 108)["name"], "app");
    }
}

#[test]
fn a_size_beyond_the_card_is_said_to_be_implausible() {
    let machine = Machine::with_card(4 * GIB);
    machine.client(100, 1, 17 * GIB);
    machine.client(101, 2, u64::MAX);
    for client in 3..6 {
        machine.client(102, client, 1_u64 << 63);
    }
    machine.client(103, 6, GIB);
    for (pid, count) in [
        (110, "18446744073709551615"),
        (111, "-1"),
        (112, "17179869185"),
        (113, "many"),
    ] {
        machine.hidden(pid);
        machine.counted(&pid.to_string(), count);
    }
    let document = machine.document();
    for pid in 100..103 {
        let expected = (None, Some(0), vec!["implausible"]);
        assert_eq!(charge(&document, pid), expected, "{pid}");
        let memory = &json::process(&document, pid)["devices"][0]["memory"];
        assert_eq!(memory["vram_resident_bytes"], Value::Null);
    }
    assert_eq!(charge(&document, 103).0, Some(GIB));
    for (pid, reason) in [
        (110, "implausible"),
        (111, "implausible"),
        (112, "implausible"),
        (113, "malformed"),
    ] {
        let expected = (None, None, vec!["incomplete", reason]);
        assert_eq!(charge(&document, pid), expected, "{pid}");
    }
    machine.file("mem_info_vram_used", &(17 * GIB).to_string());
    let document = machine.document();
    let device = &document["devices"][0];
    let reason = &device["provenance"]["memory.vram_used_bytes"]["reason"];
    assert_eq!(*reason, "implausible");
}

#[test]
fn half_a_number_is_no_number() {
    let machine = Machine::with_card(4 * GIB);
    machine.client(100, 1, GIB);
    let whole = std::fs::read_to_string(machine.0.at("proc/100/fdinfo/1")).unwrap();
    let cut = whole.find("drm-resident-vram:\t107").unwrap() + "drm-resident-vram:\t107".len();
    machine.0.write("proc/100/fdinfo/1", &whole[..cut]);
    machine.hidden(105);
    machine
        .0
        .write(&format!("sys/class/kfd/kfd/proc/105/vram_{GPU_ID}"), "107");
    machine
        .0
        .write(&format!("{CARD}/mem_info_vram_used"), "429");
    let document = machine.document();
    assert_eq!(charge(&document, 100).0, None);
    assert_eq!(charge(&document, 100).2.first(), Some(&"incomplete"));
    assert_eq!(charge(&document, 105).2, ["incomplete", "malformed"]);
    let device = &document["devices"][0];
    let reason = &device["provenance"]["memory.vram_used_bytes"]["reason"];
    assert_eq!(*reason, "malformed");
}
