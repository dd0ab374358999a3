-- What finds events: a file beside the log's, made of the log, and made anew when it does not belong to it. No migration: another
-- version (store/sqlite/index.rs) is another file.

-- One row, when it is done: the version of these tables, and the epoch of the log that the file is made of.
create table made_of (
    version integer not null,
    epoch   blob    not null
) strict;

-- Where an event is to be found: under each of its marks (store/marks.rs), sorted by who may see it.
create table marks (
    space      text    not null,
    mark       text    not null,
    visibility integer not null,
    seq        integer not null,
    primary key (space, mark, visibility, seq)
) strict, without rowid;

-- Full text.
create virtual table event_words using fts5 (words, content = '', detail = none, tokenize = 'ascii');

-- How far the index has come, and the event that stands there: a copy of the log that went another way has another one.
create table indexed (
    space    text    not null primary key,
    seq      integer not null,
    event_id blob,
    ts       integer
) strict, without rowid;
