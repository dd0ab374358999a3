//! Markdown as a terminal shows it: emphasis as weight, lists with marks, code as it is written. Line ends stay where they were
//! written, so that verses and tables keep their form. Nothing in it can steer the terminal.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::paint::{BOLD, CODE, FAINT, ITALIC, STRUCK};
use super::rows::Rows;
use super::safe::safe;

/// Puts a text onto rows.
pub fn write(text: &str, rows: Rows) -> Vec<String> {
    let mut page = Page {
        rows,
        look: Vec::new(),
        lists: Vec::new(),
        links: Vec::new(),
        in_code: false,
    };
    for event in Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH) {
        page.take(event);
    }
    page.rows.finish()
}

struct Page {
    rows: Rows,
    look: Vec<&'static str>,
    /// The lists that are open: the next number, or none.
    lists: Vec<Option<u64>>,
    /// Targets of the open links, each with true if its words name the target themselves.
    links: Vec<(String, bool)>,
    in_code: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) => {
                self.look.push(CODE);
                self.text(&text);
                self.look.pop();
            }
            Event::SoftBreak | Event::HardBreak => self.rows.end_row(),
            Event::Rule => {
                self.gap();
                self.rows.text("────────", &[FAINT]);
                self.rows.end_row();
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((target, says_it)) = self.links.last_mut() {
            *says_it |= target.as_str() == text;
        }
        let look = if self.in_code {
            vec![CODE]
        } else {
            self.look.clone()
        };
        self.rows.text(&safe(text), &look);
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.gap(),
            Tag::Heading { .. } => {
                self.gap();
                self.look.push(BOLD);
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.rows.indent("│ ");
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                self.in_code = true;
                self.rows.indent("    ");
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.rows.text(&safe(&language), &[FAINT]);
                    self.rows.end_row();
                }
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.rows.break_row();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.rows.mark(&mark);
            }
            Tag::Emphasis => self.look.push(ITALIC),
            Tag::Strong => self.look.push(BOLD),
            Tag::Strikethrough => self.look.push(STRUCK),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), false));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.rows.break_row(),
            TagEnd::Heading(_) => {
                self.look.pop();
                self.rows.break_row();
            }
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.rows.break_row();
                self.rows.outdent();
            }
            TagEnd::CodeBlock => {
                self.in_code = false;
                self.rows.break_row();
                self.rows.outdent();
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.look.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some((target, false)) = self.links.pop() {
                    self.rows.text(&format!(" ({})", safe(&target)), &[FAINT]);
                }
            }
            _ => {}
        }
    }

    /// An empty row before a block, but for the first one and one that a name or a mark leads.
    fn gap(&mut self) {
        self.rows.break_row();
        if !self.rows.is_led() && self.rows.follows_words() {
            self.rows.end_row();
        }
    }
}
