//! Which of some names was meant by one that is none of them. Knows no kind of name.

/// Of so many letters one may be wrong.
const LETTERS_PER_MISTAKE: usize = 5;
/// With fewer letters than these, everything is like everything.
const LETTERS_MIN: usize = 3;

/// The name that is most like this one, unless none is near.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = name.chars().count();
    if letters < LETTERS_MIN {
        return None;
    }
    let most = (letters / LETTERS_PER_MISTAKE).max(1);
    let name = name.to_lowercase();
    let mistakes = |known: &str| strsim::damerau_levenshtein(&name, &known.to_lowercase());
    let measured = known.into_iter().map(|known| (mistakes(known), known));
    let nearest = measured.min_by_key(|(mistakes, _)| *mistakes);
    nearest
        .filter(|(mistakes, _)| *mistakes <= most)
        .map(|(_, known)| known)
}

/// The same as a question in brackets, after a word that is wrong; empty where none is near.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |known| format!(" (did you mean `{known}`?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["title", "steps", "requirements", "id"];

    #[test]
    fn a_slip_is_recognized_and_another_word_is_not() {
        assert_eq!(nearest("titel", NAMES), Some("title"));
        assert_eq!(nearest("requirement", NAMES), Some("requirements"));
        assert_eq!(nearest("Steps", NAMES), Some("steps"));
        assert_eq!(nearest("cluster", NAMES), None);
        assert_eq!(nearest("ib", NAMES), None);
        assert_eq!(did_you_mean("step", NAMES), " (did you mean `steps`?)");
        assert_eq!(did_you_mean("cluster", NAMES), "");
    }
}
