// Whether a timetable holds: a line a talk, `09:00-10:00 owls`.
const talks = {
  owls: [60, '09:00', '12:00'], mice: [30, '09:00', '10:30'], foxes: [90, '10:00', '13:30'],
  bats: [45, '13:00', '15:00'], bees: [60, '14:00', '17:00'], frogs: [30, '12:00', '14:15'],
};
const minutes = (time) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
const wrong = [];
const lines = input.answer.trim().split('\n').map((line) => line.match(/^(\d\d:\d\d)-(\d\d:\d\d) (\w+)$/));
if (lines.some((line) => !line)) wrong.push('a line is not as 09:00-10:00 owls');
const placed = lines.filter(Boolean).map(([, from, to, name]) => ({ name, from: minutes(from), to: minutes(to) }));
for (const name of Object.keys(talks)) {
  if (placed.filter((it) => it.name === name).length !== 1) wrong.push(`${name} is not there once`);
}
placed.forEach(({ name, from, to }, at) => {
  const [length, earliest, latest] = talks[name] ?? [NaN, '00:00', '00:00'];
  if (to - from !== length) wrong.push(`${name} does not last ${length} minutes`);
  if (from < minutes(earliest) || to > minutes(latest)) wrong.push(`${name} is outside ${earliest} to ${latest}`);
  if (at > 0 && from - placed[at - 1].to < 10) wrong.push(`${name} begins less than 10 minutes behind ${placed[at - 1].name}`);
});
print(wrong.join('; ') || 'every talk has its place');
wrong.length === 0;
