'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const element = (id) => document.getElementById(id);
const last = data.steps.length - 1;
const cooperative = data.language === 'coopwhile';
const scheduled = data.semantics.endsWith('-sched');
const has_distance = data.semantics === 'lagc-sched' && data.language !== 'while';

// --- words --------------------------------------------------------------------------------------

const looks = ['', 'called', 'ready', 'blocked', 'active', 'ended'];
const [called, ready, blocked, active, ended] = [1, 2, 3, 4, 5];
const events = ['callEv', 'callREv', 'compEv', 'compREv', 'doneEv'];
const suspends = ['await', 'suspend', 'guard'];

const task = (f) => f === 0 ? 'main' : `task ${f}`;
const label_of = (f) =>
    f === 0 ? '0 main' : `${f} ${data.procedures[data.tasks[f][0]][0]}(${data.tasks[f][1]})`;
const place_text = (place) =>
    data.text[2 * place + 1].replace(/\/\/.*|\/\*[^]*?\*\//g, ' ').replace(/\s+/g, ' ').trim();
function name_of(variable) {
  const f = variable - data.globals.length;
  return f < 0 ? data.globals[variable] : `${data.procedures[data.tasks[f][0]][1]}#${f}`;
}
function event_text([kind, f, m, v]) {
  if (m === undefined) return events[kind] + (f < 0 ? '' : `(${f})`);
  const name = data.procedures[m][0];
  return events[kind] + (f < 0 ? `(${name}, ${v})` : `(${v}, ${name}, ${f})`);
}

// Of each rule: its name in words, what a step by it does, and how lanes name it, if not by number.
const runs = (s) => s.test ?
    `${s.who} tests ${s.code.replace(/^(if|while)\b/, '').trim()}, which ${s.test}` :
    `${s.who} runs ${s.code}${s.calls}`;
const rules = {
  2: ['local step', runs],
  4: ['step', (s) => `of those that can move, ${runs(s)}`],
  5: ['start', (s) => `an open call is answered: ${s.who} starts`],
  6: ['run', (s) => `first in the queue, ${runs(s)}; it goes to the rear`],
  7: ['start', (s) => `the open call becomes ${s.who}, at the rear of the queue`],
  8: ['dispose', (s) => `nothing is left of ${s.who}: it leaves the queue`],
  10: ['rotate', (s) => `${s.who} is first, but ${s.waits}: it goes to the rear`],
  16: [
    'step',
    (s) => s.was_active ? runs(s) :
                          `no task is active; ${s.who} is enabled and goes on after ${s.code}`
  ],
  17: ['start', (s) => `no task is active; ${s.who}, which was called, starts`],
  18: ['marker', (s) => `the call is noted: a marker for ${s.who} goes to the rear of the queue`],
  19: ['start', (s) => `no task is active and the marker of ${s.who} is first: it starts`],
  20: [
    'resume',
    (s) => `no task is active and ${s.who} is first, not blocked: it goes on after ${s.code}`
  ],
  21: ['rotate', (s) => `${s.who} is first, but ${s.waits}: it goes to the rear`],
  22: ['local step', (s) => s.code === '}' ? `${s.who} comes to its end` : runs(s)],
  23: ['end', (s) => `nothing is left of ${s.who}: no task is active`],
  24: [
    'give way',
    (s) => `${s.who} comes to ${s.code} and gives way: it goes to the rear, whatever holds`
  ],
  LOCAL: ['', runs, 'L'],
  SPAWNSTART: ['', (s) => `${runs(s)} and queued`, 'S'],
  RETURN: ['', (s) => `${s.who} ends: no task is active`, 'R'],
  YIELDSUSPEND: ['', (s) => `${s.who} gives way at suspend, which is done with`, 'Y'],
  YIELDAWAIT: ['', (s) => `${s.who} comes to ${s.code} and gives way`, 'Y'],
  YIELDGUARD: ['', (s) => `${s.who} comes to ${s.code} and gives way`, 'Y'],
  SCHEDULESIMPLE:
      ['', (s) => `no task is active; ${s.who} waits for nothing and becomes active`, '▸'],
  SCHEDULEAWAIT: [
    '', (s) => `no task is active; what ${s.who} awaits has ended: it goes on after ${s.code}`,
    '▸'
  ],
  SCHEDULEGUARD: [
    '', (s) => `no task is active; the guard of ${s.who} holds: it goes on after ${s.code}`, '▸'
  ],
  SCHEDULEAWAITDONE: [
    '', (s) => `${s.who} is first and what it awaits has ended: it goes on after ${s.code}`, '▸'
  ],
  SCHEDULEAWAITWAIT: ['', (s) => `${s.who} is first, but ${s.waits}: it goes to the rear`, '↻'],
  SCHEDULEGUARDDONE:
      ['', (s) => `${s.who} is first and its guard holds: it goes on after ${s.code}`, '▸'],
  SCHEDULEGUARDWAIT: ['', (s) => `${s.who} is first, but ${s.waits}: it goes to the rear`, '↻'],
};
const short_names = data.rules.map((name) => rules[name]?.[2] ?? name);

function waits_for(look, awaited) {
  if (look !== blocked) return '';
  return awaited >= 0 ? task(awaited) : 'its guard';
}

const plural = (n, thing) => `${n} ${thing}${n === 1 ? '' : 's'}`;
const end = data.end;
const ending = {
  done: `done after ${plural(end.n, 'step')}`,
  deadlock: `deadlock after ${plural(end.n, 'step')}`,
  limit: `stopped at the limit of ${plural(end.n, 'step')}`,
  error: `${end.error} in ${task(end.f)} at ${end.at}, after ${plural(end.n, 'step')}`
}[end.end];
function ending_in_full() {
  if (end.end === 'deadlock')
    return 'Deadlock, nothing can ever happen again: ' +
        end.blocked
            .map(
                (b) => `${task(b.f)} at ${b.at} ` +
                    (b.on === undefined ? 'waits for its guard' : `awaits ${task(b.on)}`))
            .join('; ') +
        '.';
  return {
    done: 'Done: every task has ended.',
    limit: `Stopped: this is the limit (--limit ${data.limit}), not the end of the program.`,
    error: `Error: the next step of ${task(end.f)} fails at ${end.at}, ${end.error}.`
  }[end.end];
}

