//! Writes a record in all its forms.

use std::path::Path;

use super::Report;

/// Writes all reports into a folder, which is made if it is not there.
pub fn write_all(report: &Report, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("report.json"), report.to_json())
}
