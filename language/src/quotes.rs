//! Finds quotes: fences, code spans, quoted lines, quotation marks, comments, CDATA. Tags inside a quote are text.
//! A quote never hides the end of the element around it: a quote that contains the end tag of an open element is none, unless
//! it is just that tag.

use std::ops::Range;

use super::elements::Name;
use super::tags::{Shape, Tag};

/// A quote that begins and does not end: its kind and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unclosed {
    /// Its description.
    pub what: &'static str,
    /// Its position, in bytes.
    pub at: usize,
}

/// The quotes of a text.
#[derive(Debug, Default)]
pub struct Quotes {
    /// Ranges in order; they do not overlap.
    pub regions: Vec<Range<usize>>,
    /// One of them is not closed, and hides tags.
    pub unclosed: Option<Unclosed>,
    /// One of them is a fence, is all there is, and hides tags.
    pub fenced: bool,
}

/// Most candidate places that are searched for the other half of a pair.
const LOOKS: usize = 64;

/// Finds the quotes. `tags` are all tags of the text.
pub fn find(text: &str, tags: &[Tag<'_>]) -> Quotes {
    let mut finder = Finder {
        text,
        tags,
        runs: runs(text),
        open: [0; Name::COUNT],
        line: 0,
        paragraph: 0,
        lines: 0,
        ended: [0; MARKS.len()],
        unended: [0; MARKS.len()],
        sections: [false; 2],
    };
    let all = text.len() - text.trim_start().len()..text.trim_end().len();
    let mut quotes = Quotes::default();
    let mut at = 0;
    let mut next = 0;
    while let Some(first) = text[at..].chars().next() {
        while tags.get(next).is_some_and(|tag| tag.range.start < at) {
            next += 1;
        }
        if let Some(tag) = tags
            .get(next)
            .filter(|tag| tag.range.start == at && tag.shape != Shape::Broken)
        {
            at = tag.range.end;
            finder.passes(tag);
            continue;
        }
        let quote = finder
            .quote(at, first)
            .filter(|quote| quote.firm || finder.hides(at, quote));
        let Some(quote) = quote else {
            at += finder.length(at, first);
            continue;
        };
        if !finder.inside(&(at..quote.end)).is_empty() {
            quotes.note(at, &quote, at <= all.start && quote.end >= all.end);
        }
        quotes.regions.push(at..quote.end);
        at = quote.end;
    }
    quotes
}

impl Quotes {
    /// Notes a quote that hides tags; `all`: it is all there is.
    fn note(&mut self, at: usize, quote: &Quote, all: bool) {
        self.fenced |= quote.fence && all;
        if let (Some(what), None) = (quote.unclosed, self.unclosed) {
            self.unclosed = Some(Unclosed { what, at });
        }
    }
}

/// A candidate for a quote.
#[derive(Debug, Default)]
struct Quote {
    end: usize,
    /// True if it hides all its tags.
    firm: bool,
    /// True if it hides an end tag without other text in it.
    single: bool,
    fence: bool,
    unclosed: Option<&'static str>,
}

/// Quotation marks: the opening one, and those that close it.
const MARKS: &[(char, &[char])] = &[
    ('"', &['"']),
    ('“', &['”', '“']),
    ('„', &['“', '”', '"']),
    ('«', &['»']),
    ('»', &['«']),
    ('「', &['」']),
    ('『', &['』']),
];

/// Marks around an element itself, where lines do not matter and single ones count too.
const AROUND: &[(char, &[char])] = &[
    ('\'', &['\'']),
    ('‘', &['’', '‘']),
    ('‚', &['‘', '’']),
    ('‹', &['›']),
    ('”', &['”']),
];

/// Comments and CDATA: begin, end and name.
const SECTIONS: [(&str, &str, &str); 2] = [
    ("<!--", "-->", "a comment"),
    ("<![CDATA[", "]]>", "a CDATA section"),
];

/// Returns true if quotation marks are directly around this part of a text.
pub fn around(text: &str, part: &Range<usize>) -> bool {
    let before = text[..part.start].chars().next_back();
    let after = text[part.end..].chars().next();
    let (Some(before), Some(after)) = (before, after) else {
        return false;
    };
    MARKS
        .iter()
        .chain(AROUND)
        .any(|(opens, closes)| *opens == before && closes.contains(&after))
}

/// A run of backticks or tildes.
struct Run {
    at: usize,
    length: usize,
    mark: u8,
    /// Only white space is before it on its line.
    first: bool,
    /// Nothing is after it on its line, or a tag.
    last: bool,
}

fn runs(text: &str) -> Vec<Run> {
    let bytes = text.as_bytes();
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(['`', '~']) {
        at += found;
        let length = bytes[at..]
            .iter()
            .take_while(|byte| **byte == bytes[at])
            .count();
        let rest = text[at + length..].trim_start_matches([' ', '\t', '\r']);
        let last = rest.is_empty() || rest.starts_with(['\n', '<']);
        runs.push(Run {
            at,
            length,
            mark: bytes[at],
            first: begins_line(text, at),
            last,
        });
        at += length;
    }
    runs
}

fn begins_line(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

fn quoted(line: &str) -> bool {
    line.trim_start_matches([' ', '\t']).starts_with('>')
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..]
        .find('\n')
        .map_or(text.len(), |length| at + length)
}

struct Finder<'a, 't> {
    text: &'t str,
    tags: &'a [Tag<'t>],
    runs: Vec<Run>,
    /// Number of open tags by name.
    open: [usize; Name::COUNT],
    /// Ends of the last line, paragraph and quoted lines that were read.
    line: usize,
    paragraph: usize,
    lines: usize,
    /// For each of `MARKS`: where the one last looked at is closed.
    ended: [usize; MARKS.len()],
    /// For each of `MARKS`: up to here none is closed on its line.
    unended: [usize; MARKS.len()],
    /// For each of `SECTIONS`: none is closed from here on.
    sections: [bool; SECTIONS.len()],
}

impl Finder<'_, '_> {
    fn quote(&mut self, at: usize, first: char) -> Option<Quote> {
        match first {
            '`' | '~' => self.code(at),
            '>' if begins_line(self.text, at) => Some(self.lines(at)),
            '<' => self.section(at),
            _ => self.marks(at, first),
        }
    }

    /// Returns the bytes to skip of text that is no quote.
    fn length(&self, at: usize, first: char) -> usize {
        if matches!(first, '`' | '~') {
            self.runs[self.run(at)].length
        } else {
            first.len_utf8()
        }
    }

    fn run(&self, at: usize) -> usize {
        self.runs
            .partition_point(|run| run.at < at)
            .min(self.runs.len() - 1)
    }

    /// Lines that begin with `>`.
    fn lines(&mut self, at: usize) -> Quote {
        while self.lines <= at || quoted(&self.text[self.lines..]) {
            self.lines = self
                .text
                .len()
                .min(line_end(self.text, at.max(self.lines)) + 1);
        }
        Quote {
            end: self.lines,
            ..Quote::default()
        }
    }

    /// A comment, or CDATA.
    fn section(&mut self, at: usize) -> Option<Quote> {
        let rest = &self.text[at..];
        let index = SECTIONS
            .iter()
            .position(|(open, _, _)| rest.starts_with(open))?;
        let (open, close, what) = SECTIONS[index];
        let inside = at + open.len();
        let length = (!self.sections[index]).then(|| self.text[inside..].find(close));
        let end = length.flatten().map(|length| inside + length + close.len());
        self.sections[index] = end.is_none();
        Some(Quote {
            end: end.unwrap_or(self.text.len()),
            firm: end.is_some(),
            unclosed: end.is_none().then_some(what),
            ..Quote::default()
        })
    }

    /// A fence, or a code span.
    fn code(&mut self, at: usize) -> Option<Quote> {
        let index = self.run(at);
        let run = &self.runs[index];
        let other = |next: &Run| next.mark != run.mark || self.text[at..next.at].contains('\n');
        let alone = self.runs.get(index + 1).is_none_or(other);
        if run.length >= 3 && (run.first || run.mark == b'`') && alone {
            return Some(self.fence(index));
        }
        if run.mark == b'~' {
            return None;
        }
        let length = run.length;
        let end = self.paragraph_end(at);
        let closing = |next: &&Run| next.mark == b'`' && next.length == length;
        let next = self.runs[index + 1..]
            .iter()
            .take(LOOKS)
            .take_while(|next| next.at < end)
            .find(closing)?;
        Some(Quote {
            end: next.at + next.length,
            single: true,
            ..Quote::default()
        })
    }

    fn fence(&self, index: usize) -> Quote {
        let run = &self.runs[index];
        let closing = |next: &&Run| {
            let last = next.length >= run.length && next.last && (next.first || next.mark == b'`');
            next.mark == run.mark && (last || (!run.first && next.length == run.length))
        };
        let next = self.runs[index + 1..].iter().take(LOOKS).find(closing);
        Quote {
            end: next.map_or(self.text.len(), |next| next.at + next.length),
            fence: true,
            unclosed: next.is_none().then_some("a code fence"),
            ..Quote::default()
        }
    }

    /// The end of the paragraph: before the next empty line.
    fn paragraph_end(&mut self, at: usize) -> usize {
        if self.paragraph <= at {
            let empty = |end: &usize| {
                self.text[end + 1..]
                    .trim_start_matches([' ', '\t', '\r'])
                    .starts_with('\n')
            };
            let ends = self.text[at..].match_indices('\n').map(|(end, _)| at + end);
            self.paragraph = ends.into_iter().find(empty).unwrap_or(self.text.len());
        }
        self.paragraph
    }

    /// Quotation marks on one line.
    fn marks(&mut self, at: usize, first: char) -> Option<Quote> {
        let index = MARKS.iter().position(|(opens, _)| *opens == first)?;
        let inside = at + first.len_utf8();
        if self.unended[index] > at || (first == '"' && !self.opens(at, inside)) {
            return None;
        }
        if self.line < inside {
            self.line = line_end(self.text, inside);
        }
        let line = self.line;
        let end = match self.ended[index] {
            end if end > inside && first != '"' => Some(end),
            _ => closing(&self.text[inside..line], MARKS[index].1).map(|end| inside + end),
        };
        match end {
            Some(end) => self.ended[index] = end,
            None => self.unended[index] = line,
        }
        Some(Quote {
            end: end?,
            single: true,
            ..Quote::default()
        })
    }

    /// Returns true if a straight mark opens a quote: not one after a number or inside a word, and
    /// words or a tag come after it.
    fn opens(&self, at: usize, inside: usize) -> bool {
        let before = self.text[..at].chars().next_back();
        let after = self.text[inside..].chars().next();
        let grown = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '=');
        after == Some('<') || (!grown && after.is_some_and(|c| !c.is_whitespace()))
    }

    /// The tags that begin in a part of the text.
    fn inside(&self, part: &Range<usize>) -> &[Tag<'_>] {
        let first = self
            .tags
            .partition_point(|tag| tag.range.start < part.start);
        let length = self.tags[first..].partition_point(|tag| tag.range.start < part.end);
        &self.tags[first..first + length]
    }

    /// Counts the open elements of the tag's name.
    fn passes(&mut self, tag: &Tag<'_>) {
        let open = &mut self.open[tag.name.index()];
        match tag.shape {
            Shape::Open(_) => *open += 1,
            Shape::Close => *open = open.saturating_sub(1),
            Shape::Alone(_) | Shape::Broken => {}
        }
    }

    /// Returns true if a quote hides its tags: it has no end tag of an open element.
    fn hides(&self, at: usize, quote: &Quote) -> bool {
        let tags = self.inside(&(at..quote.end));
        if let ([tag], true) = (tags, quote.single)
            && tag.range.end <= quote.end
        {
            let around = [
                &self.text[at..tag.range.start],
                &self.text[tag.range.end..quote.end],
            ];
            if around
                .iter()
                .all(|text| text.len() <= LOOKS && !text.contains(char::is_alphanumeric))
            {
                return true;
            }
        }
        let mut inner = [0_u8; Name::COUNT];
        tags.iter().take(LOOKS).all(|tag| {
            let inner = &mut inner[tag.name.index()];
            match tag.shape {
                Shape::Open(_) => *inner += 1,
                Shape::Close if *inner == 0 => return self.open[tag.name.index()] == 0,
                Shape::Close => *inner -= 1,
                Shape::Alone(_) | Shape::Broken => {}
            }
            true
        })
    }
}

/// The end of the first of these marks, those around attributes left out.
fn closing(line: &str, closers: &[char]) -> Option<usize> {
    let mut at = 0;
    for _ in 0..LOOKS {
        let found = at + line[at..].find(closers)?;
        let mark = line[found..].chars().next()?;
        let end = found + mark.len_utf8();
        if mark != '"' || !line[..found].ends_with('=') {
            return Some(end);
        }
        at = end + line[end..].find('"')? + 1;
    }
    None
}
