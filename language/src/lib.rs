//! The thinking language: a pure parser from the text of a model that does not call tools to the
//! calls in the text. This file reads elements, `inner` those inside another; `elements` lists
//! them, `scan` and `quotes` find the tags that count, `arguments` reads their arguments. The
//! caller runs the calls, keeps the text and teaches the language to the model.

mod arguments;
mod elements;
mod inner;
mod quotes;
mod scan;
mod tags;

use std::ops::Range;

use self::arguments::{Arguments, plain, short};
use self::elements::{Content, Element, Name};
use self::tags::{Attribute, Shape, Tag};

/// Longest text that is read, in bytes.
pub const TEXT_MAX: usize = 1 << 20;
/// Most calls of one text.
pub const CALLS_MAX: usize = 64;
/// Most sentences on unreadable parts.
pub const UNREADABLE_MAX: usize = 32;

/// A tool call that a text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Name of the tool.
    pub name: String,
    /// A JSON object as text, like a provider would send it.
    pub arguments: String,
}

/// Calls and problems of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// Tool calls in the order of the text.
    pub calls: Vec<Call>,
    /// Parts that could not be read, one sentence each for the model: the part, the words near it, and the correct form.
    pub unreadable: Vec<String>,
    /// There was free text around or instead of elements. A remark is free text, too.
    pub words: bool,
}

/// Reads a text. `own` is the name that means the thread itself (its last label, for example `researcher`).
pub fn read(text: &str, own: &str) -> Reading {
    let whole = &text[..text.floor_char_boundary(TEXT_MAX)];
    let scan = scan::scan(whole, own);
    let mut reader = Reader {
        text: whole,
        ended: vec![false; scan.tags.len()],
        tags: scan.tags,
        done: 0,
        thought: None,
        reading: Reading::default(),
    };
    if whole.len() < text.len() {
        reader.say(format!(
            "The text is longer than {TEXT_MAX} bytes: what comes after that was not read."
        ));
    }
    if scan.fenced {
        reader.say(
            "The whole text stands in a code fence, and what is fenced is not done. Write the elements without it."
                .into(),
        );
    } else if let Some(unclosed) = scan.unclosed {
        let near = short(&whole[unclosed.at..]);
        reader.say(format!(
            "Near “{near}”: {} is not closed, so all that follows was taken as text.",
            unclosed.what
        ));
    }
    reader.read();
    reader.reading
}

struct Reader<'t> {
    text: &'t str,
    tags: Vec<Tag<'t>>,
    /// True for tags with their other end read.
    ended: Vec<bool>,
    /// Up to here, all is read.
    done: usize,
    /// End of the thought that is being read: elements in it are calls, too.
    thought: Option<usize>,
    reading: Reading,
}

/// Content of an element, and the position behind it.
struct Extent {
    content: Range<usize>,
    closed: bool,
    end: usize,
    next: usize,
}

impl Extent {
    /// Returns the extent of the tag of this index, which ends here.
    fn empty(end: usize, index: usize) -> Self {
        Self {
            content: end..end,
            closed: true,
            end,
            next: index + 1,
        }
    }
}

impl<'t> Reader<'t> {
    fn read(&mut self) {
        let mut next = 0;
        while next < self.tags.len() {
            if self.reading.calls.len() == CALLS_MAX && self.begins(next) {
                let near = short(&self.text[self.tags[next].range.start..]);
                self.say(format!(
                    "There are more than {CALLS_MAX} elements: from “{near}” on nothing was read."
                ));
                return;
            }
            next = self.tag(next);
        }
        self.pass(self.text.len());
    }

    /// Reads the element or text that begins with a tag; returns the tag to go on with.
    fn tag(&mut self, index: usize) -> usize {
        let Range { start, end } = self.tags[index].range;
        self.thought = self.thought.filter(|thought| start < *thought);
        self.pass(start);
        let Some(element) = self.tags[index]
            .name
            .element()
            .filter(|_| self.begins(index))
        else {
            self.odd(index);
            self.done = self.done.max(end);
            return index + 1;
        };
        let extent = self.extent(index);
        if quotes::around(self.text, &(start..extent.end)) {
            self.reading.words = true;
            self.done = self.done.max(extent.end);
            return extent.next;
        }
        if self.tags[index].name == Name::Own {
            self.own(index, extent)
        } else {
            self.element(index, element, extent)
        }
    }

    /// Free text up to here.
    fn pass(&mut self, to: usize) {
        self.reading.words |= self.done < to && !self.text[self.done..to].trim().is_empty();
        self.done = self.done.max(to);
    }

    /// Returns true at the beginning of an element that is no part of another.
    fn begins(&self, index: usize) -> bool {
        let tag = &self.tags[index];
        let own = tag.name == Name::Own
            && self
                .thought
                .is_some_and(|thought| tag.range.start < thought);
        matches!(tag.shape, Shape::Open(_) | Shape::Alone(_))
            && tag.name.element().is_some()
            && !own
    }

    /// A tag that begins nothing.
    fn odd(&mut self, index: usize) {
        let tag = &self.tags[index];
        match tag.shape {
            Shape::Close
                if self.ended[index] || (tag.name == Name::Own && self.thought.is_some()) => {}
            Shape::Close => self.tell(index, "it ends something that does not begin."),
            Shape::Broken => self.tell(
                index,
                "the tag is not finished, or its quotation marks are not closed.",
            ),
            Shape::Open(_) | Shape::Alone(_) => {
                if let Some(outer) = tag.name.outer() {
                    self.tell(index, &format!("it means something inside {outer} only."));
                }
            }
        }
    }

    fn extent(&self, index: usize) -> Extent {
        let tag = &self.tags[index];
        let begin = tag.range.end;
        let limit = self.thought.unwrap_or(self.text.len());
        // What follows an element without content is no part of it, whether or not an end tag comes.
        let empty = tag
            .name
            .element()
            .is_some_and(|element| matches!(element.content, Content::Nothing));
        if empty {
            return Extent::empty(begin, index);
        }
        if let Some(extent) = self.closed(index, limit) {
            return extent;
        }
        // Not closed: up to the next element, or an end tag that must have been meant for this one.
        let stops = |index: &usize| {
            self.tags[*index].range.start >= limit || self.begins(*index) || self.stray(*index)
        };
        let next = (index + 1..self.tags.len())
            .find(stops)
            .unwrap_or(self.tags.len());
        let stop = self.tags.get(next).filter(|tag| tag.range.start < limit);
        let content = begin..stop.map_or(limit, |tag| tag.range.start);
        let stray = stop.filter(|_| self.stray(next));
        Extent {
            end: stray.map_or(content.end, |tag| tag.range.end),
            next: next + usize::from(stray.is_some()),
            content,
            closed: false,
        }
    }

    /// Returns the extent of a tag that ends before the limit: it stands alone, or its end tag comes.
    fn closed(&self, index: usize, limit: usize) -> Option<Extent> {
        let tag = &self.tags[index];
        let begin = tag.range.end;
        if matches!(tag.shape, Shape::Alone(_)) {
            return Some(Extent::empty(begin, index));
        }
        let partner = tag.partner?;
        let last = &self.tags[partner].range;
        (last.start < limit).then(|| Extent {
            content: begin..last.start,
            closed: true,
            end: last.end,
            next: partner + 1,
        })
    }

    fn stray(&self, index: usize) -> bool {
        self.tags[index].shape == Shape::Close && self.tags[index].partner.is_none()
    }

    /// Reads the thread's own element: a thought, with the elements in it.
    fn own(&mut self, index: usize, extent: Extent) -> usize {
        self.call(index, &elements::OWN, &extent);
        self.done = self.done.max(extent.end);
        if !extent.closed || extent.content.is_empty() {
            return extent.next;
        }
        self.thought = Some(extent.content.end);
        self.end(index);
        index + 1
    }

    fn element(&mut self, index: usize, element: &'static Element, extent: Extent) -> usize {
        match element.content {
            Content::Remark => self.remark(index, &extent),
            _ => self.call(index, element, &extent),
        }
        if extent.next == index + 1 {
            self.end(index);
        }
        self.done = self.done.max(extent.end);
        extent.next
    }

    /// The end tag of this one, read later, is in order.
    fn end(&mut self, index: usize) {
        if let Some(partner) = self.tags[index].partner {
            self.ended[partner] = true;
        }
    }

    fn remark(&mut self, index: usize, extent: &Extent) {
        self.reading.words |= !self.text[extent.content.clone()].trim().is_empty();
        if !extent.closed {
            self.tell(index, UNCLOSED);
        }
    }

    fn call(&mut self, index: usize, element: &'static Element, extent: &Extent) {
        let attributes = self.attributes(index);
        let mut arguments = Arguments::read(element, &attributes);
        let complete = arguments.complete();
        let inside = &self.text[extent.content.clone()];
        match element.content {
            Content::Nothing | Content::Remark => {}
            Content::Words(argument) => arguments.words(argument, &plain(inside)),
            Content::Verbatim(None, argument) => arguments.words(argument, inside),
            Content::Verbatim(Some(inner), argument) => {
                let payload = self.payload(index, inner, extent, &mut arguments);
                arguments.words(argument, payload.unwrap_or(inside));
            }
            Content::List {
                inner,
                argument,
                done,
            } => {
                let items = self.list(index, inner, done, extent, &mut arguments);
                arguments.list(argument, inner, items);
            }
        }
        let whole = extent.closed || (complete && inside.trim().is_empty());
        if !whole {
            arguments.say(UNCLOSED.to_owned());
        }
        let (call, unreadable) = arguments.end();
        if let Some(arguments) = call {
            self.reading.calls.push(Call {
                name: element.tool.to_owned(),
                arguments,
            });
        }
        unreadable.iter().for_each(|what| self.tell(index, what));
    }

    fn attributes(&self, index: usize) -> Vec<Attribute<'t>> {
        match &self.tags[index].shape {
            Shape::Open(attributes) | Shape::Alone(attributes) => attributes.clone(),
            Shape::Close | Shape::Broken => Vec::new(),
        }
    }

    /// Reports an unreadable part of a tag's element.
    fn tell(&mut self, index: usize, what: &str) {
        if self.reading.unreadable.len() == UNREADABLE_MAX {
            return;
        }
        let tag = &self.tags[index];
        let near = short(&self.text[tag.range.start..]);
        let how = match (tag.name, tag.name.element()) {
            (Name::Element(_), Some(element)) => {
                format!(" Write it like this: {}", element.example)
            }
            _ => String::new(),
        };
        self.say(format!("Near “{near}”: {what}{how}"));
    }

    fn say(&mut self, sentence: String) {
        let said = self.reading.unreadable.len();
        if said + 1 < UNREADABLE_MAX {
            self.reading.unreadable.push(sentence);
        } else if said + 1 == UNREADABLE_MAX {
            self.reading
                .unreadable
                .push("There is more that could not be read.".into());
        }
    }
}

const UNCLOSED: &str = "it is not closed; it was read up to the next element.";
