//! `/proc/PID/status` (Linux, `Documentation/filesystems/proc.rst`, table 1-2).

/// The real user id (`Uid:`, first column).
pub fn user_id(text: &str) -> Option<u32> {
    let line = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_user_is_the_first_number() {
        assert_eq!(user_id("Name:\tx\nUid:\t1000\t0\t0\t0\n"), Some(1000));
        assert_eq!(user_id("Name:\tUid: 3\n"), None);
        assert_eq!(user_id(""), None);
        assert_eq!(user_id("Uid:\t-1\n"), None);
    }
}
