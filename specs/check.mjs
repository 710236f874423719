// Checks the specs in this folder and prints a verdict for each run.
//
//   TLA_CHECKER=<folder of tla-checker> node specs/check.mjs                    all of runs.txt
//   TLA_CHECKER=... node specs/check.mjs run_queue                              of one spec
//   TLA_CHECKER=... node specs/check.mjs run_queue Jobs=3 'Mutant="no_pin"'     one run, with trace
//
// A run takes the constants from the spec's .cfg; NAME=VALUE replaces one, in TLA+ notation, and
// -PROPERTY leaves a property out.
// Exits with 1 if a verdict or a number of states is not the one that runs.txt expects.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.env.TLA_CHECKER;
if (!folder) {
  console.error('TLA_CHECKER is not set; expected the folder that holds tla_checker.js');
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
    else if (answer.error_type === 'LivenessViolation') verdict = listed(cfg, 'PROPERTIES').join('|');
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

const [only, ...settings] = process.argv.slice(2);
if (settings.length > 0) {
  const result = check(only, settings);
  console.log(`${result.verdict}, ${result.states} states, ${result.seconds} s`, ...result.warnings);
  if (result.trace) show(result.trace);
  process.exit(0);
}

let wrong = 0;
for (const line of readFileSync(join(here, 'runs.txt'), 'utf8').split('\n')) {
  if (line.trim() === '' || line.startsWith('#')) continue;
  const [name, verdict, states, ...rest] = line.trim().split(/\s+/);
  if (only && only !== name) continue;
  const result = check(name, rest);
  const right = result.verdict === verdict && (states === '-' || Number(states) === result.states);
  if (!right) ++wrong;
  console.log(`${right ? 'ok   ' : 'WRONG'} ${name} ${rest.join(' ')}: ${result.verdict}` +
              ` (expected ${verdict}), ${result.states} states, ${result.seconds} s`);
}
process.exit(wrong === 0 ? 0 : 1);
