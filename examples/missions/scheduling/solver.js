// Tries orders of talks from the left, and gives up those that end no earlier than the best so far.
const minutes = (time) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
const clock = (at) => String(Math.floor(at / 60)).padStart(2, '0') + ':' + String(at % 60).padStart(2, '0');
let best = null;
const place = (left, at, placed) => {
  if (best && at >= best.end) return;
  if (left.length === 0) {
    best = { end: at, placed };
    return;
  }
  for (const talk of left) {
    const earliest = Math.max(minutes(talk.from), placed.length ? at + input.pause : at);
    const start = Math.ceil(earliest / parameters.step) * parameters.step;
    const end = start + talk.minutes;
    if (end <= minutes(talk.to)) place(left.filter((it) => it !== talk), end, [...placed, { name: talk.name, start, end }]);
  }
};
place(input.talks, 0, []);
if (!best) throw new Error(`there is no order at steps of ${parameters.step} minutes`);
({ answer: best.placed.map((it) => `${clock(it.start)}-${clock(it.end)} ${it.name}`).join('\n'), score: -best.end });
