-- The tables of a new file, as migration 11 (migrations/sqlite) left them: made at once, which takes a fraction of the time. Later ones run on it.
-- A test compares the two. The twin in Postgres has the same tables under the same names.

-- One row: which incarnation of the log this is, how often it was opened (fence numbers begin there).
create table log (
    epoch       blob    not null,
    incarnation integer not null,
    probe       blob
) strict;
insert into log values (randomblob(16), 0, null);

-- `number` gives a space's events row ids in event_words.
create table spaces (
    space  text    not null primary key,
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

create trigger events_stay before update on events begin
    select raise(abort, 'the log is append-only');
end;
create trigger events_remain before delete on events begin
    select raise(abort, 'the log is append-only');
end;

-- What waits in a mailbox, or has: written with its event, and counted.
create table mailboxes (
    space  text    not null,
    thread text    not null,
    seq    integer not null,
    primary key (space, thread, seq)
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
    standing      text    not null default '',
    awaits        text,
    primary key (space, thread)
) strict, without rowid;
create index threads_waiting on threads (space, thread)
    where woken > handled and status not in ('waiting', 'done', 'failed', 'stopped');
-- Who is to hear that a thread ends or cannot go on.
create index threads_awaiting on threads (space, awaits, thread) where awaits is not null;

-- Whom a thread can send to, and who has to hear of a thread's end.
create table contacts (
    space       text not null,
    thread      text not null,
    name        text not null,
    target      text not null,
    description text not null,
    primary key (space, thread, name)
) strict, without rowid;
create index contacts_of on contacts (space, target, thread);

-- Timers that are set; the first one due is looked for.
create table timers (
    space  text not null,
    thread text not null,
    name   text not null,
    due    integer not null,
    note   text not null,
    root   integer,
    primary key (space, thread, name)
) strict, without rowid;
create index timers_due on timers (due);
-- Those of a space, however many others have.
create index timers_of on timers (space, due);

-- What all that goes back to one event from outside has used, and (root 0) all of a space; threads that a space has begun (root 0)
-- and ended (root -1).
create table roots (
    space   text    not null,
    root    integer not null,
    calls   integer not null,
    tokens  integer not null,
    threads integer not null,
    primary key (space, root)
) strict, without rowid;

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

-- Media, by the SHA-256 of their bytes. Not derived from the log. A large one is written in parts, which its row names.
create table blobs (
    space  text not null,
    sha256 text not null,
    mime   text not null,
    bytes  blob not null,
    upload blob,
    primary key (space, sha256)
) strict;
create table blob_parts (
    upload blob    not null,
    number integer not null,
    bytes  blob    not null,
    primary key (upload, number)
) strict;
-- Those that are not finished.
create table uploads (upload blob not null primary key) strict, without rowid;
