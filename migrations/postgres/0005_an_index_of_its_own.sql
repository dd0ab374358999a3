-- What waits in a mailbox has a table of its own: it is written with its event, and counted.
create table mailboxes (
    space  text   collate "C" not null,
    thread text   collate "C" not null,
    seq    bigint not null,
    primary key (space, thread, seq)
);
insert into mailboxes
    select m.space, t.thread, m.seq from threads t
    join marks m on m.space = t.space and m.mark = t.thread || '!';
delete from marks m using threads t where m.space = t.space and m.mark = t.thread || '!';
