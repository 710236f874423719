// --- configurations: a copy now and then, and steps from there ----------------------------------

const every = 200;
const copies = [];
const first = () => ({
  n: -1,
  active: -1,
  queue: [],
  look: [],
  rest: [],
  awaits: [],
  values: data.globals.map(() => 0),
  open: [],
  c: 0
});
const copy = (c) => Object.fromEntries(
    Object.entries(c).map(([key, v]) => [key, Array.isArray(v) ? v.slice() : v]));

function apply(c) {
  const s = data.steps[++c.n];
  for (const [f, index] of s.q ?? []) {
    const at = c.queue.indexOf(f);
    if (at >= 0) c.queue.splice(at, 1);
    if (index >= 0) c.queue.splice(index, 0, f);
  }
  for (const [f, look, rest, awaited] of s.t ?? []) {
    c.look[f] = look;
    c.rest[f] = rest;
    c.awaits[f] = awaited;
  }
  for (const [variable, v] of s.u ?? []) c.values[variable] = v;
  for (const [kind, f, m, v] of s.e ?? []) {
    if (f >= 0 || m === undefined) continue;
    const text = `${data.procedures[m][0]}(${v})`;
    if (kind === 0)
      c.open.push(text);
    else
      c.open.splice(c.open.indexOf(text), 1);
  }
  c.active = s.a ?? c.active;
  c.c = s.c ?? c.c;
}

function configuration_after(n) {
  const c = copy(copies[Math.floor(n / every)]);
  while (c.n < n) apply(c);
  return c;
}

// Lanes are stretches of one look; marks are the steps that n and p go to.
const lanes = data.tasks.map(() => ({from: [], look: []}));
const marks = data.tasks.map(() => []);
function add_stretch(lane, from, look) {
  if (lane.from.at(-1) === from) {
    lane.from.pop();
    lane.look.pop();
  }
  if (lane.look.at(-1) === look) return;
  lane.from.push(from);
  lane.look.push(look);
}
{
  const c = first();
  for (let n = 0; n <= last; ++n) {
    apply(c);
    if (n % every === 0) copies.push(copy(c));
    const s = data.steps[n];
    const mark = (f) => {
      if (f >= 0 && marks[f].at(-1) !== n) marks[f].push(n);
    };
    for (const [f, look] of s.t ?? []) {
      const before = lanes[f].look.at(-1);
      if (before !== look && [before, look].some((is) => is === active || is === ended)) mark(f);
      add_stretch(lanes[f], n, look);
    }
    for (const [, f] of s.e ?? []) mark(f);
    if (s.e) mark(s.f);
    // Where tasks are interleaved nobody stays active, but somebody runs.
    if (!cooperative && ['2', '4', '6'].includes(data.rules[s.r])) {
      mark(s.f);
      add_stretch(lanes[s.f], n, active);
      if (n < last) add_stretch(lanes[s.f], n + 1, c.look[s.f]);
    }
  }
}

