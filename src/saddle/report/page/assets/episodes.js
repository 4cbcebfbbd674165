// What the agent does at several settings of its dial, the one nearest to this limit's λ* marked.

function showEpisodes(state) {
  const { episodes } = state.task;
  $("#episodes-box").hidden = !episodes;
  if (!episodes) return;
  const wanted = state.finding?.lambda.value ?? null;
  const far = (one) => Math.abs(Math.log(one.lambda / wanted));
  const nearest = wanted > 0 ? episodes.reduce((best, one) => (far(one) < far(best) ? one : best)) : null;
  $("#episodes").replaceChildren(...episodes.map((one) => episodeFigure(one, one === nearest)));
}

function episodeFigure(one, nearest) {
  const words = `λ ${plain(one.lambda)}: return ${plain(one.return)}, cost ${plain(one.cost)}`;
  const picture = make("img", { src: one.picture, alt: `An episode from above at ${words}`, width: 240, height: 240 });
  const caption = make("figcaption", { text: nearest ? `${words}, nearest to λ* at this limit` : words });
  return make("figure", { "aria-current": nearest ? "true" : null }, picture, caption);
}
