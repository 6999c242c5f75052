//! One run's figures, and the median and range over the runs.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::options::Options;

/// The figures of one run. A figure that could not be had is absent, never zero.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// Processor time by `schedstat`, milliseconds; absent on a kernel without scheduler statistics.
    pub(super) cpu_ms_per_refresh: Option<f64>,
    /// The same by `utime` + `stime`, which count in steps of 10 ms.
    pub(super) cpu_ticks_ms_per_refresh: f64,
    /// Processor time from the start of the program until it is watched, by `schedstat`, milliseconds: what it costs to
    /// find everything for the first time, and the refreshes of the time to settle. Without threads that have ended.
    pub(super) cpu_ms_until_watched: Option<f64>,
    /// Resident memory at the end, the whole process tree.
    pub(super) rss_mib: f64,
    /// Highest resident memory of the program itself since it started.
    pub(super) peak_mib: Option<f64>,
    pub(super) voluntary_switches_per_second: f64,
    pub(super) terminal_bytes_per_refresh: f64,
    /// From the start of the program; absent when no frame was seen.
    pub(super) first_frame_ms: Option<f64>,
}

type Figure = (&'static str, fn(&Row) -> Option<f64>);

const FIGURES: [Figure; 8] = [
    ("cpu_ms_per_refresh", |row| row.cpu_ms_per_refresh),
    ("cpu_ticks_ms_per_refresh", |row| {
        Some(row.cpu_ticks_ms_per_refresh)
    }),
    ("cpu_ms_until_watched", |row| row.cpu_ms_until_watched),
    ("rss_mib", |row| Some(row.rss_mib)),
    ("peak_mib", |row| row.peak_mib),
    ("voluntary_switches_per_second", |row| {
        Some(row.voluntary_switches_per_second)
    }),
    ("terminal_bytes_per_refresh", |row| {
        Some(row.terminal_bytes_per_refresh)
    }),
    ("first_frame_ms", |row| row.first_frame_ms),
];

pub(super) struct Report<'a> {
    pub(super) options: &'a Options,
    /// What was measured.
    pub(super) what: &'a str,
    pub(super) rows: Vec<Row>,
}

impl Report<'_> {
    pub(super) fn to_text(&self) -> String {
        if self.options.json {
            self.json()
        } else {
            self.table()
        }
    }

    fn table(&self) -> String {
        let Options {
            seconds,
            interval,
            size,
            ..
        } = self.options;
        let mut text = format!(
            "{}\n{} runs of {seconds} s, a refresh every {interval} s, {}x{}\n{:<32}{:>12}{:>12}{:>12}\n",
            self.what,
            self.rows.len(),
            size.columns,
            size.rows,
            "",
            "median",
            "least",
            "most",
        );
        for (name, figure) in FIGURES {
            // Writing to a String cannot fail.
            let _ = match summary(&self.rows, figure) {
                Some([median, least, most]) => {
                    writeln!(text, "{name:<32}{median:>12.3}{least:>12.3}{most:>12.3}")
                }
                None => writeln!(text, "{name:<32}{:>12}{:>12}{:>12}", "n/a", "n/a", "n/a"),
            };
        }
        text
    }

    fn json(&self) -> String {
        let Options {
            seconds,
            interval,
            size,
            command,
            settle,
            ..
        } = self.options;
        let runs: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                Value::Object(
                    FIGURES
                        .iter()
                        .map(|(name, get)| ((*name).to_owned(), json!(get(row))))
                        .collect(),
                )
            })
            .collect();
        let figures: Map<String, Value> = FIGURES
            .iter()
            .map(|(name, figure)| {
                let value = summary(&self.rows, *figure).map(
                    |[median, least, most]| json!({"median": median, "least": least, "most": most}),
                );
                ((*name).to_owned(), json!(value))
            })
            .collect();
        let report = json!({
            "what": self.what, "command": command, "seconds": seconds, "interval": interval, "settle": settle,
            "columns": size.columns, "rows": size.rows, "figures": figures, "runs": runs,
        });
        format!("{report}\n")
    }
}

/// Median, least and most; `None` unless every run has the figure.
fn summary(rows: &[Row], figure: fn(&Row) -> Option<f64>) -> Option<[f64; 3]> {
    let mut values: Vec<f64> = rows.iter().map(figure).collect::<Option<_>>()?;
    values.sort_by(f64::total_cmp);
    let middle = f64::midpoint(
        *values.get((values.len().checked_sub(1)?) / 2)?,
        *values.get(values.len() / 2)?,
    );
    Some([middle, *values.first()?, *values.last()?])
}

/// `count` per `unit`.
pub(super) fn quotient(count: u64, unit: f64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of a minute are far below 2^53"
    )]
    let count = count as f64;
    count / unit
}

pub(super) fn mebibytes(bytes: u64) -> f64 {
    quotient(bytes, 1_048_576.0)
}

#[cfg(test)]
mod tests {
    use super::{Row, summary};

    fn rows(values: &[Option<f64>]) -> Vec<Row> {
        values
            .iter()
            .map(|value| Row {
                peak_mib: *value,
                ..Row::default()
            })
            .collect()
    }

    #[test]
    fn median_and_range() {
        assert_eq!(
            summary(&rows(&[Some(3.0), Some(1.0), Some(2.0)]), |r| r.peak_mib),
            Some([2.0, 1.0, 3.0])
        );
        assert_eq!(
            summary(&rows(&[Some(4.0), Some(1.0)]), |r| r.peak_mib),
            Some([2.5, 1.0, 4.0])
        );
    }

    #[test]
    fn a_run_without_the_figure_leaves_no_median() {
        assert_eq!(summary(&rows(&[Some(3.0), None]), |r| r.peak_mib), None);
        assert_eq!(summary(&[], |r| r.peak_mib), None);
    }
}
