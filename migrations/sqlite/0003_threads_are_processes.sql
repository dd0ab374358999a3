-- A thread is a process: it may wait for somebody, have contacts, set timers. One that waits is not among those to be run.
alter table threads add column standing text not null default '';
drop index threads_waiting;
create index threads_waiting on threads (space, thread)
    where woken > handled and status not in ('waiting', 'done', 'failed', 'stopped');

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
    primary key (space, thread, name)
) strict, without rowid;
create index timers_due on timers (due);
