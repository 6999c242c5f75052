//! Names of users.

use model::Gap;

use super::place::Place;
use super::text::read_all;

/// Bytes of `/etc/passwd`, about 15 000 users.
const PASSWD_BOUND: usize = 1024 * 1024;

/// The name of a user id in `/etc/passwd`; the number itself where it has none.
pub(super) fn name(place: &Place, uid: u32) -> Result<String, Gap> {
    let named = entry(place, uid, |fields| fields.first().copied())?;
    Ok(named.unwrap_or_else(|| uid.to_string()))
}

/// The home folder of a user id in `/etc/passwd`.
pub(super) fn home(place: &Place, uid: u32) -> Option<String> {
    let home = entry(place, uid, |fields| fields.get(5).copied());
    home.ok()?.filter(|home| home.starts_with('/'))
}

/// A field of the first line with a name and this number.
fn entry(
    place: &Place,
    uid: u32,
    field: for<'a> fn(&[&'a str]) -> Option<&'a str>,
) -> Result<Option<String>, Gap> {
    let mut text = Vec::new();
    match place.open("/etc/passwd") {
        Ok(file) => read_all(&file, &mut text, PASSWD_BOUND)
            .map_err(|error| error.gap(super::errors::gap))?,
        Err(Gap::NotPresent) => {}
        Err(gap) => return Err(gap),
    }
    let text = String::from_utf8_lossy(&text);
    let number = uid.to_string();
    Ok(text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let is_named = fields.first().is_some_and(|name| !name.is_empty());
        (is_named && fields.get(2) == Some(&&*number))
            .then(|| field(&fields).map(str::to_owned))
            .flatten()
    }))
}
