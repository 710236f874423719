// Checks the specs in this folder with tla-checker and prints a verdict for each run.
//
//   node specs/check.mjs                                  all of runs.txt
//   node specs/check.mjs --quick                          those of at most 600 states; of
//                                                         backpressure, coop and scheduler_built,
//                                                         whose states take long, 300
//   node specs/check.mjs --program build/release/bin/rota   ... and compares with `rota check`
//   node specs/check.mjs run_queue                        of one spec
//   node specs/check.mjs run_queue Jobs=3 'Mutant="no_pin"'   one run, with trace
//
// A run takes the constants from the spec's .cfg; NAME=VALUE replaces one, in TLA+ notation, and
// -PROPERTY leaves a property out. Exits with 1 if a verdict or a number of states is not the one
// that runs.txt expects. `tools/setup specs` installs the checker.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const folder = join(here, 'node_modules', 'tla-checker');
if (!existsSync(folder)) {
  console.error('tla-checker is not installed; call tools/setup specs');
  process.exit(2);
}
const checker = await import(pathToFileURL(join(folder, 'tla_checker.js')).href);
checker.initSync({ module: readFileSync(join(folder, 'tla_checker_bg.wasm')) });

// Far beyond any run here: a search that stops early would prove nothing.
const mostStates = 20_000_000;
const deepest = 100_000;

function configuration(name, settings) {
  let text = readFileSync(join(here, name, `${name}.cfg`), 'utf8');
  for (const setting of settings) {
    if (setting.startsWith('-')) {
      const line = new RegExp(`^\\s*${setting.slice(1)}\\s*\\n`, 'm');
      if (!line.test(text)) throw new Error(`${name}.cfg has no property '${setting.slice(1)}'`);
      text = text.replace(line, '');
      continue;
    }
    const [, constant, value] = setting.match(/^(\w+)=(.*)$/) ?? [];
    const line = new RegExp(`^(\\s*${constant}\\s*=).*$`, 'm');
    if (!constant || !line.test(text)) throw new Error(`${name}.cfg has no constant for '${setting}'`);
    text = text.replace(line, (_, start) => `${start} ${value}`);
  }
  return text;
}

// The names that stand under a heading of the .cfg, in order.
function listed(cfg, heading) {
  const from = cfg.split(/^(?=[A-Z]+\b)/m).find((part) => part.startsWith(heading)) ?? '';
  return from.split(/\s+/).slice(1).filter(Boolean);
}

function check(name, settings) {
  const cfg = configuration(name, settings);
  const spec = readFileSync(join(here, name, `${name}.tla`), 'utf8');
  const began = Date.now();
  const answer = JSON.parse(
    checker.check_spec_with_cfg(spec, cfg, '{}', mostStates, deepest, false, false));
  let verdict = 'holds';
  if (!answer.success) {
    const number = /^Invariant (\d+) violated/.exec(answer.error_message)?.[1];
    if (number !== undefined) verdict = listed(cfg, 'INVARIANTS')[number];
    else if (answer.error_type === 'LivenessViolation') verdict = listed(cfg, 'PROPERTIES').join(',');
    else if (answer.error_type === 'Deadlock') verdict = 'deadlock';
    else verdict = `${answer.error_type}: ${answer.error_message}`;
  }
  return { verdict, states: answer.states_explored, trace: answer.trace, warnings: answer.warnings,
           seconds: ((Date.now() - began) / 1000).toFixed(1) };
}

// Per step only what changed.
function show(trace) {
  let before = [];
  for (const state of [trace].flat().join('\n').split(/^(?=State \d+)/m)) {
    const [title, ...values] = state.split('\n').map((line) => line.trim()).filter(Boolean);
    console.log(`${title.padEnd(9)} ${values.filter((v) => !before.includes(v)).join('   ')}`);
    before = values;
  }
}

const words = process.argv.slice(2);
const quick = words.includes('--quick');
const program = words.includes('--program') ? words[words.indexOf('--program') + 1] : undefined;
const [only, ...settings] = words.filter(
  (word, i) => !['--quick', '--program'].includes(word) && words[i - 1] !== '--program');
if (settings.length > 0) {
  const result = check(only, settings);
  console.log(`${result.verdict}, ${result.states} states, ${result.seconds} s`, ...result.warnings);
  if (result.trace) show(result.trace);
  process.exit(0);
}

// What `rota check` says, for a run whose line names a model: the number of distinct states. There,
// too, all has to hold.
function statesOfModel(model) {
  const [name, ...constants] = model.trim().split(/\s+/);
  const out = execFileSync(program, ['check', name, '--json',
                                     ...constants.flatMap((c) => ['--set', c])]);
  return JSON.parse(out).distinct_states;
}

const slow = ['backpressure', 'coop', 'coop_bypass', 'scheduler_built'];
let wrong = 0;
for (const line of readFileSync(join(here, 'runs.txt'), 'utf8').split('\n')) {
  if (line.trim() === '' || line.startsWith('#')) continue;
  const [run, model] = line.split('|');
  const [name, verdict, states, ...rest] = run.trim().split(/\s+/);
  if (only && only !== name) continue;
  if (quick && !(Number(states) <= (slow.includes(name) ? 300 : 600))) continue;
  const result = check(name, rest);
  let right = result.verdict === verdict && (states === '-' || Number(states) === result.states);
  let second = '';
  if (program && model) {
    const ours = statesOfModel(model);
    right &&= ours === result.states;
    second = `, rota check ${model.trim()}: ${ours}`;
  }
  if (!right) ++wrong;
  console.log(`${right ? 'ok   ' : 'WRONG'} ${name} ${rest.join(' ')}: ${result.verdict}` +
              ` (expected ${verdict}), ${result.states} states, ${result.seconds} s${second}`);
}
process.exit(wrong === 0 ? 0 : 1);
