//! How deep a query can be nested. A chain of operators (`a OR b OR ...`) is as deep as it is long, and the engine goes through it by
//! recursion, so a long one would overflow the stack. Pure.

use anyhow::{Result, bail};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// The most operators of a query. [`STACK`] suffices for them, also in a build without optimisation.
const OPERATORS: usize = 1000;
/// The stack of the thread that plans queries.
pub(crate) const STACK: usize = 128 << 20;

/// Refuses a query with more operators than can be nested.
pub(crate) fn check(query: &str) -> Result<()> {
    // The engine reports what is not SQL.
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, query).tokenize() else { return Ok(()) };
    let count = tokens.iter().filter(|token| nests(token)).count();
    if count > OPERATORS {
        bail!(
            "this query has {count} operators, and at most {OPERATORS} are read: a list of values goes into IN (...), or into \
             VALUES that are joined"
        );
    }
    Ok(())
}

/// Whether a token can make what precedes it a part of something larger.
fn nests(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::AND
                | Keyword::OR
                | Keyword::XOR
                | Keyword::NOT
                | Keyword::IS
                | Keyword::BETWEEN
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::COLLATE
                | Keyword::AT
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
                | Keyword::JOIN
        ),
        Token::Number(..)
        | Token::Char(_)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::Comma
        | Token::Whitespace(_)
        | Token::Period
        | Token::LParen
        | Token::RParen
        | Token::SemiColon
        | Token::EOF => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_refused_and_lists_are_not() {
        let chain = |one: &str, with: &str, times| vec![one; times].join(with);
        for (one, with) in
            [("1", "+"), ("host = 'a'", " OR "), ("SELECT 1", " UNION ALL "), ("'a'", "||")]
        {
            let query = format!("SELECT {}", chain(one, with, 1100));
            assert!(check(&query).is_err(), "{with}");
        }
        assert!(
            check(&format!("SELECT * FROM hosts WHERE host IN ({})", chain("'a'", ",", 9000)))
                .is_ok()
        );
        assert!(check(&format!("SELECT {}", chain("h.host", ", ", 3000))).is_ok());
        assert!(check("SELECT 'unfinished").is_ok());
    }
}
