/* Charts come alive where they are seen: tooltips, and a menu with SVG, PNG and CSV. Nothing is fetched. */
const pictures = JSON.parse(document.getElementById("specs").textContent);

function csvOf(spec, columns) {
  const values = (spec.data || (spec.hconcat && spec.hconcat[0].data) || {}).values;
  if (!values || !values.length) return null;
  const names = columns || Object.keys(values[0]);
  /* A cell that a spreadsheet would run as a formula is written as text. */
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    const safe = typeof value === "string" && /^[=+\-@]/.test(text) ? "'" + text : text;
    return /[",\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
  };
  const lines = [names, ...values.map((row) => names.map((name) => row[name]))];
  return "data:text/csv;charset=utf-8," + encodeURIComponent(lines.map((line) => line.map(cell).join(",")).join("\n") + "\n");
}

function fitted(spec, room) {
  const copy = JSON.parse(JSON.stringify(spec));
  if (copy.facet) copy.columns = Math.max(1, Math.floor(room / 300));
  if (copy.facet && room < 560) {
    copy.spec.width = Math.min(250, room - 110);
    for (const channel of Object.values(copy.spec.encoding || {})) if (channel.legend) channel.legend.columns = 1;
  }
  if (copy.layer) {
    copy.width = room - (room < 560 ? 8 : 46);
    copy.autosize = { type: "fit-x", contains: "padding" };
    const narrow = room < 560;
    if (narrow) copy.height = 260;
    for (const layer of copy.layer) {
      const legend = layer.encoding && layer.encoding.color && layer.encoding.color.legend;
      /* The table below has the same colours. */
      if (legend && narrow) layer.encoding.color.legend = null;
    }
  }
  if (copy.hconcat && room < 860) {
    copy.vconcat = copy.hconcat;
    delete copy.hconcat;
    for (const part of copy.vconcat) part.width = Math.min(420, room - 110);
    for (const part of copy.vconcat) { const legend = part.encoding.color.legend; if (legend && room < 560) legend.columns = 1; }
  }
  return copy;
}

function show(place) {
  if (place.dataset.shown || !place.clientWidth || place.closest("details:not([open])")) return;
  place.dataset.shown = "1";
  const name = place.id.slice("chart-".length);
  const { spec, csv } = pictures[name];
  const still = place.innerHTML;
  /* The page allows no code that is made from a text: Vega interprets its expressions. */
  const options = { renderer: "svg", ast: true, downloadFileName: name, actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false } };
  vegaEmbed(place, fitted(spec, place.clientWidth), options)
    .then(() => {
      const drawn = place.querySelector(".chart-wrapper");
      if (drawn) { drawn.setAttribute("role", "img"); drawn.setAttribute("aria-label", spec.description); }
      const menu = place.querySelector(".vega-actions");
      const table = csvOf(spec, csv);
      if (!menu || !table) return;
      const link = document.createElement("a");
      link.href = table;
      link.download = name + ".csv";
      link.textContent = "Save as CSV";
      menu.append(link);
    })
    .catch((error) => { place.innerHTML = still; place.dataset.failed = String(error); });
}

const places = document.querySelectorAll(".chart");
places.forEach(show);
document.querySelectorAll("details").forEach((part) => part.addEventListener("toggle", () => part.querySelectorAll(".chart").forEach(show)));
function reveal() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();
