//! Suggests the known name that is most similar to an unknown name. Does not know what the names mean.

/// A suggestion may differ from an unknown name by one edit per this number of letters; one edit is always allowed.
const LETTERS_PER_EDIT: usize = 5;
/// Names shorter than this get no suggestion, because a few edits turn them into any other name.
const LETTERS_MIN: usize = 3;

/// The known name with the fewest edits from `name`; `None` if all known names differ too much.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = name.chars().count();
    if letters < LETTERS_MIN {
        return None;
    }
    let edits_max = (letters / LETTERS_PER_EDIT).max(1);
    let name = name.to_lowercase();
    let edits = |known: &str| strsim::damerau_levenshtein(&name, &known.to_lowercase());
    let measured = known.into_iter().map(|known| (edits(known), known));
    let nearest = measured.min_by_key(|(edits, _)| *edits);
    nearest
        .filter(|(edits, _)| *edits <= edits_max)
        .map(|(_, known)| known)
}

/// A suggestion for an error message, such as ` (did you mean …?)`; empty if no name is similar enough.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |known| format!(" (did you mean `{known}`?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["title", "steps", "requirements", "id"];

    #[test]
    fn typo_gets_a_suggestion_and_a_different_word_does_not() {
        assert_eq!(nearest("titel", NAMES), Some("title"));
        assert_eq!(nearest("requirement", NAMES), Some("requirements"));
        assert_eq!(nearest("Steps", NAMES), Some("steps"));
        assert_eq!(nearest("cluster", NAMES), None);
        assert_eq!(nearest("ib", NAMES), None);
        assert_eq!(did_you_mean("step", NAMES), " (did you mean `steps`?)");
        assert_eq!(did_you_mean("cluster", NAMES), "");
    }
}
