//! Text as rows of a terminal: broken between words, later rows indented. Only a word that is longer than a row is broken itself.

use unicode_width::UnicodeWidthChar as _;

use super::paint::painted;

/// A piece of text, and how it looks.
type Part = (String, Vec<&'static str>);

/// Rows that are being filled.
pub struct Rows {
    width: usize,
    colours: bool,
    done: Vec<String>,
    /// The text on the row, and the look of each part.
    row: Vec<Part>,
    /// Columns of the row that are taken, its beginning included.
    used: usize,
    /// Nothing but its beginning is on the row.
    is_bare: bool,
    /// The beginning of the next row instead of the indents, and its width.
    lead: Option<(String, usize)>,
    indents: Vec<(String, usize)>,
    /// The word that is still growing: pieces and how each looks.
    word: Vec<Part>,
    spaces: usize,
}

impl Rows {
    /// Rows of this width. The first begins with `lead`, which is so many columns wide, all others with `hang` columns of nothing.
    pub fn new(width: usize, colours: bool, lead: (String, usize), hang: usize) -> Self {
        Self {
            width: width.max(20),
            colours,
            done: Vec::new(),
            row: Vec::new(),
            used: 0,
            is_bare: true,
            lead: Some(lead).filter(|(text, _)| !text.is_empty()),
            indents: vec![(" ".repeat(hang), hang)],
            word: Vec::new(),
            spaces: 0,
        }
    }

    /// Returns true if nothing stands on the present row.
    pub fn is_fresh(&self) -> bool {
        self.is_bare && self.word.is_empty()
    }

    /// Returns true if a name or the mark of a list still waits for its text.
    pub fn is_led(&self) -> bool {
        self.lead.is_some()
    }

    /// Returns true if the last finished row has text.
    pub fn follows_words(&self) -> bool {
        self.done.last().is_some_and(|row| !row.is_empty())
    }

    /// Words, which break at spaces and end their row at a line's end.
    pub fn text(&mut self, text: &str, look: &[&'static str]) {
        for c in text.chars() {
            match c {
                '\n' => self.end_row(),
                ' ' => {
                    self.put_word();
                    self.spaces += 1;
                }
                c => match self.word.last_mut() {
                    Some((piece, same)) if same == look => piece.push(c),
                    _ => self.word.push((c.to_string(), look.to_vec())),
                },
            }
        }
    }

    /// Ends the row, also one with nothing on it.
    pub fn end_row(&mut self) {
        self.put_word();
        self.spaces = 0;
        if !self.is_bare {
            self.finish_row();
        } else if self.lead.is_none() {
            self.done.push(String::new());
        }
        (self.used, self.is_bare) = (0, true);
    }

    /// Ends the row, if anything is on it.
    pub fn break_row(&mut self) {
        if !self.is_fresh() {
            self.end_row();
        }
    }

    /// Rows from here on are indented by this.
    pub fn indent(&mut self, by: &str) {
        if let Some((lead, width)) = &mut self.lead {
            // What leads the row stands before it.
            lead.push_str(by);
            *width += columns(by);
        }
        self.indents.push((by.to_owned(), columns(by)));
    }

    /// The next row begins with a mark, those after it are indented as far.
    pub fn mark(&mut self, mark: &str) {
        let (mut lead, mut width) = self.lead.take().unwrap_or_else(|| self.indentation());
        lead.push_str(mark);
        width += columns(mark);
        self.lead = Some((lead, width));
        self.indents
            .push((" ".repeat(columns(mark)), columns(mark)));
    }

    /// Takes the last indent back.
    pub fn outdent(&mut self) {
        self.indents.pop();
    }

    /// All rows.
    pub fn finish(mut self) -> Vec<String> {
        self.break_row();
        if let Some((lead, _)) = self.lead.take() {
            self.done.push(lead.trim_end().to_owned());
        }
        while self.done.last().is_some_and(String::is_empty) {
            self.done.pop();
        }
        self.done
    }

    fn indentation(&self) -> (String, usize) {
        let texts: Vec<&str> = self.indents.iter().map(|(text, _)| text.as_str()).collect();
        let widths = self.indents.iter().map(|(_, width)| width);
        (texts.concat(), widths.sum())
    }

    fn begin_row(&mut self) {
        if self.is_bare {
            let (lead, used) = self.lead.take().unwrap_or_else(|| self.indentation());
            self.row = vec![(lead, Vec::new())];
            (self.used, self.is_bare) = (used, false);
        }
    }

    fn finish_row(&mut self) {
        let parts = std::mem::take(&mut self.row);
        let painted = |(text, look): &Part| painted(self.colours, look, text);
        let row: String = parts.iter().map(painted).collect();
        self.done.push(row.trim_end().to_owned());
    }

    /// Puts text on the row; text of the same look is one part.
    fn put(&mut self, text: &str, look: &[&'static str]) {
        match self.row.last_mut() {
            Some((part, same)) if same == look => part.push_str(text),
            _ => self.row.push((text.to_owned(), look.to_vec())),
        }
    }

    fn wrap(&mut self) {
        self.finish_row();
        (self.used, self.is_bare, self.spaces) = (0, true, 0);
        self.begin_row();
    }

    fn put_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return;
        }
        let width: usize = word.iter().map(|(piece, _)| columns(piece)).sum();
        let has_words = !self.is_bare;
        self.begin_row();
        if has_words && self.used + self.spaces + width > self.width {
            self.wrap();
        }
        let ends = self.row.last().zip(word.first());
        let goes_on = ends.is_some_and(|((_, before), (_, after))| before == after);
        let look = match goes_on {
            true => word[0].1.clone(),
            false => Vec::new(),
        };
        self.put(&" ".repeat(self.spaces), &look);
        self.used += self.spaces;
        self.spaces = 0;
        for (piece, look) in word {
            self.put_piece(&piece, &look);
        }
    }

    fn put_piece(&mut self, piece: &str, look: &[&'static str]) {
        let mut part = String::new();
        for c in piece.chars() {
            let width = c.width().unwrap_or(0);
            if self.used + width > self.width {
                self.put(&part, look);
                part.clear();
                self.wrap();
            }
            part.push(c);
            self.used += width;
        }
        self.put(&part, look);
    }
}

/// Returns the number of columns that a text takes.
pub fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}
