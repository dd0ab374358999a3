//! Pages of the log: the SQL that finds the events that a query asks for, the same for both
//! databases. Stamped by `store!`.

/// Stamps the functions that put the text of a page together. The database has `by_key`, and the
/// constant `MERGES_POSTINGS`.
macro_rules! pages {
    () => {
        /// Returns a page that needs no full text: the first rows of the postings that hold the
        /// events asked for. SQLite merges sorted postings by itself, and stops when it has enough;
        /// Postgres is told how much of each is enough. `limit $n + 0`, because SQLite prepares a
        /// statement with a bare parameter as its limit anew every time.
        fn posting_page(space: &Space, query: &Query) -> Page {
            let limit = i64::from(query.limit.max(1));
            let order = sql::order(query);
            let mut page = Page::new(concat!("select ", sql::event_columns!(), " from ("));
            for (number, (term, level)) in crate::terms::postings(query).into_iter().enumerate() {
                page.push(if number == 0 { "" } else { " union " });
                part(&mut page, (query, "m.seq"), &format!("r{number}"), |page| {
                    posting(page, space, query, term, level as i16);
                });
            }
            if crate::terms::reads_end(query) {
                page.push(" union ");
                part(&mut page, (query, "e.seq"), "r", |page| {
                    end_of_log(page, space, query)
                });
            }
            page.push(" order by 1")
                .push(order)
                .push(" limit ")
                .push_bind(limit)
                .push(" + 0) m");
            by_key(&mut page, space);
            page.push(" order by m.seq").push(order);
            page
        }

        /// Returns the numbers of events for the decision alone, and of those for submodules, too:
        /// each the sum of the postings and of the end of the log, which a query without tags and
        /// text asks for. No event is in two of them.
        fn count_of(space: &Space, query: &Query) -> Page {
            use thinkd_event::envelope::Visibility;
            let mut page = Page::new("select ");
            for of in [Visibility::Submodule, Visibility::Heard] {
                let postings = crate::terms::postings(query).into_iter();
                for (term, level) in postings.filter(|(_, level)| *level == of) {
                    page.push("(select count(*) from (");
                    posting(&mut page, space, query, term, level as i16);
                    page.push(") p) + ");
                }
                page.push("(select count(*) from (");
                end_of_log(&mut page, space, query);
                page.push(" and e.visibility = ").push(of as i16);
                page.push(if of == Visibility::Heard {
                    ") p)"
                } else {
                    ") p), "
                });
            }
            page
        }

        /// A part of a union, bounded by itself where the database does not merge parts by order.
        fn part(
            page: &mut Page,
            (query, by): (&Query, &str),
            name: &str,
            fill: impl FnOnce(&mut Page),
        ) {
            if MERGES_POSTINGS {
                return fill(page);
            }
            page.push("select seq from (");
            fill(page);
            page.push(" order by ").push(by).push(sql::order(query));
            page.push(" limit ")
                .push_bind(i64::from(query.limit.max(1)));
            page.push(") ").push(name);
        }

        /// The seqs of one posting that are asked for.
        fn posting(page: &mut Page, space: &Space, query: &Query, term: String, level: i16) {
            let covered = crate::terms::covers(query);
            page.push("select m.seq from marks m");
            if !covered {
                by_key(page, space);
            }
            page.push(" where m.space = ")
                .push_bind(space.as_str().to_owned());
            page.push(" and m.mark = ")
                .push_bind(term)
                .push(" and m.visibility = ")
                .push(level);
            if !covered {
                kinds(page, query);
            }
            if query.all_tags {
                tagged(page, query, "m");
            }
            let (after, before) = sql::range(query);
            page.push(" and m.seq > ")
                .push_bind(after)
                .push(" and m.seq < ")
                .push_bind(before);
        }

        /// The seqs that are asked for among the events that have no terms yet. One lower bound: given two, a database may begin
        /// at the wrong one.
        fn end_of_log(page: &mut Page, space: &Space, query: &Query) {
            let (after, before) = sql::range(query);
            page.push("select e.seq from events e where e.space = ")
                .push_bind(space.as_str().to_owned());
            page.push(
                " and e.seq > (select max(b.seq) from (select seq from indexed where space = ",
            );
            page.push_bind(space.as_str().to_owned())
                .push(" union all select ")
                .push_bind(after)
                .push(") b)");
            page.push(" and e.seq < ").push_bind(before);
            conditions(page, query);
        }

        /// Source and modality, event by event.
        fn kinds(page: &mut Page, query: &Query) {
            if let Some(source) = query.source {
                page.push(" and e.source = ").push_bind(source.as_str());
            }
            if let Some(modality) = query.modality {
                page.push(" and e.modality = ").push_bind(modality.as_str());
            }
        }

        /// Everything but words and positions, event by event.
        fn conditions(page: &mut Page, query: &Query) {
            if let Some(thread) = &query.thread {
                page.push(" and (e.thread = ").push_bind(thread.to_string());
                if query.subtree {
                    // Bytewise, everything that begins with "x." lies between "x." and "x/".
                    page.push(" or (e.thread > ")
                        .push_bind(format!("{thread}."));
                    page.push(" and e.thread < ")
                        .push_bind(format!("{thread}/"))
                        .push(")");
                }
                page.push(")");
            }
            kinds(page, query);
            page.push(" and e.visibility >= ")
                .push(query.least() as i16);
            match crate::terms::reads_end(query) {
                true => named(page, query),
                false => tagged(page, query, "e"),
            }
        }

        /// Any of the tags, or all of them, by the words of the events, which have no terms yet.
        fn named(page: &mut Page, query: &Query) {
            let join = if query.all_tags { " and " } else { " or " };
            for (number, tag) in query.tags().into_iter().enumerate() {
                page.push(if number == 0 { " and (" } else { join })
                    .push("e.tags like ")
                    .push_bind(format!("%\"{tag}\"%"));
            }
            page.push(if query.tags().is_empty() { "" } else { ")" });
        }

        /// Any of the tags, or all of them, by the events or the marks of this alias.
        fn tagged(page: &mut Page, query: &Query, of: &str) {
            let tags: Vec<String> = query.tags().into_iter().collect();
            let most = if query.all_tags { 1 } else { tags.len().max(1) };
            for tags in tags.chunks(most) {
                page.push(" and exists (select 1 from marks t where t.space = ")
                    .push(of)
                    .push(".space and t.mark in (");
                for (number, tag) in tags.iter().enumerate() {
                    page.push(if number == 0 { "" } else { ", " })
                        .push_bind(crate::terms::term_of_tag(tag));
                }
                page.push(") and t.visibility = ")
                    .push(of)
                    .push(".visibility and t.seq = ")
                    .push(of)
                    .push(".seq)");
            }
        }
    };
}
pub(crate) use pages;
