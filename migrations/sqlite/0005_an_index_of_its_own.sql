-- What waits in a mailbox has a table of its own: it is written with its event, and counted.
create table mailboxes (
    space  text    not null,
    thread text    not null,
    seq    integer not null,
    primary key (space, thread, seq)
) strict, without rowid;
insert into mailboxes
    select m.space, t.thread, m.seq from threads t
    join marks m on m.space = t.space and m.mark = t.thread || '!';

-- What finds events is in a file of its own (server/store/sqlite/index.sql), which is made of the log where it is missing.
drop table marks;
drop table event_words;
drop table indexed;
