use std::io;

use super::*;

/// A document that goes on for ever: so it begins, and so it goes on.
fn endless(begins: &'static str, goes_on: &'static str) -> impl Read {
    struct Again(&'static [u8], usize);
    impl Read for Again {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            for byte in into.iter_mut() {
                *byte = self.0[self.1 % self.0.len()];
                self.1 += 1;
            }
            Ok(into.len())
        }
    }
    begins.as_bytes().chain(Again(goes_on.as_bytes(), 0))
}

#[test]
fn endless_document_is_refused_with_the_limit() {
    for (begins, goes_on) in [
        ("{\"rounds\":[{\"transfers\":[", "{\"src\":0,\"dst\":1,\"blocks\":[[0,1]]},"),
        ("{\"rounds\":[", "{\"transfers\":[]},"),
        ("{\"phases\":[", "\"\","),
        ("{\"format\":\"", "x"),
        ("", " "),
    ] {
        let error = read_bounded(endless(begins, goes_on), 100_000).unwrap_err();
        assert!(matches!(error, JsonError::TooLong { limit: 100_000 }), "{error}");
        assert!(error.to_string().contains("more than 100000 bytes"), "{error}");
    }
}

#[test]
fn endless_lists_are_refused_while_read() {
    for (begins, goes_on, limit) in [
        ("{\"phases\":[", "\"\",", MAX_PHASES),
        ("{\"placement\":[", "0,", MAX_LISTED),
        ("{\"edges\":[", "[0,1],", MAX_LISTED),
        ("{\"pre\":[", "[],", MAX_LISTED),
        ("{\"post\":[", "[],", MAX_LISTED),
        ("{\"rounds\":[", "{\"transfers\":[]},", MAX_LISTED),
    ] {
        let error = read_bounded(endless(begins, goes_on), MAX_DOCUMENT).unwrap_err();
        assert!(matches!(error, JsonError::Syntax { line: 1, .. }), "{begins}: {error}");
        let text = error.to_string();
        assert!(text.len() < 200 && text.contains(&format!("at most {limit} elements")), "{begins}: {text}");
    }
}

#[test]
fn endless_strings_are_refused_while_read() {
    let limit = MAX_STRING;
    for begins in ["{\"format\":\"", "{\"", "{\"nodes\":\"", "{\"rounds\":\"", "{\"else\":[\""] {
        // One that takes six times the bytes where it is quoted.
        let error = read_bounded(endless(begins, "\x7f"), MAX_DOCUMENT).unwrap_err();
        assert!(matches!(error, JsonError::LongString { limit: found } if found == limit), "{begins}: {error}");
    }
    let error = from_json(&document("algorithm", &format!("\"{}\"", "x".repeat(limit + 1)))).unwrap_err();
    assert!(error.to_string().contains(&limit.to_string()), "{error}");
}

#[test]
fn members_without_names_are_refused() {
    for (member, value) in [
        ("rounds", "[[0,[]]]"),
        ("rounds", "[{\"transfers\":[[0,1,null,null,[]]]}]"),
        ("rounds", "[{\"transfers\":[],\"local\":[[0,[0,0],[0,0],null]]}]"),
    ] {
        let error = from_json(&document(member, value)).unwrap_err().to_string();
        assert!(error.contains("expected an object"), "{error}");
    }
    assert!(from_json("[\"necklace-schedule/1\"]").unwrap_err().to_string().contains("expected an object"));
}

/// A document of no rounds in which one member is something else.
fn document(other: &str, value: &str) -> String {
    let members = [
        ("format", "\"necklace-schedule/1\""),
        ("topology", "\"ring:2\""),
        ("nodes", "2"),
        ("collective", "\"allgather\""),
        ("rounds", "[]"),
    ];
    let kept = members.into_iter().filter(|(name, _)| *name != other);
    let body: Vec<String> = kept.chain([(other, value)]).map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", body.join(","))
}

#[test]
fn document_at_the_limit_is_read() {
    let text = document("algorithm", "\"none\"");
    let length = text.len() as u64;
    assert_eq!(read_bounded(text.as_bytes(), length).unwrap().outline.algorithm, "none");
    assert!(matches!(read_bounded(text.as_bytes(), length - 1), Err(JsonError::TooLong { .. })));
}

#[test]
fn errors_about_long_strings_are_short() {
    let long = "x".repeat(1 << 20);
    let quoted = format!("\"{long}\"");
    for (member, value) in [
        ("format", quoted.clone()),
        ("topology", quoted.clone()),
        ("topology", format!("\"graph:@{long}\"")),
        ("topology", format!("\"mesh:2{}\"", "x1".repeat(1 << 19))),
        ("nodes", quoted.clone()),
        ("collective", quoted.clone()),
        ("ports", quoted.clone()),
        ("algorithm", quoted.clone()),
        ("phases", format!("[{quoted}]")),
        ("placement", quoted.clone()),
        ("rounds", quoted.clone()),
        ("rounds", format!("[{{\"transfers\":[{{\"src\":0,\"dst\":1,\"blocks\":[],\"reduce\":{quoted}}}]}}]")),
    ] {
        let error = from_json(&document(member, &value)).unwrap_err().to_string();
        assert!(error.len() < 1000, "{member}: {} bytes, {}", error.len(), &error[..200]);
    }
}
