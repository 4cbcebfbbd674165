// Axes, lines and bands in SVG; the tooltip.

const LEFT = 52, RIGHT = 12, TOP = 22, BOTTOM = 38;

function linearTicks([low, high], wanted) {
  const rough = (high - low) / wanted;
  const tens = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * tens >= rough) ?? 10) * tens;
  const first = Math.ceil(low / step - 1e-9);
  return range(Math.floor(high / step + 1e-9) - first + 1).map((i) => Number(((first + i) * step).toPrecision(12)));
}

function logTicks([low, high], wanted) {
  const decades = range(Math.ceil(Math.log10(high)) - Math.floor(Math.log10(low)) + 1).map((i) => Math.floor(Math.log10(low)) + i);
  let inside = [];
  for (const factors of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = decades.flatMap((power) => factors.map((factor) => factor * 10 ** power));
    inside = ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001).map((tick) => Number(tick.toPrecision(6)));
    if (inside.length <= wanted) break;
  }
  return inside;
}

function scale(domain, [from, to], log = false) {
  const f = log ? Math.log : (value) => value;
  const [low, high] = domain.map(f);
  const place = (value) => from + ((f(value) - low) / (high - low || 1)) * (to - from);
  place.ticks = (wanted) => (log ? logTicks(domain, wanted) : linearTicks(domain, wanted));
  place.invert = (pixel) => {
    const value = low + ((pixel - from) / (to - from)) * (high - low);
    return log ? Math.exp(value) : value;
  };
  return place;
}

// The span of the values with a little room; never empty.
function span(values, { room = 0.04, zero = false } = {}) {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (zero) low = Math.min(low, 0);
  if (!(high > low)) [low, high] = zero && low === 0 ? [0, 1] : [low - 0.5, high + 0.5];
  const pad = room * (high - low);
  return [zero && low === 0 ? 0 : low - pad, high + pad];
}

// Axes in a host element: { svg, back, plot, x, y }. `x` and `y`: { domain, title, log, text }.
function axes(host, { height, x, y, label, quietX = false }) {
  const width = Math.max(host.clientWidth, 200);
  const bottom = quietX ? 10 : BOTTOM;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": label });
  const toX = scale(x.domain, [LEFT, width - RIGHT], x.log);
  const toY = scale(y.domain, [height - bottom, TOP], y.log);
  const clip = `clip-${host.id}-${height}-${host.childElementCount}`;
  const box = { x: LEFT - 4, y: TOP - 4, width: width - LEFT - RIGHT + 8, height: height - bottom - TOP + 4 };
  svg.append(draw("defs", {}, draw("clipPath", { id: clip }, draw("rect", box))));
  for (const tick of toY.ticks(5)) {
    const line = draw("line", { x1: LEFT, x2: width - RIGHT, y1: toY(tick), y2: toY(tick) });
    const text = draw("text", { x: LEFT - 7, y: toY(tick) + 4, "text-anchor": "end", text: (y.text ?? plain)(tick) });
    svg.append(draw("g", { class: "tick" }, line, text));
  }
  for (const tick of quietX ? [] : toX.ticks(Math.max(3, Math.floor(width / 80)))) {
    const text = draw("text", { x: toX(tick), y: height - bottom + 16, "text-anchor": "middle", text: (x.text ?? plain)(tick) });
    svg.append(draw("g", { class: "tick" }, text));
  }
  const floor = height - bottom;
  svg.append(draw("path", { class: "frame", d: `M${LEFT},${TOP - 4}V${floor}H${width - RIGHT}` }));
  svg.append(draw("text", { x: 4, y: 12, text: y.title, fill: y.colour, style: y.colour ? `fill:${y.colour}` : null }));
  if (!quietX) svg.append(draw("text", { x: width - RIGHT, y: height - 5, "text-anchor": "end", text: x.title }));
  const [back, plot] = range(2).map(() => draw("g", { "clip-path": `url(#${clip})` }));
  svg.append(back, plot);
  host.append(svg);
  return { svg, back, plot, x: toX, y: toY, width, height, floor };
}

function linePath(chart, xs, ys) {
  let path = "", pen = "M";
  xs.forEach((x, i) => {
    const drawable = x !== null && ys[i] !== null && Number.isFinite(ys[i]);
    if (drawable) path += `${pen}${chart.x(x).toFixed(1)},${chart.y(ys[i]).toFixed(1)}`;
    pen = drawable ? "L" : "M";
  });
  return path;
}

function bandPath(chart, xs, los, his) {
  const inside = range(xs.length).filter((i) => xs[i] !== null && Number.isFinite(los[i] ?? NaN) && Number.isFinite(his[i] ?? NaN));
  if (!inside.length) return "";
  const point = (i, value) => `${chart.x(xs[i]).toFixed(1)},${chart.y(value).toFixed(1)}`;
  return `M${inside.map((i) => point(i, his[i])).join("L")}L${inside.reverse().map((i) => point(i, los[i])).join("L")}Z`;
}

// Place of a pointer event in a chart's own pixels.
/** @returns {[x: number, y: number]} in the chart */
function pointerIn(chart, event) {
  const box = chart.svg.getBoundingClientRect();
  return [((event.clientX - box.left) / box.width) * chart.width, ((event.clientY - box.top) / box.height) * chart.height];
}

function showTip(chart, x, y, ...content) {
  const tip = $("#tip"), box = chart.svg.getBoundingClientRect();
  tip.replaceChildren(...content);
  tip.hidden = false;
  const [left, top] = [box.left + (x / chart.width) * box.width, box.top + (y / chart.height) * box.height];
  const right = left + 16 + tip.offsetWidth > window.innerWidth - 6;
  tip.style.left = `${Math.max(6, right ? left - 16 - tip.offsetWidth : left + 16)}px`;
  tip.style.top = `${Math.max(6, Math.min(top - tip.offsetHeight / 2, window.innerHeight - tip.offsetHeight - 6))}px`;
}
const hideTip = () => { $("#tip").hidden = true; };

// A line or marker beside words, for legends.
function legendItem(words, ...shapes) {
  return make("span", {}, draw("svg", { width: 22, height: 14, viewBox: "-11 -7 22 14", "aria-hidden": "true" }, ...shapes), words);
}
const legendLine = (words, colour, kind = "") =>
  legendItem(words, draw("line", { x1: -11, x2: 11, class: `line ${kind}`, style: `stroke:${colour}` }));
const legendBand = (words, colour) =>
  legendItem(words, draw("rect", { x: -11, y: -6, width: 22, height: 12, class: "band", style: `fill:${colour}` }));
const legendRule = (task, rule) =>
  legendItem(ruleName(rule), draw("path", { d: ruleShape(task, rule, 5), style: `fill:${ruleColour(task, rule)}` }));
