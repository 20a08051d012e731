//! Stop words: frequent words without information about the subject of a text.

use std::fmt;
use std::sync::Arc;

/// The most bytes of a list of stop words: a database stores 4,096 of a recipe.
const MAX_LIST_BYTES: usize = 3800;

/// The tokens to drop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum StopWords {
    None,
    English,
    /// Words in byte order, each once.
    Listed(Arc<[Box<str>]>),
}

impl StopWords {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("list:") {
            None if text == "none" => Ok(Self::None),
            None if text == "english" => Ok(Self::English),
            None => Err(format!("{text:?} is none of none, english, list:WORD,WORD,…")),
            Some(list) if list.len() > MAX_LIST_BYTES => {
                Err(format!("the list has {} bytes; a recipe holds {MAX_LIST_BYTES}", list.len()))
            }
            Some(list) => {
                let mut words: Vec<Box<str>> = list.split(',').map(Box::from).collect();
                if words.iter().any(|word| word.is_empty() || word.contains(char::is_whitespace)) {
                    return Err("words are separated by single commas, without spaces".into());
                }
                words.sort_unstable();
                words.dedup();
                Ok(Self::Listed(words.into()))
            }
        }
    }

    /// Whether a token is to be dropped.
    pub(super) fn contains(&self, token: &str) -> bool {
        match self {
            Self::None => false,
            Self::English => is_english(token),
            Self::Listed(words) => words.binary_search_by(|word| (**word).cmp(token)).is_ok(),
        }
    }
}

impl fmt::Display for StopWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::English => f.write_str("english"),
            Self::Listed(words) => write!(f, "list:{}", words.join(",")),
        }
    }
}

/// NLTK's English stop words, in byte order. Stored fingerprints depend on the list: it never
/// changes, even if NLTK's does.
#[rustfmt::skip]
const ENGLISH: [&str; 198] = [
    "a", "about", "above", "after", "again", "against", "ain", "all", "am", "an", "and", "any", "are",
    "aren", "aren't", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both",
    "but", "by", "can", "couldn", "couldn't", "d", "did", "didn", "didn't", "do", "does", "doesn",
    "doesn't", "doing", "don", "don't", "down", "during", "each", "few", "for", "from", "further", "had",
    "hadn", "hadn't", "has", "hasn", "hasn't", "have", "haven", "haven't", "having", "he", "he'd", "he'll",
    "he's", "her", "here", "hers", "herself", "him", "himself", "his", "how", "i", "i'd", "i'll", "i'm",
    "i've", "if", "in", "into", "is", "isn", "isn't", "it", "it'd", "it'll", "it's", "its", "itself",
    "just", "ll", "m", "ma", "me", "mightn", "mightn't", "more", "most", "mustn", "mustn't", "my", "myself",
    "needn", "needn't", "no", "nor", "not", "now", "o", "of", "off", "on", "once", "only", "or", "other",
    "our", "ours", "ourselves", "out", "over", "own", "re", "s", "same", "shan", "shan't", "she", "she'd",
    "she'll", "she's", "should", "should've", "shouldn", "shouldn't", "so", "some", "such", "t", "than",
    "that", "that'll", "the", "their", "theirs", "them", "themselves", "then", "there", "these", "they",
    "they'd", "they'll", "they're", "they've", "this", "those", "through", "to", "too", "under", "until",
    "up", "ve", "very", "was", "wasn", "wasn't", "we", "we'd", "we'll", "we're", "we've", "were", "weren",
    "weren't", "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with", "won",
    "won't", "wouldn", "wouldn't", "y", "you", "you'd", "you'll", "you're", "you've", "your", "yours",
    "yourself", "yourselves",
];

/// Whether the word is an English stop word; all of them are lower-case.
fn is_english(word: &str) -> bool {
    ENGLISH.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_has_both_halves_of_contractions() {
        assert!(ENGLISH.is_sorted());
        for word in ["the", "don't", "don", "t", "yourselves"] {
            assert!(is_english(word), "{word}");
        }
        for word in ["", "The", "fish", "including"] {
            assert!(!is_english(word), "{word}");
        }
    }
}
