// Elements, numbers as text, colours.

const $ = (selector) => document.querySelector(selector);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// Three digits, or all of them before the point: as `saddle analyze` prints.
function plain(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) < 1000 ? String(Number(value.toPrecision(3))) : value.toFixed(0);
}
const percent = (value) => (value === null ? "–" : `${Math.round(100 * value)} %`);

function interval(estimate, text = plain) {
  if (estimate.value === null || (estimate.lo === null && estimate.hi === null)) return "";
  return `[${estimate.lo === null ? "…" : text(estimate.lo)}, ${estimate.hi === null ? "…" : text(estimate.hi)}]`;
}

// A value and its interval, in a sentence.
const ranged = (estimate, text = plain) => [text(estimate.value), interval(estimate, text)].filter(Boolean).join(" ");

/** @type {[number, string][]} */
const UNITS = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];

function steps(value) {
  for (const [size, unit] of UNITS) if (value >= size) return plain(value / size) + unit;
  return plain(value);
}

const range = (count) => Array.from({ length: count }, (_, i) => i);
const known = (values) => values.filter((value) => value !== null && value !== undefined && Number.isFinite(value));
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function deviation(values) {
  if (values.length < 2) return 0;
  const middle = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
}

// Viridis at nine places.
const VIRIDIS = ["440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725"].map((hex) =>
  [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)),
);

function viridis(share) {
  const place = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const left = Math.min(Math.floor(place), VIRIDIS.length - 2);
  const mixed = VIRIDIS[left].map((a, i) => Math.round(a + (VIRIDIS[left + 1][i] - a) * (place - left)));
  return `rgb(${mixed.join(" ")})`;
}

// data.rules has the label of every rule that Saddle knows; settings may stand behind a rule's name.
function ruleName(rule) {
  const [name, ...settings] = rule.split(" ");
  return [data.rules[name] ?? name.replaceAll("_", " "), ...settings].join(" ");
}

// The first ten rules that Saddle knows have a colour each; all others share four.
const OWN_COLOURS = 10, SHARED_COLOURS = [10, 4, 5, 9];
function ruleOrder(task) {
  const known = Object.keys(data.rules);
  const others = [...new Set(task.comparison.map((cell) => cell.rule))].filter((rule) => !known.includes(rule));
  return [...known, ...others.sort()];
}
function ruleColour(task, rule) {
  const place = ruleOrder(task).indexOf(rule);
  const shared = SHARED_COLOURS[(place - OWN_COLOURS) % SHARED_COLOURS.length];
  return `var(--rule${place < OWN_COLOURS ? place : shared})`;
}

const SHAPES = [
  (r) => `M${-r},${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  (r) => `M0,${-1.25 * r}L${1.2 * r},${r}H${-1.2 * r}z`,
  (r) => `M0,${-1.4 * r}L${1.4 * r},0L0,${1.4 * r}L${-1.4 * r},0z`,
  (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`,
  (r) => `M0,${1.25 * r}L${1.2 * r},${-r}H${-1.2 * r}z`,
  (r) => `M${-1.25 * r},0L${r},${1.2 * r}V${-1.2 * r}z`,
  (r) => `M${1.25 * r},0L${-r},${1.2 * r}V${-1.2 * r}z`,
];
const ruleShape = (task, rule, r) => SHAPES[ruleOrder(task).indexOf(rule) % SHAPES.length](r);

function lambdaColour(task) {
  const lambdas = task.groups.map((group) => group.lambda).filter((lambda) => lambda > 0);
  const [low, high] = [Math.log(Math.min(...lambdas)), Math.log(Math.max(...lambdas))];
  return (lambda) => viridis(lambda > 0 && high > low ? (Math.log(lambda) - low) / (high - low) : 0);
}

const isSweep = (series) => series.limit === null;
const othersOf = (series) => (series.others?.length ? ` (others ${series.others.map(plain).join(", ")})` : "");
const nameOf = (series) => (isSweep(series) ? `λ = ${plain(series.lambda)}${othersOf(series)}` : `${ruleName(series.rule)} at limit ${plain(series.limit)}`);
