-- The log and what is derived from it. The twin in migrations/postgres has the same tables under the same names.

-- One row: which incarnation of the log this is, how often it was opened (fence numbers begin there).
create table log (
    epoch       blob    not null,
    incarnation integer not null
) strict;
insert into log values (randomblob(16), 0);

-- A space's log as a whole: the seq and time of its last event. `number` gives its events row ids in event_words.
create table spaces (
    space  text    not null primary key,
    head   integer not null,
    ts     integer not null,
    number integer not null unique
) strict, without rowid;

create table events (
    space      text    not null,
    seq        integer not null,
    event_id   blob    not null,
    ts         integer not null,
    thread     text    not null,
    source     text    not null,
    modality   text    not null,
    payload    text    not null,
    tags       text    not null,
    visibility integer not null,
    primary key (space, seq)
) strict, without rowid;

create unique index events_id on events (space, event_id);
create index events_ts on events (space, ts, seq);

create trigger events_stay before update on events begin
    select raise(abort, 'the log is append-only');
end;
create trigger events_remain before delete on events begin
    select raise(abort, 'the log is append-only');
end;

-- Where an event is to be found: under each of its marks (store/marks.rs), sorted by who may see it.
create table marks (
    space      text    not null,
    mark       text    not null,
    visibility integer not null,
    seq        integer not null,
    primary key (space, mark, visibility, seq)
) strict, without rowid;

-- Full text. Trails the log: `indexed` says how far it came.
create virtual table event_words using fts5 (words, content = '', detail = none, tokenize = 'ascii');
create table indexed (
    space text    not null primary key,
    seq   integer not null
) strict, without rowid;

-- Projections: `thinkd rebuild` makes them anew from the log.
create table threads (
    space         text    not null,
    thread        text    not null,
    settings      text    not null,
    status        text    not null,
    head          integer not null,
    woken         integer not null,
    handled       integer not null,
    turn          integer not null,
    visible       integer not null,
    heard         integer not null,
    self_messages integer not null,
    model_calls   integer not null,
    tokens        integer not null,
    created       integer not null,
    updated       integer not null,
    primary key (space, thread)
) strict, without rowid;
create index threads_waiting on threads (space, thread)
    where woken > handled and status not in ('done', 'failed', 'stopped');

create table submodules (
    space   text    not null,
    name    text    not null,
    prompt  text    not null,
    updated integer not null,
    primary key (space, name)
) strict, without rowid;

create table entries (
    number       integer primary key,
    space        text    not null,
    key          text    not null,
    content      text    not null,
    related_keys text    not null,
    owner        text    not null,
    updated      integer not null,
    unique (space, key)
) strict;
create virtual table entry_words using fts5 (words, content = '', contentless_delete = 1, tokenize = 'ascii');

-- Media, by the SHA-256 of their bytes. Not derived from the log.
create table blobs (
    space  text not null,
    sha256 text not null,
    mime   text not null,
    bytes  blob not null,
    primary key (space, sha256)
) strict;
