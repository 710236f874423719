// --- drawing ------------------------------------------------------------------------------------

let colours = {};
function read_colours() {
  const style = getComputedStyle(document.documentElement);
  for (const name
           of ['active', 'on-active', 'ready', 'ready-fill', 'blocked', 'called', 'ended', 'line',
               'mark', 'loop', 'ink', 'dim', 'bad', 'soft', 'page'])
    colours[name] = style.getPropertyValue('--' + name).trim();
}

function prepare(canvas, height) {
  const dots = window.devicePixelRatio || 1;
  const width = canvas.parentElement.clientWidth || canvas.clientWidth || 26;
  canvas.width = Math.round(width * dots);
  canvas.height = Math.round(height * dots);
  canvas.style.height = height + 'px';
  const to = canvas.getContext('2d');
  to.setTransform(dots, 0, 0, dots, 0, 0);
  return [to, width];
}

// A stretch of a lane around y: active is full, ready a box, blocked a line with slashes, called
// dotted, ended a bar across.
const half_bar = () => Math.min(8, row / 2 - 1.5);
function draw_stretch(to, look, x, width, y) {
  if (look === active) {
    to.fillStyle = colours.active;
    to.fillRect(x, y - half_bar(), width, 2 * half_bar());
  } else if (look === ready) {
    to.fillStyle = colours['ready-fill'];
    to.fillRect(x, y - 5, width, 10);
    to.fillStyle = colours.ready;
    to.fillRect(x, y - 5, width, 1.5);
    to.fillRect(x, y + 3.5, width, 1.5);
  } else if (look === blocked) {
    to.strokeStyle = colours.blocked;
    to.lineWidth = 1.5;
    to.beginPath();
    to.moveTo(x, y);
    to.lineTo(x + width, y);
    for (let slash = Math.ceil(x / 7) * 7; slash < x + width; slash += 7) {
      to.moveTo(slash - 2, y + 4);
      to.lineTo(slash + 2, y - 4);
    }
    to.stroke();
  } else if (look === called) {
    to.fillStyle = colours.called;
    for (let dot = Math.ceil(x / 5) * 5; dot < x + width; dot += 5) to.fillRect(dot, y - 1, 2, 2);
  } else if (look === ended) {
    to.fillStyle = colours.ended;
    to.fillRect(x, y - 7, 2, 14);
    to.fillRect(x, y - 1.5, Math.min(width, 6), 3);
  }
}

// How a look looks, in small.
const pictures = [];
function draw_pictures() {
  looks.forEach((name, look) => {
    const canvas = document.createElement('canvas');
    canvas.width = 52;
    canvas.height = 32;
    const to = canvas.getContext('2d');
    to.scale(2, 2);
    draw_stretch(to, look, look === ended ? 8 : 1, 24, 8);
    pictures[look] = canvas.toDataURL();
  });
}
function picture_of(look) {
  const picture = document.createElement('img');
  picture.className = 'picture';
  picture.alt = looks[look];
  picture.src = pictures[look];
  return picture;
}

let row = 22;  // pixels per lane
const axis = 20;
let now = 0;          // the step that is shown
let chosen = 0;       // the task that is chosen
let scale = 14;       // pixels per step
let left = 0;         // the column at the left edge, as a fraction
let top_lane = 0;     // pixels of lanes above the upper edge
let shown = first();  // the configuration after step `now`
let gutter = 170;
let view_width = 0;
let view_height = 0;

const columns = () => (view_width - gutter) / scale;
const x_of = (n) => gutter + (n - left) * scale;
const y_of = (f) => axis + f * row + row / 2 - top_lane;
const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
function limit_view() {
  left = clamp(left, 0, Math.max(0, last + 2 - columns()));
  top_lane = clamp(top_lane, 0, Math.max(0, data.tasks.length * row - (view_height - axis)));
}

// The index of the last stretch that starts at n or before.
function stretch_at(lane, n) {
  let [low, high] = [0, lane.from.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.from[middle] <= n)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

// Half of the window is for lanes, which get narrower before some of them have to go.
function lanes_height() {
  const most = Math.max(140, Math.round(window.innerHeight * .42));
  row = clamp(Math.floor((most - axis - 4) / data.tasks.length), 16, 22);
  return Math.min(axis + data.tasks.length * row + 4, most);
}

let drawing = false;
function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    draw_lanes();
    draw_overview();
  });
}

function draw_lanes() {
  view_height = lanes_height();
  const [to, width] = prepare(element('lanes'), view_height);
  view_width = width;
  gutter = width < 800 ? 126 : 170;
  limit_view();
  const from = Math.max(0, Math.floor(left));
  const until = Math.min(last, Math.ceil(left + columns()));
  const lowest = Math.max(0, Math.floor(top_lane / row));
  const highest =
      Math.min(data.tasks.length - 1, Math.floor((top_lane + view_height - axis) / row));

  to.save();
  to.beginPath();
  to.rect(gutter, axis, width - gutter, view_height - axis);
  to.clip();
  to.fillStyle = colours.soft;
  to.fillRect(gutter, y_of(chosen) - row / 2, width, row);
  to.fillStyle = colours.mark;
  to.fillRect(x_of(now), axis, Math.max(scale, 2), view_height);
  for (let f = lowest; f <= highest; ++f) {
    const lane = lanes[f];
    for (let i = Math.max(0, stretch_at(lane, from)); i < lane.from.length && lane.from[i] <= until;
         ++i) {
      const x = Math.max(x_of(lane.from[i]), gutter - 20);
      const next =
          Math.min(x_of(i + 1 < lane.from.length ? lane.from[i + 1] : last + 1), width + 20);
      draw_stretch(to, lane.look[i], x, Math.max(next - x, .75), y_of(f));
    }
  }
  if (scale >= 5)
    for (let n = Math.max(from, 1); n <= until; ++n) draw_step(to, n);
  to.fillStyle = end.end === 'done' ? colours.ended : colours.bad;
  to.fillRect(x_of(last + 1), axis, 2, view_height);
  to.font = '12px system-ui, sans-serif';
  to.textAlign = 'left';
  to.fillText(end.end, x_of(last + 1) + 6, axis + 12);
  to.restore();

  draw_axis(to, width, from, until);
  draw_labels(to, lowest, highest);
}

// The rule, on the lane of its task; and lines between tasks that an event ties together.
function draw_step(to, n) {
  const s = data.steps[n];
  const x = x_of(n) + scale / 2;
  const y = y_of(s.f);
  const lane = lanes[s.f];
  const on_active = lane.look[stretch_at(lane, n)] === active;
  for (const [kind, f] of s.e ?? []) {
    if (f < 0 || f === s.f || (kind !== 0 && kind !== 3)) continue;
    const down = Math.sign(y_of(f) - y) * (kind === 0 ? 1 : -1);
    const start = kind === 0 ? y : y_of(f);
    const stop = kind === 0 ? y_of(f) - down : y - down * half_bar();
    to.strokeStyle = to.fillStyle = kind === 0 ? colours.called : colours.ready;
    to.lineWidth = 1.25;
    to.beginPath();
    to.moveTo(x, start);
    to.lineTo(x, stop - down * 5);
    to.stroke();
    to.beginPath();
    to.moveTo(x, stop);
    to.lineTo(x - 3.5, stop - down * 5.5);
    to.lineTo(x + 3.5, stop - down * 5.5);
    to.fill();
  }
  const name = short_names[s.r];
  to.font = '600 11px system-ui, sans-serif';
  to.textAlign = 'center';
  const wide = scale >= 8 + 7 * Math.max(name.length, 1) * .9;
  if (!wide) {
    to.fillStyle = colours[on_active ? 'on-active' : 'ink'];
    to.fillRect(x - 1, y - 2, 2, 4);
    return;
  }
  if (!on_active) {
    const half = to.measureText(name).width / 2 + 2;
    to.fillStyle = colours.page;
    to.fillRect(x - half, y - 7, 2 * half, 14);
  }
  to.fillStyle = colours[on_active ? 'on-active' : 'ink'];
  to.fillText(name, x, y + 4);
}

function draw_axis(to, width, from, until) {
  to.fillStyle = colours.page;
  to.fillRect(0, 0, width, axis);
  to.font = '11px system-ui, sans-serif';
  to.textAlign = 'center';
  const apart = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000].find(
                    (n) => n * scale >= 44) ??
      100000;
  to.fillStyle = colours.dim;
  for (let n = Math.ceil(from / apart) * apart; n <= until; n += apart)
    if (Math.abs(n - now) * scale > 26)
      to.fillText(n, Math.max(x_of(n) + scale / 2, gutter + 4), 14);
  const x = x_of(now) + scale / 2;
  if (x > gutter && x < width) {
    to.fillStyle = colours.loop;
    to.font = '700 12px system-ui, sans-serif';
    to.fillText(now, clamp(x, gutter + 6, width - 12), 14);
  }
  to.fillStyle = colours.line;
  to.fillRect(0, axis - 1, width, 1);
}

function fitting(to, text, width) {
  if (to.measureText(text).width <= width) return text;
  while (text && to.measureText(text + '…').width > width) text = text.slice(0, -1);
  return text + '…';
}

function draw_labels(to, lowest, highest) {
  to.save();
  to.beginPath();
  to.rect(0, axis, gutter, view_height);
  to.clip();
  to.fillStyle = colours.page;
  to.fillRect(0, axis, gutter, view_height);
  to.textAlign = 'left';
  for (let f = lowest; f <= highest; ++f) {
    const y = y_of(f);
    const look = shown.look[f] ?? 0;
    if (f === chosen) {
      to.fillStyle = colours.soft;
      to.fillRect(0, y - row / 2, gutter, row);
      to.fillStyle = colours.loop;
      to.fillRect(0, y - row / 2, 3, row);
    }
    draw_stretch(to, look, look === ended ? 14 : 8, 18, y);
    to.font = (look === active ? '600 ' : '') + (row < 19 ? 12 : 13) + 'px system-ui, sans-serif';
    to.fillStyle = look === 0 || look === ended ? colours.dim : colours.ink;
    to.fillText(fitting(to, label_of(f), gutter - 38), 32, y + 4);
  }
  to.fillStyle = colours.line;
  to.fillRect(gutter - 1, 0, 1, view_height);
  to.restore();
}

// All of the run, once; then the frame of what the lanes show.
let all_of_it = null;
function draw_overview() {
  const height = clamp(data.tasks.length * 3 + 6, 26, 70);
  const canvas = element('overview');
  const [to, width] = prepare(canvas, height);
  const per = width / (last + 1);
  if (all_of_it?.width !== canvas.width) {
    all_of_it = document.createElement('canvas');
    all_of_it.width = canvas.width;
    all_of_it.height = canvas.height;
    const on = all_of_it.getContext('2d');
    on.scale(canvas.width / width, canvas.height / height);
    const each = (height - 6) / data.tasks.length;
    // What matters more is painted over what matters less.
    for (const [look, colour, part] of [
             [called, colours.called, .25], [blocked, colours.blocked, .35],
             [ready, colours.ready, .35], [active, colours.active, .9]]) {
      on.fillStyle = colour;
      lanes.forEach((lane, f) => lane.from.forEach((n, i) => {
        if (lane.look[i] !== look) return;
        const until = i + 1 < lane.from.length ? lane.from[i + 1] : last + 1;
        const thick = Math.max(each * part, 1);
        on.fillRect(
            n * per, Math.round(3 + (f + .5) * each - thick / 2), Math.max((until - n) * per, .7),
            thick);
      }));
    }
  }
  to.drawImage(all_of_it, 0, 0, width, height);
  to.fillStyle = colours.loop;
  to.fillRect((now + .5) * per - 1, 0, 2, height);
  to.strokeStyle = colours.loop;
  to.lineWidth = 1.5;
  to.strokeRect(left * per + 1, 1, Math.min(columns() * per, width - left * per) - 2, height - 2);
}

