// Draws what Python says and tells Python what was chosen; it computes nothing but places on the
// screen. Data come in by textContent and setAttribute alone, so that no text of a study is markup.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 640, INK = "#222222", QUIET = "#595959";
// JupyterLab's own keys (arrows, Enter) are not for what has the focus here; it asks the very
// element that has it, before any around it.
const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };
const FOCUSABLE = ["input", "select", "button", "pre"];
const DASHES = { "-": "", "--": "6 3", ":": "2 3", "-.": "6 3 2 3" };
let n_made = 0;

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  if (FOCUSABLE.includes(tag)) attributes = { ...OWN_KEYS, ...attributes };
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function shape(tag, attributes, parent, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

// Symbols ----------------------------------------------------------------------------------------

function outline(kind, x, y, r) {
  const polygon = (...places) =>
    "M" + places.map(([a, b]) => `${x + a * r} ${y + b * r}`).join("L") + "Z";
  const cross = [[-0.3, -1], [0.3, -1], [0.3, -0.3], [1, -0.3], [1, 0.3], [0.3, 0.3], [0.3, 1],
    [-0.3, 1], [-0.3, 0.3], [-1, 0.3], [-1, -0.3], [-0.3, -0.3]];
  const turned = cross.map(([a, b]) => [(a - b) * 0.75, (a + b) * 0.75]);
  switch (kind) {
    case "s": return polygon([-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]);
    case "D": return polygon([0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]);
    case "^": return polygon([0, -1.2], [1.1, 0.9], [-1.1, 0.9]);
    case "v": return polygon([0, 1.2], [1.1, -0.9], [-1.1, -0.9]);
    case "P": return polygon(...cross);
    case "X": return polygon(...turned);
    default: return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  }
}

function symbol(look, x, y, r, parent, more = {}) {
  const attributes = { d: outline(look.shape, x, y, r), stroke: look.color, "stroke-width": 1.6 };
  attributes.fill = look.filled ? look.color : "#ffffff";
  return shape("path", { ...attributes, ...more }, parent);
}

// The picture ------------------------------------------------------------------------------------

function frame(picture) {
  const names = picture.y.names || [];
  const longest = Math.max(0, ...names.map((name) => name.length));
  const left = names.length ? Math.min(230, 24 + 6.6 * longest) : 62;
  const right = picture.right ? 92 : 16;
  const top = picture.top ? 58 : picture.x.names ? 28 : 16;
  const width = WIDTH - left - right;
  let height = picture.height || 380;
  if (picture.equal) height = width * (picture.y.limits[1] - picture.y.limits[0]) /
    (picture.x.limits[1] - picture.x.limits[0]);
  const place = (axis, start, length) => (value) =>
    start + (value - axis.limits[0]) / (axis.limits[1] - axis.limits[0]) * length;
  return {
    left, top, width, height, right,
    x: place(picture.x, left, width),
    y: place(picture.y, top + height, -height),
    whole: top + height + (picture.x.names ? 16 : 46),
  };
}

function short(text, n) {
  return text.length > n ? text.slice(0, n - 1) + "…" : text;
}

function draw_axes(picture, at, parent) {
  const bottom = at.top + at.height;
  const text = { fill: INK, "font-size": 12, "aria-hidden": "true" };
  if (!picture.frameless) {
    shape("path", { d: `M${at.left} ${at.top}V${bottom}H${at.left + at.width}`, fill: "none",
      stroke: QUIET }, parent);
  }
  picture.x.ticks.forEach((tick, n) => {
    const label = (picture.x.names || picture.x.labels)[n];
    const y = picture.x.names ? at.top - 8 : bottom + 17;
    shape("text", { ...text, x: at.x(tick), y, "text-anchor": "middle" }, parent, label);
  });
  picture.y.ticks.forEach((tick, n) => {
    const label = short((picture.y.names || picture.y.labels)[n], 32);
    const look = { ...text, x: at.left - 8, y: at.y(tick) + 4, "text-anchor": "end" };
    shape("text", look, parent, label);
  });
  if (picture.x.label) {
    const look = { ...text, x: at.left + at.width / 2, y: bottom + 38, "text-anchor": "middle" };
    shape("text", look, parent, picture.x.label);
  }
  if (picture.y.label) {
    const turn = `translate(14 ${at.top + at.height / 2}) rotate(-90)`;
    shape("text", { ...text, transform: turn, "text-anchor": "middle" }, parent, picture.y.label);
  }
}

function channels(color) {
  return [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16));
}

const DRAW = {
  raster(mark, at, parent) {
    const [columns, rows] = mark.size;
    const canvas = element("canvas", { width: columns, height: rows });
    const brush = canvas.getContext("2d");
    const image = brush.createImageData(columns, rows);
    const ends = mark.colors.map(channels);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        // Shares run from 0 to 1 as 0 to 254, the colors from human through white to model.
        const share = mark.shares.getUint8((rows - 1 - row) * columns + column) / 127;
        const [low, high] = share < 1 ? [ends[0], ends[1]] : [ends[1], ends[2]];
        const part = share < 1 ? share : share - 1;
        const start = 4 * (row * columns + column);
        for (let c = 0; c < 3; c++) image.data[start + c] = low[c] + part * (high[c] - low[c]);
        image.data[start + 3] = 255;
      }
    }
    brush.putImageData(image, 0, 0);
    const [x0, x1] = mark.x.map(at.x), [y0, y1] = mark.y.map(at.y);
    shape("image", { x: x0, y: y1, width: x1 - x0, height: y0 - y1, href: canvas.toDataURL(),
      preserveAspectRatio: "none", "aria-hidden": "true" }, parent);
  },
  line(mark, at, parent) {
    const places = mark.x.map((x, n) => `${at.x(x).toFixed(1)} ${at.y(mark.y[n]).toFixed(1)}`);
    shape("path", { d: "M" + places.join("L"), fill: "none", stroke: mark.color,
      "stroke-width": mark.width || 1.5, "stroke-dasharray": DASHES[mark.dash || "-"],
      "aria-hidden": "true" }, parent);
  },
  band(mark, at, parent) {
    const place = (x, y) => `${at.x(x).toFixed(1)} ${at.y(y).toFixed(1)}`;
    const up = mark.x.map((x, n) => place(x, mark.low[n]));
    const down = mark.x.map((x, n) => place(x, mark.high[n])).reverse();
    shape("path", { d: "M" + [...up, ...down].join("L") + "Z", fill: mark.color, opacity: 0.14,
      "aria-hidden": "true" }, parent);
  },
  cells(mark, at, parent, tell) {
    mark.cells.forEach((cell) => {
      // Names run from the top to the bottom, so that a cell's upper edge is the smaller number.
      const look = { x: at.x(cell.x - 0.5) + 1, y: at.y(cell.y - 0.5) + 1, fill: cell.color };
      look.width = at.x(cell.x + 0.5) - at.x(cell.x - 0.5) - 2;
      look.height = at.y(cell.y + 0.5) - at.y(cell.y - 0.5) - 2;
      const box = shape("rect", { ...look, "aria-hidden": "true" }, parent);
      box.addEventListener("click", () => tell.pick(cell.id));
      shape("text", { "pointer-events": "none", x: at.x(cell.x), y: at.y(cell.y) + 4, "text-anchor": "middle", fill: INK,
        "font-size": 12, "aria-hidden": "true" }, parent, cell.text);
    });
  },
  margin(mark, at, parent) {
    const x = at.left + at.width;
    mark.texts.forEach(({ y, text }) => {
      shape("text", { x: x + 34, y: at.y(y) + 4, "text-anchor": "middle", fill: INK,
        "font-size": 12, "aria-hidden": "true" }, parent, text);
    });
  },
  points(mark, at, parent, tell) {
    mark.x.forEach((x, n) => {
      const [across, down] = [at.x(x), at.y(mark.y[n])];
      if (!mark.ids) return symbol(mark, across, down, mark.size || 5, parent,
        { "aria-hidden": "true" });
      const id = mark.ids[n];
      const chosen = tell.picked === id;
      const near = tell.near.has(id);
      const more = { ...OWN_KEYS, role: "button", tabindex: -1, "aria-label": mark.names[n],
        "aria-pressed": String(chosen), "data-id": id, class: "nlg-point" };
      if (near) more.stroke = INK;
      if (chosen) Object.assign(more, { stroke: "#000000", "stroke-width": 3 });
      const size = (mark.size || 5) + (chosen ? 3 : 0);
      const made = symbol(mark, across, down, size, parent, more);
      made.addEventListener("click", () => tell.pick(id));
      tell.places.push({ made, id, across, down });
    });
  },
};

// Names of points stand beside them where there is room, the first free of eight places: corners
// before sides, along which intervals run.
function draw_names(picture, at, parent) {
  const taken = [];
  const marks = picture.marks.filter((mark) => mark.type === "points" && mark.texts);
  const places = marks.flatMap((mark) => mark.x.map((x, n) =>
    ({ x: at.x(x), y: at.y(mark.y[n]), text: short(mark.texts[n], 26), color: mark.color })));
  places.forEach(({ x, y }) => taken.push([x - 6, y - 6, x + 6, y + 6]));
  const meets = (a) => taken.some((b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]);
  places.forEach(({ x, y, text }) => {
    const wide = 6.9 * text.length, high = 14;
    for (const away of [16, 28, 42, 58, 78, 100]) {
      const spots = [[away, -away], [away, away + 8], [-away - wide, -away],
        [-away - wide, away + 8], [away, 5], [-away - wide, 5], [-wide / 2, -away],
        [-wide / 2, away + 8]];
      const box = ([a, b]) => [x + a, y + b - high, x + a + wide, y + b + 3];
      const inside = (b) => b[0] > at.left && b[2] < at.left + at.width + at.right &&
        b[1] > at.top && b[3] < at.top + at.height;
      const spot = spots.find((one) => inside(box(one)) && !meets(box(one)));
      if (spot === undefined) continue;
      const found = box(spot);
      taken.push(found);
      if (away > 16) shape("path", { d: `M${x} ${y}L${found[0] + (spot[0] < 0 ? wide : 0)} ${
        found[1] + high / 2 + 2}`, stroke: QUIET, "stroke-width": 0.7, "aria-hidden": "true" },
        parent);
      shape("text", { x: found[0], y: y + spot[1], fill: INK, "font-size": 12,
        "aria-hidden": "true" }, parent, text);
      return;
    }
  });
}

function draw_margins(picture, at, parent) {
  const most = Math.max(1, ...picture.top.flatMap((one) => one.counts));
  picture.top.forEach(({ edges, counts, color, filled }) => {
    const level = (count) => at.top - 6 - 42 * count / most;
    let d = `M${at.x(edges[0])} ${level(0)}`;
    counts.forEach((count, n) => { d += `V${level(count)}H${at.x(edges[n + 1])}`; });
    const look = filled ? { fill: color, opacity: 0.5 } : { fill: "none", stroke: color,
      "stroke-width": 1.4 };
    shape("path", { d: d + `V${level(0)}Z`, ...look, "aria-hidden": "true" }, parent);
  });
}

function draw_picture(picture, detail, pick) {
  const at = frame(picture);
  const root = document.createElementNS(SVG, "svg");
  root.setAttribute("viewBox", `0 0 ${WIDTH} ${Math.ceil(at.whole)}`);
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", `${picture.title}. ${picture.alt}`);
  root.setAttribute("class", "nlg-picture");
  const tell = { pick, places: [], picked: detail && detail.id,
    near: new Set((detail && detail.near) || []) };
  picture.marks.forEach((mark) => DRAW[mark.type](mark, at, root, tell));
  const chosen = tell.places.find((one) => one.id === tell.picked);
  if (chosen) root.append(chosen.made);  // above its neighbors
  if (picture.top) draw_margins(picture, at, root);
  draw_axes(picture, at, root);
  draw_names(picture, at, root);
  // One stop for the Tab key; arrows go from point to point, from left to right.
  const walk = tell.places.sort((a, b) => a.across - b.across || b.down - a.down);
  const start = Math.max(0, walk.findIndex((one) => one.id === tell.picked));
  if (walk.length) walk[start].made.setAttribute("tabindex", 0);
  root.addEventListener("keydown", (event) => {
    const here = walk.findIndex((one) => one.made === event.target);
    if (here < 0) return;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      const next = walk[(here + step + walk.length) % walk.length].made;
      event.target.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") pick(walk[here].id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return root;
}

function draw_legend(entries) {
  return element("ul", { class: "nlg-legend", "aria-label": "Legend" }, ...entries.map((entry) => {
    const root = document.createElementNS(SVG, "svg");
    root.setAttribute("viewBox", "0 0 28 16");
    root.setAttribute("aria-hidden", "true");
    if (entry.dash) DRAW.line({ x: [0, 28], y: [8, 8], color: entry.color, dash: entry.dash },
      { x: (x) => x, y: (y) => y }, root);
    if (entry.shape) symbol(entry, 14, 8, 5, root);
    if (entry.box) shape("rect", { x: 4, y: 2, width: 20, height: 12, fill: entry.box,
      stroke: QUIET }, root);
    return element("li", {}, root, element("span", {}, entry.label));
  }));
}

// What was picked --------------------------------------------------------------------------------

function draw_table({ caption, columns, rows }) {
  return element("table", {}, element("caption", {}, caption),
    element("thead", {}, element("tr", {},
      ...columns.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {},
      ...row.map((cell) => element("td", {}, cell))))));
}

function draw_detail(detail, hint) {
  if (!detail) return [element("p", { class: "nlg-hint" }, hint)];
  const made = [element("h3", {}, detail.title)];
  if (detail.text) made.push(element("blockquote", { dir: "auto" }, detail.text));
  made.push(...detail.says.map((line) => element("p", {}, line)), draw_table(detail.table));
  return made;
}

function draw_game(game, pick, next) {
  const made = [element("p", { class: "nlg-caption", dir: "auto" }, game.caption)];
  made.push(element("div", { class: "nlg-swatches", role: "group",
    "aria-label": "Which color is meant?" }, ...game.colors.map((one) =>
    element("button", { type: "button", class: "nlg-swatch", disabled: game.answered,
      "data-id": one.id, "aria-label": `${one.name}: ${one.words}`, onclick: () => pick(one.id) },
    element("span", { class: "nlg-color", style: `background:${one.color}` }),
    element("span", {}, one.mark ? `${one.name}: ${one.mark}` : one.name)))));
  made.push(element("button", { type: "button", onclick: next }, "Next caption"));
  return made;
}

// Controls ---------------------------------------------------------------------------------------

function draw_control(one, id, set) {
  if (one.kind === "slider") {
    const value = element("output", { for: id }, String(one.value));
    const input = element("input", { id, type: "range", min: one.low, max: one.high, step: 1,
      oninput: () => { value.textContent = input.value; set(one.name, Number(input.value)); } });
    input.value = one.value;
    const update = (now) => { input.value = now; value.textContent = String(now); };
    return { made: element("div", { class: "nlg-control" },
      element("label", { for: id }, one.label), input, value), input, update };
  }
  if (one.kind === "choice") {
    const input = element("select", { id, onchange: () => set(one.name, input.value) },
      ...one.options.map(([value, label]) => element("option", { value }, label)));
    input.value = one.value;
    return { made: element("div", { class: "nlg-control" },
      element("label", { for: id }, one.label), input), input,
      update: (now) => { input.value = now; } };
  }
  const boxes = one.options.map(([value, label], n) => {
    const input = element("input", { type: "checkbox", id: `${id}-${n}`, value, onchange: () =>
      set(one.name, boxes.filter((box) => box.input.checked).map((box) => box.input.value)) });
    input.checked = one.value.includes(value);
    return { input, made: element("label", { for: `${id}-${n}` }, input, label) };
  });
  const update = (now) => boxes.forEach((box) => {
    box.input.checked = now.includes(box.input.value);
  });
  return { made: element("fieldset", { class: "nlg-picks" }, element("legend", {}, one.label),
    ...boxes.map((box) => box.made)), input: boxes[0] && boxes[0].input, update };
}

// The whole --------------------------------------------------------------------------------------

function render({ model, el }) {
  const uid = `nlg-${n_made++}-${Math.random().toString(36).slice(2, 8)}`;
  const controls = element("form", { class: "nlg-controls", "aria-label": "Controls",
    onsubmit: (event) => event.preventDefault() });
  const figure = element("div", { class: "nlg-figure" });
  const heading = element("h2", {});
  const detail = element("section", { class: "nlg-detail", "aria-live": "polite",
    "aria-label": "What was picked" });
  const code = element("pre", { tabindex: 0, "aria-label": "Code that makes this figure" });
  const status = element("p", { class: "nlg-status", role: "status",
    "aria-live": "polite" });
  const said = element("p", { class: "nlg-said" });
  const tabs = element("div", { role: "tablist", class: "nlg-tabs", "aria-label": "Views" });
  const panel = element("div", { role: "tabpanel", id: `${uid}-panel` });
  const buttons = ["pdf", "png"].map((format) => element("button", { type: "button",
    onclick: () => ask({ type: "export", format }) }, `Download ${format.toUpperCase()}`));
  const copy = element("button", { type: "button", onclick: async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      status.textContent = "The code is copied.";
    } catch {
      status.textContent = "The browser did not copy: select the code and copy it.";
    }
  } }, "Copy code");
  const worlds = element("div", { class: "nlg-control" });
  const print = element("section", {}, element("h3", {}, "The same figure for print"),
    element("div", { class: "nlg-export" }, ...buttons, copy), code);
  panel.append(heading, controls, element("div", { class: "nlg-body" }, figure, detail), said, print);
  const root = element("div", { class: "nlg-explorer", lang: "en" }, worlds, tabs, status, panel);
  el.append(root);

  // One question at a time; while it is answered only the last of those that follow is kept.
  let stamp = 0, waiting = false, next = null, slow = null, drawn = {};
  function ask(content) {
    if (waiting) { next = content; return; }
    waiting = true;
    stamp += 1;
    slow = setTimeout(() => {
      status.textContent = "Computing…";
      panel.setAttribute("aria-busy", "true");
    }, 300);
    model.send({ ...content, stamp });
  }
  function answered(problem) {
    waiting = false;
    clearTimeout(slow);
    panel.removeAttribute("aria-busy");
    status.textContent = problem;
    if (next) { const content = next; next = null; ask(content); }
  }
  const pick = (id) => ask({ type: "pick", id });
  const set = (name, value) => ask({ type: "set", name, value });

  // Arrows move the focus alone, Enter opens: what a view computes may take a while.
  function draw_tabs(shown) {
    if (!tabs.firstChild) {
      tabs.append(...shown.views.map((view) => element("button", { type: "button", role: "tab",
        id: `${uid}-${view.name}`, "aria-controls": `${uid}-panel`,
        onclick: () => ask({ type: "open", view: view.name }),
        onkeydown: (event) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          const all = [...tabs.children];
          if (step) all.at((all.indexOf(event.target) + step) % all.length).focus();
        } }, view.title)));
    }
    shown.views.forEach((view, n) => {
      const chosen = view.name === shown.view;
      tabs.children[n].setAttribute("aria-selected", String(chosen));
      tabs.children[n].setAttribute("tabindex", chosen ? 0 : -1);
      if (chosen) panel.setAttribute("aria-labelledby", tabs.children[n].id);
    });
  }

  function draw_controls(shown) {
    const specs = shown.controls.map(({ value, ...spec }) => spec);
    const key = JSON.stringify([shown.view, shown.study, specs]);
    if (drawn.key !== key) {  // the same controls stay, and keep their focus
      const focused = controls.contains(document.activeElement) && document.activeElement.id;
      drawn = { key, parts: shown.controls.map((one) =>
        draw_control(one, `${uid}-${one.name}`, set)) };
      controls.replaceChildren(...drawn.parts.map((part) => part.made));
      if (focused) document.getElementById(focused)?.focus();
    }
    if (!next) shown.controls.forEach((one, n) => drawn.parts[n].update(one.value));
  }

  function draw() {
    const shown = model.get("shown");
    if (!shown.views) return;
    const focus = figure.contains(document.activeElement) &&
      document.activeElement.getAttribute("data-id");
    if (shown.studies.length > 1 && !worlds.firstChild) {
      const { made } = draw_control({ kind: "choice", label: "Study", value: shown.study,
        options: shown.studies.map((name) => [name, name]) }, `${uid}-study`,
      (_, study) => ask({ type: "study", study }));
      worlds.append(...made.childNodes);
    }
    draw_tabs(shown);
    const view = shown.views.find((one) => one.name === shown.view);
    heading.textContent = shown.picture ? shown.picture.title : view.title;
    draw_controls(shown);
    const parts = [];
    if (shown.game) {
      parts.push(...draw_game(shown.game, pick, () => ask({ type: "next" })));
    } else if (shown.picture) {
      parts.push(draw_picture(shown.picture, shown.detail, pick));
      parts.push(draw_legend(shown.picture.legend));
    }
    figure.replaceChildren(...parts);
    figure.hidden = parts.length === 0;
    detail.replaceChildren(...draw_detail(shown.detail, shown.hint));
    said.textContent = shown.says;
    said.hidden = !shown.says;
    code.textContent = shown.code;
    print.hidden = !shown.code;
    if (focus) [...figure.querySelectorAll("[data-id]")].find((one) =>
      one.getAttribute("data-id") === focus)?.focus();
    root.setAttribute("data-stamp", shown.stamp);
    if (shown.stamp === stamp || !waiting) answered(shown.problem);
  }

  function receive(content, buffers) {
    if (content.type !== "file") return;
    const blob = new Blob([buffers[0]], { type: content.mime });
    const link = element("a", { href: URL.createObjectURL(blob), download: content.name });
    root.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  model.on("change:shown", draw);
  model.on("msg:custom", receive);
  draw();
  return () => { model.off("change:shown", draw); model.off("msg:custom", receive); };
}

export default { render };
