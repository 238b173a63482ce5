// What stands beside the maps: who looks where in numbers, scores, the example's text, and where it all came from.

const LISTED = 8;

function beside(map, weights) {
  const readout = make("div", { className: "readout" });
  readout.setAttribute("aria-live", "polite");
  const tell = () => readout.replaceChildren(...told(map, weights));
  lit.listeners.add(tell);
  tell();
  return [readout, ...scores(map), ...texts(map), origin(map)].filter(Boolean);
}

/** The keys of a query, or the queries of a key, from the most weight on, as words, bars and figures. */
function told(map, weights) {
  const place = pointedAt(map, weights);
  const asks = place.axis === "query";
  const [own, others] = asks ? [map.queries, map.keys] : [map.keys, map.queries];
  const ranked = weights.ranked(place.axis, place.at).filter(({ code }) => code > NO_WEIGHT);
  const heading = make("h2", {}, word(own[place.at]), make("small", {}, asks ? " looks at" : " is looked at by"));
  heading.title = whole(own[place.at]);
  if (!ranked.length) return [heading, make("p", { className: "nothing" }, asks ? "nothing attended" : "no query")];
  const special = new Set(asks ? map.special : []);
  const list = make("ol", {}, ...ranked.slice(0, LISTED).map((each) => entry(others, each, special)));
  const more = ranked.length - LISTED;
  return [heading, list, more > 0 ? make("p", { className: "more" }, `and ${more} more, up to ${figure(ranked[LISTED].code)}`) : ""];
}

function pointedAt(map, weights) {
  const counts = { query: weights.rows, key: weights.columns };
  const places = [lit.now, lit.chosen].filter(Boolean);
  const ends = places.map(({ axis, at, query }) => (axis === "cell" ? { axis: "query", at: query } : { axis, at }));
  return ends.find(({ axis, at }) => at < counts[axis]) ?? { axis: "query", at: 0 };
}

function entry(labels, { other, code, weight }, special) {
  const bar = make("span", { className: "bar" });
  bar.style.setProperty("--share", clamp(weight, 0, 1).toFixed(4));
  const item = make("li", { className: special.has(other) ? "special" : "" }, word(labels[other]), bar, make("b", {}, figure(code)));
  item.title = whole(labels[other]);
  return item;
}

function scores(map) {
  const pairs = Object.entries(map.scores);
  if (!pairs.length) return [];
  const list = make("dl", { className: "scores" });
  for (const [name, score] of pairs) list.append(make("dt", {}, name), make("dd", {}, score));
  return [make("h3", {}, "Scores"), list];
}

function texts(map) {
  const first = ["source", "prediction", "reference"];
  const names = [...first.filter((name) => name in map.text), ...Object.keys(map.text).filter((name) => !first.includes(name))];
  const list = make("dl", { className: "texts" });
  for (const name of names) {
    list.append(make("dt", {}, name), make("dd", { dir: "auto", className: name === "notice" ? "notice" : "" }, map.text[name] || "(empty)"));
  }
  return names.length ? [make("h3", {}, "Example"), list] : [];
}

function origin(map) {
  const parts = Object.entries(map.origin).filter(([name]) => name !== "rows" && name !== "columns");
  if (!parts.length) return null;
  return make("p", { className: "origin" }, parts.map(([name, value]) => `${name} ${value}`).join(" · "));
}
