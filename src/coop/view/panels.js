// --- panels -------------------------------------------------------------------------------------

function make(tag, text, kind) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (kind) e.className = kind;
  return e;
}

const spans = [];  // of each place: one for each row that it stands in
function build_source() {
  const pre = document.querySelector('#source pre');
  const comments = /\/\/.*|\/\*[^]*?\*\//.source;
  const reserved = 'language|skip|if|while|spawn|suspend|await|true|false';
  const words = new RegExp(`(${comments})|\\b(${reserved})\\b|\\w+|[^\\w/]+|/`, 'g');
  let row_of_text = pre.appendChild(make('span', undefined, 'row'));
  data.text.forEach((piece, i) => {
    const place = i % 2 ? (i - 1) / 2 : -1;
    if (place >= 0) spans[place] = [];
    let into = null;
    for (const [text, comment, word] of piece.matchAll(words))
      text.split('\n').forEach((part, k) => {
        if (k > 0) {
          row_of_text = pre.appendChild(make('span', undefined, 'row'));
          into = null;
        }
        if (!part) return;
        if (!into) {
          into =
              place < 0 ? row_of_text : row_of_text.appendChild(make('span', undefined, 'place'));
          if (place >= 0) spans[place].push(into);
        }
        into.append(comment || word ? make('span', part, comment ? 'comment' : 'word') : part);
      });
  });
  // After the last line feed.
  if (!row_of_text.hasChildNodes() && row_of_text !== pre.firstChild) row_of_text.remove();
}

function show_source(step) {
  for (const e of document.querySelectorAll('.who')) e.remove();
  for (const e of document.querySelectorAll('.place')) e.className = 'place';
  if (step.p !== undefined) spans[step.p].forEach((e) => e.classList.add('ran'));
  const at = new Map();
  shown.look.forEach((look, f) => {
    if (![ready, blocked, active].includes(look)) return;
    const place = data.code[shown.rest[f]][1];
    if (place < 0) return;
    if (look === active) spans[place].forEach((e) => e.classList.add('next'));
    if (!at.has(place)) at.set(place, []);
    at.get(place).push(f);
  });
  const most = 8;
  for (const [place, tasks] of at) {
    const [e] = spans[place];
    const rank = (f) => (f === chosen ? -2 : 0) - (shown.look[f] === active ? 1 : 0);
    const some = tasks.sort((a, b) => rank(a) - rank(b) || a - b).slice(0, most);
    const tags = some.map((f) => {
      const tag = make('span', f, `who ${looks[shown.look[f]]}${f === chosen ? ' chosen' : ''}`);
      tag.title = `${label_of(f)}: ${looks[shown.look[f]]}`;
      return tag;
    });
    if (tasks.length > most) tags.push(make('span', `+${tasks.length - most}`, 'who'));
    e.before(...tags);
  }
  if (now === last && end.end === 'error') {
    const place = data.code[shown.rest[end.f]][1];
    if (place >= 0) spans[place].forEach((e) => e.classList.add('fails'));
  }
  const main_place = document.querySelector('.place.next') ?? document.querySelector('.place.ran');
  if (main_place) bring_into(element('source'), main_place);
}

// Scrolls the panel, not the page.
function bring_into(panel, e) {
  const [a, b] = [panel.getBoundingClientRect(), e.getBoundingClientRect()];
  if (b.top < a.top + 30)
    panel.scrollTop += b.top - a.top - 60;
  else if (b.bottom > a.bottom - 30)
    panel.scrollTop += b.bottom - a.bottom + 60;
}

function show_step(step, before) {
  if (now === 0) {
    element('rule').textContent = 'start';
    element('words').textContent = cooperative ? 'main is about to run; all variables are 0' :
                                                 'main is in the queue; all variables are 0';
    element('changes').replaceChildren();
  } else {
    const name = data.rules[step.r];
    const [title, words] = rules[name] ?? ['', runs];
    element('rule').textContent = title ? `(${name}) ${title}` : name;
    const code = step.p === undefined ? '' : place_text(step.p);
    const [, , body] = data.code[before.rest[step.f] ?? 0];
    const [call] = (step.e ?? []).filter(([kind]) => kind === 0);
    element('words').textContent =
        words({
          who: task(step.f),
          code,
          was_active: before.active === step.f,
          waits: `waits for ${waits_for(before.look[step.f], before.awaits[step.f])}`,
          test: body === undefined        ? '' :
              shown.rest[step.f] === body ? 'holds' :
                                            'does not hold',
          calls: call && call[1] >= 0 ? `: ${task(call[1])} is called` : ''
        }) +
        (step.p === undefined ? '' : `  (${data.at[step.p]})`);
    const changes = (step.e ?? []).map((e) => make('span', event_text(e)));
    for (const [variable, v] of step.u ?? []) {
      const old = before.values[variable];
      const change = old === undefined ? v : `${old} → ${v}`;
      changes.push(make('span', `${name_of(variable)}: ${change}`, 'changed'));
    }
    if (step.k) changes.push(make('span', `choice ${step.k[0] + 1} of ${step.k[1]}`, 'dim'));
    element('changes').replaceChildren(
        ...(changes.length ? changes : [make('span', 'no event, no update', 'dim')]));
  }
  element('finish').textContent = now === last ? ending_in_full() : '';
  element('finish').className = end.end === 'done' ? 'good' : 'bad';
}

// Definitions 15 and 16 of the paper.
function distance(f, index, step) {
  const rest = data.code[shown.rest[f]][0];
  if (!cooperative) return rest === 'end' ? '' : `(${index + 1}, ${shown.open.length})`;
  const idle = shown.active < 0;
  if (index < 0 && rest === 'end') return '';
  const place = index >= 0    ? index + (idle ? 1 : 2) :
      suspends.includes(rest) ? shown.queue.length + 2 :
                                1;
  const pending = (step.e ?? []).some(([kind]) => kind === 0);
  return `(${place}, ${idle ? 1 : 0}, ${pending ? 1 : 0}, ${shown.c})`;
}

function queue_row(f, index, step) {
  const r = make('tr');
  const look = shown.look[f];
  const marker = look === called && data.semantics === 'lagc-sched';
  const [head, place] = data.code[shown.rest[f]];
  const what = make('td');
  what.append(picture_of(look), label_of(f));
  const code = make(
      'td',
      marker             ? 'marker' :
          head === 'end' ? 'nothing left' :
          place < 0      ? head :
                           place_text(place),
      'mono');
  if (place >= 0 && !marker) code.append(make('small', `  ${data.at[place]}`));
  r.append(
      make(
          'td',
          index < 0     ? 'active' :
              scheduled ? index + 1 :
                          '',
          'number'),
      what, code, make('td', waits_for(look, shown.awaits[f])));
  if (has_distance) r.append(make('td', distance(f, index, step), 'number mono'));
  r.classList.toggle('acts', now > 0 && f === step.f);
  r.classList.toggle('chosen', f === chosen);
  r.onclick = () => choose(f);
  return r;
}

function remark(text) {
  const cell = make('td', text, 'dim');
  cell.colSpan = 5;
  const r = make('tr');
  r.append(cell);
  return r;
}

function show_queue(step) {
  const body = document.querySelector('#queue tbody');
  const rows = [];
  if (shown.active >= 0)
    rows.push(queue_row(shown.active, -1, step));
  else if (cooperative) {
    rows.push(remark('no task is active'));
  }
  const most = 200;
  shown.queue.slice(0, most).forEach((f, i) => rows.push(queue_row(f, i, step)));
  if (shown.queue.length > most) rows.push(remark(`and ${shown.queue.length - most} more`));
  body.replaceChildren(...rows);
  const open = cooperative && !scheduled ?
      shown.look.flatMap(
          (look, f) => look === called && !shown.queue.includes(f) ? [label_of(f)] : []) :
      shown.open;
  element('open').textContent = open.length ? 'called, not started: ' + open.join(', ') : '';
}

function show_state(step) {
  const changed = new Set((step.u ?? []).map(([variable]) => variable));
  const rows = [];
  const most = 200;
  let left_out = 0;
  shown.values.forEach((v, variable) => {
    const matters = changed.has(variable) || variable === data.globals.length + chosen;
    if (rows.length >= most && !matters) return ++left_out;
    const r = make('tr');
    r.append(
        make('td', name_of(variable), 'mono'),
        make('td', String(v), 'mono' + (changed.has(variable) ? ' changed' : '')));
    rows.push(r);
  });
  if (left_out) rows.push(remark(`and ${left_out} more`));
  document.querySelector('#state tbody').replaceChildren(...rows);
  const mark = document.querySelector('#state .changed');
  if (mark) bring_into(element('state'), mark);
}

