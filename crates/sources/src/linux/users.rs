//! Names of users.

use model::Gap;

use super::place::Place;
use super::text::read_all;

/// Bytes of `/etc/passwd`, about 15 000 users.
const PASSWD_BOUND: usize = 1024 * 1024;

/// The name of a user id in `/etc/passwd`; the number itself where it has none.
pub(super) fn name(place: &Place, uid: u32) -> Result<String, Gap> {
    let mut text = Vec::new();
    match place.open("/etc/passwd") {
        Ok(file) => read_all(&file, &mut text, PASSWD_BOUND)
            .map_err(|error| error.gap(super::errors::gap))?,
        Err(Gap::NotPresent) => {}
        Err(gap) => return Err(gap),
    }
    let text = String::from_utf8_lossy(&text);
    let number = uid.to_string();
    let named = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)? == number).then(|| name.to_owned())
    });
    Ok(named.unwrap_or(number))
}
