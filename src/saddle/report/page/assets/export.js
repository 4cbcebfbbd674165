// Charts as files (SVG, PNG), tables as CSV. Nothing leaves the page but to the reader's own disk.

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity", "font-size", "font-family", "visibility"];
const SHARP = 2; // pixels of a PNG for each of the chart

// Buttons below every chart and every table.
function addExports(state) {
  for (const host of document.querySelectorAll(".chart")) {
    const kinds = [["SVG", () => saveSvg(state, host)], ["PNG", () => savePng(state, host)]];
    host.after(exportButtons(host, kinds));
  }
  for (const host of document.querySelectorAll(".scroll")) host.after(exportButtons(host, [["CSV", () => saveCsv(state, host)]]));
}

function exportButtons(host, kinds) {
  const buttons = kinds.map(([kind, save]) => make("button", { type: "button", text: kind, "aria-label": `Save ${host.id} as ${kind}`, onclick: save }));
  return make("div", { class: "exports" }, ...buttons);
}

const fileName = (state, host, ending) => `${state.task.task}-${host.id}.${ending}`;

function saveFile(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// A chart's drawings, one below the other, with the colours that they have on the page.
function picture(host) {
  const drawings = [...host.querySelectorAll(":scope > svg")];
  const sizes = drawings.map((svg) => svg.getAttribute("viewBox").split(" ").slice(2).map(Number));
  const width = Math.max(...sizes.map((size) => size[0])), height = sizes.reduce((sum, size) => sum + size[1], 0);
  const whole = draw("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` });
  whole.append(draw("rect", { width, height, fill: getComputedStyle(document.body).backgroundColor }));
  let top = 0;
  drawings.forEach((svg, i) => {
    const copy = svg.cloneNode(true);
    const [from, to] = [svg, copy].map((root) => [...root.querySelectorAll("*")]);
    from.forEach((element, j) => settle(element, to[j]));
    fill(copy, { y: top, width: sizes[i][0], height: sizes[i][1] }, []);
    whole.append(copy);
    top += sizes[i][1];
  });
  return { width, height, text: new XMLSerializer().serializeToString(whole) };
}

function settle(element, copy) {
  const look = getComputedStyle(element);
  copy.removeAttribute("fill"); // which may name a colour of the page
  copy.setAttribute("style", LOOKS.map((name) => `${name}:${look.getPropertyValue(name)}`).join(";"));
}

function saveSvg(state, host) {
  saveFile(fileName(state, host, "svg"), "image/svg+xml", picture(host).text);
}

function savePng(state, host) {
  const { width, height, text } = picture(host);
  const image = new Image(), canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [SHARP * width, SHARP * height];
  image.onload = () => {
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => saveFile(fileName(state, host, "png"), "image/png", blob));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

// Columns without a head hold buttons. A number with an interval becomes three columns, with all its digits.
function csv(host) {
  const rows = [...host.querySelectorAll("tr")].map((row) => [...row.children]);
  const [heads, ...body] = rows;
  const columns = range(heads.length).filter((i) => heads[i].textContent.trim());
  const isExact = (cell) => cell?.querySelector("[data-value]");
  const exact = new Set(columns.filter((i) => body.some((row) => isExact(row[i]))));
  const lines = [columns.flatMap((i) => (exact.has(i) ? ["", " lo", " hi"].map((end) => heads[i].textContent + end) : [heads[i].textContent]))];
  for (const row of body) lines.push(columns.flatMap((i) => (exact.has(i) ? threeOf(row[i]) : [row[i].textContent])));
  return lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
}

function threeOf(cell) {
  const found = cell.querySelector("[data-value]")?.dataset;
  return found ? [found.value, found.lo ?? "", found.hi ?? ""] : [cell.textContent, "", ""];
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function saveCsv(state, host) {
  saveFile(fileName(state, host, "csv"), "text/csv", csv(host));
}
