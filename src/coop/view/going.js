// --- going about --------------------------------------------------------------------------------

let addressed = 0;
function show(n) {
  now = clamp(Number.isFinite(n) ? Math.round(n) : 0, 0, last);
  const before = now > 0 ? configuration_after(now - 1) : first();
  shown = copy(before);
  apply(shown);
  const step = data.steps[now];
  if (x_of(now) < gutter + 2 * scale || x_of(now) > view_width - 3 * scale)
    left = now -
        columns() *
            (Math.abs(now - left) > columns() * 1.5 ? .5 :
                 now < left + columns() / 2         ? .75 :
                                                      .25);
  show_step(step, before);
  show_queue(step);
  show_state(step);
  show_source(step);
  element('number').value = now;
  draw();
  // Browsers take only so many changes of the address.
  clearTimeout(addressed);
  addressed = setTimeout(() => history.replaceState(null, '', `#step=${now}&task=${chosen}`), 200);
}

function bring_lane() {
  const y = axis + chosen * row;
  if (y - top_lane < axis) top_lane = y - axis;
  if (y - top_lane > view_height - row) top_lane = y - view_height + row;
}

function choose(f) {
  chosen = clamp(f, 0, data.tasks.length - 1);
  bring_lane();
  show(now);
}

function go_to_mark(direction) {
  const all = marks[chosen];
  const n = direction > 0 ? all.find((at) => at > now) : all.findLast((at) => at < now);
  if (n !== undefined) show(n);
}

function zoom(factor, x = x_of(now)) {
  const n = left + (x - gutter) / scale;
  scale = clamp(scale * factor, Math.min((view_width - gutter) / (last + 2), 40), 60);
  left = n - (x - gutter) / scale;
  draw();
}

let playing = 0;
function play() {
  const stop = playing !== 0;
  clearInterval(playing);
  playing = 0;
  if (!stop) {
    if (now === last) show(0);
    playing = setInterval(() => {
      if (now === last)
        play();
      else
        show(now + 1);
    }, 1000 / element('speed').value);
  }
  element('play').textContent = playing ? 'stop' : 'play';
}

function on_key(event) {
  const help = element('help');
  if (event.altKey || event.metaKey || event.ctrlKey || help.open) return;
  if (['INPUT', 'SELECT'].includes(event.target.tagName)) return;
  const far = event.shiftKey ? 10 : 1;
  const action = {
    ArrowRight: () => show(now + far),
    ArrowLeft: () => show(now - far),
    PageDown: () => show(now + 10),
    PageUp: () => show(now - 10),
    Home: () => show(0),
    End: () => show(last),
    ArrowDown: () => choose(chosen + 1),
    ArrowUp: () => choose(chosen - 1),
    n: () => go_to_mark(1),
    p: () => go_to_mark(-1),
    ' ': () => {
      if (event.target.tagName !== 'BUTTON')
        play();
      else
        return true;
    },
    '+': () => zoom(1.4),
    '=': () => zoom(1.4),
    '-': () => zoom(1 / 1.4),
    0: () => zoom(1e-9),
    '?': () => help.showModal(),
  }[event.key];
  if (action && action() !== true) event.preventDefault();
}

function follow_pointer() {
  const canvas = element('lanes');
  let from = null;
  canvas.onpointerdown = (e) => {
    from = {x: e.offsetX, y: e.offsetY, left, top: top_lane, moved: false};
    canvas.setPointerCapture(e.pointerId);
  };
  canvas.onpointermove = (e) => {
    if (!from) return;
    from.moved ||= Math.abs(e.offsetX - from.x) + Math.abs(e.offsetY - from.y) > 5;
    if (!from.moved) return;
    left = from.left - (e.offsetX - from.x) / scale;
    top_lane = from.top - (e.offsetY - from.y);
    draw();
  };
  canvas.onpointerup = (e) => {
    if (from && !from.moved && e.offsetY > 0) {
      if (e.offsetY > axis)
        chosen = clamp(Math.floor((e.offsetY - axis + top_lane) / row), 0, data.tasks.length - 1);
      show(e.offsetX < gutter ? now : Math.floor(left + (e.offsetX - gutter) / scale));
    }
    from = null;
  };
  canvas.addEventListener('wheel', (e) => {
    if (e.ctrlKey) {
      zoom(Math.exp(-e.deltaY / 300), Math.max(e.offsetX, gutter));
    } else {
      const was = [left, top_lane];
      left += (e.deltaX + (e.shiftKey ? e.deltaY : 0)) / scale;
      if (!e.shiftKey) top_lane += e.deltaY;
      limit_view();
      if (was[0] === left && was[1] === top_lane) return;  // at the edge the page scrolls
      draw();
    }
    e.preventDefault();
  }, {passive: false});
  const overview = element('overview');
  overview.onpointerdown = overview.onpointermove = (e) => {
    if (e.buttons & 1) show(Math.floor(e.offsetX / overview.clientWidth * (last + 1)));
  };
}

function read_address() {
  const words = new URLSearchParams(location.hash.slice(1));
  chosen = clamp(Number(words.get('task') ?? chosen) || 0, 0, data.tasks.length - 1);
  bring_lane();
  show(Number(words.get('step') ?? now));
}

function build() {
  const name = data.file === '-' ? 'standard input' : data.file.split('/').at(-1);
  document.title = `${name}: rota coop view`;
  element('file').textContent = name;
  element('about').textContent = `${data.language}, ${data.semantics}${
      data.seed === undefined ? '' : `, seed ${data.seed}`}, ${plural(data.tasks.length, 'task')}`;
  element('ending').textContent = ending;
  element('ending').className = end.end === 'done' ? 'good' : 'bad';
  element('count').textContent = `of ${last}`;
  element('number').max = last;
  element('order').textContent = scheduled ? 'queue' : '';
  if (has_distance) {
    const d = make('th', cooperative ? '(pos, idle, unm, c)' : '(pos, unm)', 'number');
    d.title = 'the scheduling distance: how far a task is from its turn';
    document.querySelector('#queue thead tr').append(d);
  }
  build_source();
  const actions = {
    first: () => show(0),
    back: () => show(now - 1),
    play,
    on: () => show(now + 1),
    last: () => show(last),
    out: () => zoom(1 / 1.4),
    in: () => zoom(1.4),
    all: () => zoom(1e-9),
    ask: () => element('help').showModal()
  };
  for (const [id, action] of Object.entries(actions))
    element(id).onclick = action;
  element('number').onchange = (e) => show(Number(e.target.value));
  element('speed').onchange = (e) => {
    e.target.blur();
    if (playing) {
      play();
      play();
    }
  };
  document.addEventListener('keydown', on_key);
  window.addEventListener('resize', draw);
  window.addEventListener('hashchange', read_address);
  follow_pointer();
}

function paint() {
  read_colours();
  all_of_it = null;
  draw_pictures();
  const words = {
    [active]: cooperative ? 'active' : 'runs a statement',
    [ready]: 'queued, ready',
    [blocked]: 'blocked',
    [called]: 'not started',
    [ended]: 'ended'
  };
  element('legend').replaceChildren(...Object.entries(words).map(([look, text]) => {
    const item = make('span', text);
    item.prepend(picture_of(Number(look)));
    return item;
  }));
}

build();
paint();
draw_lanes();
scale = clamp((view_width - gutter) / (last + 2), 14, 30);
read_address();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  paint();
  show(now);
});
