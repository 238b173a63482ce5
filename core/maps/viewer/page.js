// The page: controls, the slider through time, and the panels that they ask for.

const at = (id) => document.getElementById(id);
const state = {
  example: 0, module: 0, head: MEAN, step: DATA.timeline.length,
  spread: DATA.together ? "modules" : "one",
  view: "places",
};
const VIEWS = { places: "Picture", heat: "Heat map", lines: "Lines" };
const SPREADS = { one: "One map", modules: "All modules", heads: "All heads" };

/** The maps of the chosen example at the chosen step; none where that step has no such example. */
function examplesNow() {
  return (DATA.timeline[state.step]?.examples ?? DATA.examples)[state.example] ?? [];
}

/** The same module at the chosen step: by its name, or else its place. */
function mapNow() {
  const named = DATA.examples[state.example][state.module];
  const maps = examplesNow();
  return maps.find((map) => map.name === named.name) ?? maps[state.module];
}

function viewNow(map) {
  return state.view === "places" && map.shown === null ? "heat" : state.view;
}

/** What side by side shows: maps and heads, each with its caption. */
function panels() {
  if (state.spread === "modules") return examplesNow().map((map) => ({ map, head: state.head, caption: map.name }));
  const map = mapNow();
  if (!map) return [];
  if (state.spread === "one") return [{ map, head: state.head, caption: map.name }];
  return Array.from({ length: headCount(map) }, (_, head) => ({ map, head, caption: headName(map, head) }));
}

function panel({ map, head, caption }, scale, width) {
  const small = state.spread !== "one";
  const draws = { heat, lines, places: map.shown === null ? heat : { picture, sound }[DATA.media[map.shown].kind] };
  const drawn = draws[viewNow(map)](map, plane(map, head), { width, scale, small });
  const title = make("h2", { className: "name", title: caption }, make("bdi", {}, caption));
  const about = state.spread === "heads" ? "" : headName(map, head);
  return make("article", { className: "panel" }, make("div", { className: "head" }, title, make("small", {}, about)), drawn);
}

function render() {
  const shown = panels();
  const first = mapNow() ?? shown[0]?.map;
  arrange();
  at("maps").className = state.spread;
  if (!first) {
    lit.listeners.clear();
    at("maps").replaceChildren(make("p", { className: "nothing" }, "This step has no map of the chosen example."));
    at("beside").replaceChildren();
    return;
  }
  lit.clear(first);
  const scale = scaleOf(overTime(shown));
  const room = at("maps").clientWidth;
  const columns = state.spread === "one" ? 1 : clamp(Math.floor(room / 310), 1, shown.length);
  const width = (room - (columns - 1) * 28) / columns;
  at("maps").style.setProperty("--columns", columns);
  at("maps").replaceChildren(legend(scale, shown), ...shown.map((each) => panel(each, scale, width)));
  at("beside").replaceChildren(...beside(first, plane(first, state.head)));
}

/** The heads that are shown, at all steps, so that colours mean the same from step to step. */
function overTime(shown) {
  const steps = [...DATA.timeline.map((step) => step.examples), DATA.examples].map((step) => step[state.example] ?? []);
  const planes = shown.map(({ map, head }) => plane(map, head));
  for (const { map, head } of shown) {
    planes.push(...steps.flatMap((maps) => maps.filter(({ name }) => name === map.name)).map((each) => plane(each, head)));
  }
  return planes;
}

function legend(scale, shown) {
  const ramp = make("span", { className: "ramp" });
  ramp.style.background = `linear-gradient(90deg, ${RAMPS[theme()].join(",")})`;
  const names = axisNames(shown[0].map);
  const parts = [make("span", {}, "0"), ramp, make("span", {}, `${scale} attention weight`)];
  parts.push(make("span", {}, "rows: ", make("bdi", {}, names[0]), ", columns: ", make("bdi", {}, names[1])));
  const blank = shown.some(({ map, head }) => map.queries.some((_, query) => plane(map, head).empty(query)));
  if (blank) parts.push(make("span", { className: "blank" }, "nothing attended"));
  const many = viewNow(shown[0].map) === "lines" && shown.some(({ map, head }) => plane(map, head).codes.length > MOST);
  if (many) parts.push(make("span", {}, `the ${MOST} strongest lines`));
  return make("div", { className: "legend" }, ...parts);
}

function choice(id, title, options, chosen, change) {
  const select = make("select", { id });
  select.append(...options.map(([value, text]) => make("option", { value, selected: String(value) === String(chosen) }, text)));
  select.disabled = options.length < 2;
  select.addEventListener("change", () => change(select.value));
  return make("label", { className: "choice" }, make("span", {}, title), select);
}

function segments(name, title, options, chosen, change) {
  const group = make("fieldset", { className: "segments" }, make("legend", {}, title));
  for (const [value, text] of options) {
    const radio = make("input", { type: "radio", name, value, checked: value === chosen });
    radio.addEventListener("change", () => change(value));
    group.append(make("label", {}, radio, make("span", {}, text)));
  }
  return group;
}

/** The controls, whose options follow what is chosen. */
function arrange() {
  const focused = document.activeElement?.closest("#controls") && document.activeElement;
  const maps = DATA.examples[state.example];
  const map = maps[state.module];
  const heads = headCount(map);
  const set = (name) => (value) => {
    state[name] = name === "example" || name === "module" ? Number(value) : value;
    if (name === "example") state.module = Math.min(state.module, DATA.examples[state.example].length - 1);
    if (state.head !== MEAN && Number(state.head) >= headCount(DATA.examples[state.example][state.module])) state.head = MEAN;
    if (name === "spread" && value === "heads") state.head = MEAN;
    render();
  };
  const examples = DATA.examples.map(([one], number) => [number, one.heading ? `${number + 1}: ${one.heading}` : `example ${number + 1}`]);
  const many = heads > 1 ? [[MEAN, `mean of ${heads} heads`]] : [];
  const each = Array.from({ length: heads }, (_, head) => [head, heads > 1 ? `head ${head}` : "one head"]);
  const kind = map.shown === null ? null : DATA.media[map.shown].kind;
  const views = Object.entries(VIEWS).filter(([view]) => view !== "places" || kind);
  const named = views.map(([view, text]) => [view, view === "places" && kind === "sound" ? "Sound" : text]);
  const possible = { one: true, modules: maps.length > 1 || DATA.together, heads: heads > 1 };
  const spreads = Object.entries(SPREADS).filter(([spread]) => possible[spread]);
  if (!possible[state.spread]) state.spread = "one";
  at("controls").replaceChildren(
    choice("example", "Example", examples, state.example, set("example")),
    choice("module", "Module", maps.map(({ name }, number) => [number, name]), state.module, set("module")),
    choice("head", "Head", [...many, ...each], heads > 1 ? state.head : 0, set("head")),
    segments("view", "View", named, viewNow(map), set("view")),
    spreads.length > 1 ? segments("spread", "Show", spreads, state.spread, set("spread")) : "",
  );
  if (focused) refocus(focused);
}

function refocus(before) {
  const same = before.id ? at(before.id) : at("controls").querySelector(`input[name=${before.name}]:checked`);
  same?.focus();
}

function timeline() {
  if (!DATA.timeline.length) return;
  const labels = [...DATA.timeline.map((step) => step.label), "latest"];
  const slider = make("input", { type: "range", id: "step", min: 0, max: labels.length - 1, step: 1, value: state.step });
  const says = make("output", {}, labels[state.step]);
  const go = (step) => {
    state.step = Number(step);
    slider.value = step;
    says.textContent = labels[state.step];
    slider.setAttribute("aria-valuetext", labels[state.step]);
    render();
  };
  slider.setAttribute("aria-valuetext", labels[state.step]);
  slider.addEventListener("input", () => go(slider.value));
  at("time").append(make("label", { htmlFor: "step" }, "Training"), player(slider, labels.length - 1, go), slider, says);
  at("time").hidden = false;
}

/** A button that walks through time from the first step, and stops at the latest. */
function player(slider, last, go) {
  let timer = null;
  const button = make("button", { type: "button", className: "play" }, "▶");
  button.setAttribute("aria-label", "Play the steps");
  const stop = () => {
    clearInterval(timer);
    timer = null;
    button.textContent = "▶";
  };
  button.addEventListener("click", () => {
    if (timer) return stop();
    button.textContent = "❚❚";
    go(Number(slider.value) === last ? 0 : Number(slider.value) + 1);
    timer = setInterval(() => (Number(slider.value) < last ? go(Number(slider.value) + 1) : stop()), 700);
  });
  return button;
}

function table() {
  if (!DATA.table) return;
  const cell = (tag) => (text) => make(tag, { className: /^[-+]?[\d.,]+%?$/.test(text) ? "number" : "" }, make("bdi", {}, text));
  const head = make("thead", {}, make("tr", {}, ...DATA.table.head.map(cell("th"))));
  const body = make("tbody", {}, ...DATA.table.rows.map((row) => make("tr", {}, ...row.map(cell("td")))));
  at("table").append(make("table", {}, head, body));
}

const dark = matchMedia("(prefers-color-scheme: dark)");

function paint(name) {
  document.documentElement.dataset.theme = name;
  at("theme").textContent = name === "dark" ? "☀" : "☾";
  at("theme").title = name === "dark" ? "Light" : "Dark";
}

function start() {
  paint(dark.matches ? "dark" : "light");
  at("title").append(make("bdi", {}, DATA.title));
  table();
  timeline();
  render();
  dark.addEventListener("change", () => (paint(dark.matches ? "dark" : "light"), render()));
  at("theme").addEventListener("click", () => (paint(theme() === "dark" ? "light" : "dark"), render()));
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  let width = innerWidth;
  let waiting;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(render, 120);
  });
}

start();
