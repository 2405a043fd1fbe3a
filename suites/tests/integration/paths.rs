//! Paths that CONTRIBUTING.md and docs/architecture.md mention must exist.

use std::path::Path;

/// Suffixes of file names that count as paths.
const ENDINGS: [&str; 8] = [".rs", ".yaml", ".yml", ".md", ".json", ".txt", ".proto", ".diff"];

/// Whether a text in backticks is a file path relative to the root of the repository.
fn is_path(root: &Path, text: &str) -> bool {
    let Some((first, _)) = text.split_once('/') else {
        return false;
    };
    let is_in_a_folder = !first.is_empty() && root.join(first).is_dir();
    !text.contains(char::is_whitespace) && (is_in_a_folder || ENDINGS.iter().any(|it| text.ends_with(it)))
}

#[test]
fn every_path_in_a_page_about_the_code_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for page in ["CONTRIBUTING.md", "docs/architecture.md"] {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        // After a split at backticks, every second part is inside backticks. A fenced code block counts as one part.
        let inside = text.split('`').skip(1).step_by(2);
        let paths: Vec<&str> = inside.filter(|text| is_path(&root, text)).collect();
        assert!(paths.len() > 20, "{page} names {} paths", paths.len());
        let missing: Vec<&str> = paths
            .into_iter()
            .filter(|path| !root.join(path).exists())
            .collect();
        assert_eq!(
            missing,
            Vec::<&str>::new(),
            "{page} names paths that do not exist"
        );
    }
}
