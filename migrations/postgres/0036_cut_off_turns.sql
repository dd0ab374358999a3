-- Threads that ended in the middle of a turn, which somebody has to end: few at any time, and looked for now and then.
create index threads_cut_off on threads (space, thread)
    where status in ('done', 'failed', 'stopped') and standing like '%"taken":%';
