// What the agent does at several multipliers: the one nearest to the point of the frontier that is chosen or under the
// pointer is marked, else the one nearest to this limit's λ*.

function drawEpisodes(state) {
  const { episodes } = state.task;
  $("#episodes-box").hidden = !episodes;
  const films = episodes?.some((one) => one.film);
  $("#drawn-how").textContent = films ? "four moments of each, and the whole of the marked one" : "the robot's way, light to dark; red where it paid";
  $("#episodes").replaceChildren(...(episodes ?? []).map((one, i) => episodeFigure(state, one, i)));
}

function markEpisodes(state) {
  const episodes = state.task.episodes ?? [];
  const [wanted, why] = wantedLambda(state);
  const far = (one) => Math.abs(Math.log(one.lambda / wanted));
  const nearest = wanted > 0 && episodes.length ? episodes.reduce((best, one) => (far(one) < far(best) ? one : best)) : null;
  episodes.forEach((one, i) => {
    const figure = $("#episodes").children[i], marked = one === nearest;
    if (marked) figure.setAttribute("aria-current", "true");
    else figure.removeAttribute("aria-current");
    figure.querySelector("figcaption").textContent = marked ? `${wordsOf(one)}, ${why}` : wordsOf(one);
    showFilm(figure.querySelector("img"), one, marked);
  });
}

const wordsOf = (one) => `λ ${plain(one.lambda)}: return ${plain(one.return)}, cost ${plain(one.cost)}`;

// The marked episode moves where it was filmed, unless the reader wants nothing to.
function showFilm(picture, one, marked) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const wanted = marked && one.film && !still ? one.film : one.picture;
  if (picture.src !== wanted) picture.src = wanted;
}

// A multiplier, and what it is.
function wantedLambda(state) {
  const { task, hover, chosen, pointed } = state;
  const point = hover ?? (pointed && chosen.length === 1 ? chosen[0] : null);
  const series = point === null ? null : task.series[point];
  if (series && isSweep(series)) return [series.lambda, `nearest to λ = ${plain(series.lambda)}`];
  return [state.finding?.lambda.value ?? null, "nearest to λ* at this limit"];
}

// A picture chooses the point of the frontier that is nearest to it.
function episodeFigure(state, one, i) {
  const picture = make("img", { src: one.picture, alt: `An episode${one.film ? "" : " from above"} at ${wordsOf(one)}`, width: 240 });
  const button = make("button", { type: "button", "aria-label": `Show λ ${plain(one.lambda)} on the frontier`, onclick: () => chooseEpisode(state, i) }, picture);
  return make("figure", {}, button, make("figcaption", { text: wordsOf(one) }));
}

function chooseEpisode(state, i) {
  const { series, episodes } = state.task;
  const swept = range(series.length).filter((j) => isSweep(series[j]) && series[j].lambda > 0);
  if (!swept.length) return;
  const far = (j) => Math.abs(Math.log(series[j].lambda / episodes[i].lambda));
  choose([swept.reduce((best, j) => (far(j) < far(best) ? j : best))]);
}
