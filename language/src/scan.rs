//! Scans a text for the tags of known elements. Quotes (`quotes.rs`) are text. The scan looks at
//! each byte of any text a bounded number of times.

use super::elements::Name;
use super::quotes::{self, Unclosed};
use super::tags::{Attribute, Shape, Tag};

/// The tags of a text in order, and an unclosed part that may have hidden others.
#[derive(Debug)]
pub struct Scan<'t> {
    /// The tags outside of quotes.
    pub tags: Vec<Tag<'t>>,
    /// A fence, comment or CDATA section that hides tags and is not closed.
    pub unclosed: Option<Unclosed>,
    /// The whole text is one fence with tags in it.
    pub fenced: bool,
}

/// Finds the tags. `own` is the name of the thread's own element.
pub fn scan<'t>(text: &'t str, own: &str) -> Scan<'t> {
    let mut tags = tags(text, own);
    let quotes = quotes::find(text, &tags);
    let fenced = quotes.fenced;
    let mut regions = quotes.regions.iter().peekable();
    tags.retain(|tag| {
        while regions
            .next_if(|region| region.end <= tag.range.start)
            .is_some()
        {}
        regions
            .peek()
            .is_none_or(|region| tag.range.start < region.start)
    });
    pair(&mut tags);
    Scan {
        tags,
        unclosed: quotes.unclosed,
        fenced,
    }
}

/// All tags, quoted or not.
fn tags<'t>(text: &'t str, own: &str) -> Vec<Tag<'t>> {
    let mut at = 0;
    let mut examined = 0;
    let mut tags = Vec::new();
    while let Some(start) = text[at..].find('<').map(|found| at + found) {
        let Some((tag, seen)) = tag(text, start, own) else {
            at = start + 1;
            continue;
        };
        // Inside a broken tag there may be whole ones: it is looked at a second time, never a third.
        at = if tag.shape == Shape::Broken && start < examined {
            seen
        } else {
            tag.range.end
        };
        examined = examined.max(seen);
        tags.push(tag);
    }
    tags
}

/// Longest name with its prefix, in bytes.
const NAME_MAX: usize = 100;

/// The tag that begins here, if one does, and how far the text was looked at.
fn tag<'t>(text: &'t str, start: usize, own: &str) -> Option<(Tag<'t>, usize)> {
    let closes = text[start + 1..].starts_with('/');
    let name_at = start + 1 + usize::from(closes);
    let written = word(&text[name_at..], NAME_MAX);
    let local = written.rsplit_once(':').map_or(written, |(_, local)| local);
    let name = Name::find(local, own)?;
    let at = name_at + written.len();
    let follows = text[at..].chars().next();
    if !follows.is_none_or(|c| c.is_whitespace() || matches!(c, '/' | '>' | '<')) {
        return None;
    }
    let tag = |end, shape| Tag {
        name,
        range: start..end,
        shape,
        partner: None,
    };
    if closes {
        return close(text, at).map(|end| (tag(end, Shape::Close), end));
    }
    Some(match attributes(text, at) {
        Ok((attributes, end, true)) => (tag(end, Shape::Alone(attributes)), end),
        Ok((attributes, end, false)) => (tag(end, Shape::Open(attributes)), end),
        Err(seen) => (tag(at, Shape::Broken), seen),
    })
}

/// The end of an end tag. Its `>` may be missing where the text ends or the next tag begins.
fn close(text: &str, at: usize) -> Option<usize> {
    let end = at + blank(&text[at..]);
    match text[end..].chars().next() {
        Some('>') => Some(end + 1),
        Some('<') | None => Some(end),
        Some(_) => None,
    }
}

/// Most attributes of one tag.
const ATTRIBUTES_MAX: usize = 32;

/// The attributes, the tag's end, and whether it stands alone. An error is where it is no tag any more.
fn attributes(text: &str, mut at: usize) -> Result<(Vec<Attribute<'_>>, usize, bool), usize> {
    let mut found = Vec::new();
    loop {
        let rest =
            text[at..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
        at = text.len() - rest.len();
        if rest.starts_with('>') {
            return Ok((found, at + 1, false));
        }
        if rest.starts_with("/>") {
            return Ok((found, at + 2, true));
        }
        let name = word(rest, NAME_MAX);
        if name.is_empty() || found.len() == ATTRIBUTES_MAX {
            return Err(at);
        }
        let (value, end) = value(text, at + name.len())?;
        found.push((name, value));
        at = end;
    }
}

/// The value after an attribute's name, and where it ends.
fn value(text: &str, at: usize) -> Result<(Option<&str>, usize), usize> {
    let equals = at + blank(&text[at..]);
    if !text[equals..].starts_with('=') {
        return separated(text, at).map(|at| (None, at));
    }
    let start = equals + 1 + blank(&text[equals + 1..]);
    let first = text[start..].chars().next().ok_or(start)?;
    let Some(closers) = closers(first) else {
        return Ok(bare(text, start));
    };
    let inside = start + first.len_utf8();
    // Not closed anywhere: no later value has these quotes, so this is not looked for again.
    let length = text[inside..].find(closers).ok_or(inside)?;
    let end = inside + length;
    let after = end + text[end..].chars().next().map_or(0, char::len_utf8);
    separated(text, after).map(|after| (Some(&text[inside..end]), after))
}

/// Returns the marks that end a value with this first character; none if it is no quotation mark.
fn closers(first: char) -> Option<&'static [char]> {
    match first {
        '"' => Some(&['"']),
        '\'' => Some(&['\'']),
        '“' | '”' | '„' => Some(&['“', '”']),
        '‘' | '’' | '‚' => Some(&['‘', '’']),
        _ => None,
    }
}

/// A value without quotation marks.
fn bare(text: &str, start: usize) -> (Option<&str>, usize) {
    let rest = &text[start..];
    let length = rest
        .find(|c: char| c.is_whitespace() || matches!(c, '>' | '<'))
        .unwrap_or(rest.len());
    let alone = rest[length..].starts_with('>') && rest[..length].ends_with('/');
    let end = start + length - usize::from(alone);
    (Some(&text[start..end]), end)
}

/// Returns the position as success if a separator or the end follows, else as an error.
fn separated(text: &str, at: usize) -> Result<usize, usize> {
    let apart = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '/' | '>');
    if text[at..].chars().next().is_none_or(apart) {
        Ok(at)
    } else {
        Err(at)
    }
}

/// The name at the beginning of a text, at most so long.
fn word(text: &str, most: usize) -> &str {
    let is_name =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':' | b'.');
    &text[..text
        .bytes()
        .take(most)
        .take_while(|byte| is_name(byte))
        .count()]
}

/// Returns the bytes of white space at the beginning of a text.
fn blank(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Finds the other end of each tag: the nearest of the same name, nested ones skipped.
fn pair(tags: &mut [Tag<'_>]) {
    let mut open: [Vec<usize>; Name::COUNT] = std::array::from_fn(|_| Vec::new());
    for index in 0..tags.len() {
        let stack = &mut open[tags[index].name.index()];
        match tags[index].shape {
            Shape::Open(_) => stack.push(index),
            Shape::Close => {
                tags[index].partner = stack.pop();
                if let Some(begin) = tags[index].partner {
                    tags[begin].partner = Some(index);
                }
            }
            Shape::Alone(_) | Shape::Broken => {}
        }
    }
}
