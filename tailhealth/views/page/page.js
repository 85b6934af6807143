"use strict";
// Draws the figures of a tailhealth report from the JSON in the page. Text is set as text only; there is no HTML from data.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const scale = document.getElementById("scale");
  const ROW = 190, GAP = 46, TOP = 84, BOTTOM = 48, LOWEST = 0.0005;
  const BAND = 0.14; // of a row's height is kept free above the points, for the decisions
  const MOST_OPEN = 6; // a browser keeps some 16 WebGL contexts, and a figure takes two
  const SYMBOLS = {header: "circle", at_least: "triangle-up", total: "square", unknown: "x"};
  const ACTIONS = {eject: "triangle-down", readmit: "triangle-up", withheld: "diamond", recovered: "star"};
  const ACTION_COLORS = {eject: "out", readmit: "readmit", withheld: "withheld", recovered: "recovered"};
  const KINDS = {abandoned: "abandoned by the client", timed_out: "timed out", no_answer: "no answer", total_slow: "slow in all",
    abandoned_early: "abandoned early", client_left: "client left"};
  const ASIDE = {while_out: "did not count: it began while the upstream was out",
    before_action: "did not count: it began before the upstream was acted on"};
  const SHOWN = {header: "header after ", at_least: "no header; it waited ", total: "whole duration ", unknown: ""};
  const webgl = (() => {
    const context = document.createElement("canvas").getContext("webgl");
    if (context) context.getExtension("WEBGL_lose_context")?.loseContext();
    return Boolean(context);
  })();
  const figures = [];
  let logarithmic = true;

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const date = (at) => new Date((at + data.offset) * 1000).toISOString().slice(0, -1);
  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const numbers = (kind, text) => new kind(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
  const tall = (count) => TOP + count * ROW + (count - 1) * GAP + BOTTOM;
  const kindName = (kind) => KINDS[kind] || kind.replace(/_/g, " ");

  function lasted(seconds) {
    if (seconds < 1) return (seconds * 1000).toPrecision(3) * 1 + " ms";
    if (seconds < 100) return seconds.toPrecision(3) * 1 + " s";
    const whole = Math.round(seconds), minutes = Math.floor(whole / 60);
    return minutes >= 60 ? Math.floor(minutes / 60) + " h " + minutes % 60 + " min" : minutes + " min " + whole % 60 + " s";
  }

  // Points

  function unpack(series) {
    if (series.points) return series.points;
    const ended = numbers(Float64Array, series.ended), seconds = numbers(Float32Array, series.seconds);
    const status = numbers(Uint16Array, series.status), route = series.route ? numbers(Uint16Array, series.route) : null;
    // Without WebGL each point is an element of its own: of what is not bad, a few thousand must do.
    const step = webgl || series.verdict === "bad" ? 1 : Math.ceil(series.kept / 2000);
    const x = [], y = [], index = [];
    for (let i = 0; i < ended.length; i += step) {
      x.push((ended[i] + data.offset) * 1000);
      y.push(seconds[i]);
      index.push(i);
    }
    series.points = {x, y, index, ended, seconds, status, route};
    return series.points;
  }

  function seriesColor(series) {
    return color(series.verdict === "bad" ? series.kind : series.verdict === "good" ? "good" : "ignored") || color("status");
  }

  function pointTrace(series, axis, told, floor) {
    const points = unpack(series), bad = series.verdict === "bad", tint = seriesColor(series);
    // What has no place on a logarithmic axis stands at its foot; the tip tells the true figure.
    const y = logarithmic ? points.y.map((seconds) => Math.max(seconds, floor)) : points.y;
    const many = series.kept > 4000, group = series.verdict + " " + series.kind, first = !told.has(group);
    told.add(group);
    return {
      type: webgl ? "scattergl" : "scatter", mode: "markers", x: points.x, y, xaxis: "x", yaxis: axis,
      name: (bad ? "bad: " : series.verdict === "ignored" ? "ignored: " : "") + kindName(series.kind), legendgroup: group,
      showlegend: first, hoverinfo: "none", meta: series,
      marker: {symbol: SYMBOLS[series.shown] + (series.aside ? "-open" : ""), color: tint, size: bad ? (many ? 6 : 8) : many ? 3.5 : 5,
        opacity: bad ? 0.9 : series.aside ? 0.5 : 0.55, line: {width: series.aside ? 1.2 : 0, color: tint}},
    };
  }

  function decisionTrace(upstream, axis) {
    return {
      type: "scatter", mode: "markers", x: upstream.decisions.map((one) => (one.at + data.offset) * 1000),
      y: upstream.decisions.map(() => 1 - BAND / 2), xaxis: "x", yaxis: axis, showlegend: false, hoverinfo: "none", cliponaxis: false,
      meta: upstream, name: "decisions",
      marker: {symbol: upstream.decisions.map((one) => ACTIONS[one.action]), size: 13,
        color: upstream.decisions.map((one) => color(ACTION_COLORS[one.action])), line: {width: 1.5, color: color("surface")}},
    };
  }

  // Layout

  // The lowest and the highest value that a figure shows: of what was answered, of every wait, and of the thresholds near them.
  function heights(figure) {
    if (figure.heights) return figure.heights;
    let low = Infinity, high = 0;
    for (const series of figure.upstreams.flatMap((one) => one.series)) {
      for (const seconds of unpack(series).seconds) {
        if (seconds > high) high = seconds;
        if (seconds < low && seconds > 0 && series.shown === "header") low = seconds;
      }
    }
    high = high || 1;
    for (const line of figure.lines) if (line.seconds < high * 20) high = Math.max(high, line.seconds);
    low = Math.max(LOWEST, Math.min(low, high / 4) / 2);
    figure.heights = [low, high];
    return figure.heights;
  }

  function ranges(figure) {
    const [low, high] = heights(figure), free = 1 - BAND - 0.04;
    if (!logarithmic) return [0, high / free];
    return [Math.log10(low), Math.log10(low) + Math.log10(high / low) / free];
  }

  const axisName = (letter, number) => letter + (number === 1 ? "" : number);
  const layoutName = (number) => "yaxis" + (number === 1 ? "" : number);

  function shapes(figure) {
    const found = [];
    figure.upstreams.forEach((upstream, row) => {
      const axis = axisName("y", row + 1);
      for (const [stage, since, until] of upstream.spans) {
        found.push({type: "rect", xref: "x", yref: axis + " domain", x0: date(since), x1: date(until), y0: 0, y1: 1, layer: "below",
          name: stage, fillcolor: color(stage), opacity: stage === "out" ? 0.2 : 0.16, line: {width: 0}});
      }
      for (const line of figure.lines) {
        found.push({type: "line", xref: "paper", yref: axis, x0: 0, x1: 1, y0: line.seconds, y1: line.seconds, name: line.name,
          line: {width: 1.5, color: color(line.name === "slower_than" ? "slow" : "soft"),
            dash: line.name === "slower_than" ? "dash" : "dot"},
          label: {text: escaped(line.text), textposition: "end", yanchor: line.name === "slower_than" ? "bottom" : "top", padding: 3,
            font: {size: 11, color: color("soft")}}});
      }
    });
    return found;
  }

  function layout(figure) {
    const count = figure.upstreams.length, inner = tall(count) - TOP - BOTTOM, text = color("text");
    const result = {
      height: tall(count), margin: {l: 66, r: 20, t: TOP, b: BOTTOM}, hovermode: "closest", dragmode: "zoom",
      paper_bgcolor: color("surface"), plot_bgcolor: color("surface"), font: {family: "system-ui, sans-serif", size: 12, color: text},
      legend: {orientation: "h", x: 0, y: 1 + 30 / inner, yanchor: "bottom", itemsizing: "constant", font: {color: text}},
      xaxis: {type: "date", range: [date(data.start), date(data.end)], anchor: axisName("y", count), gridcolor: color("grid"),
        linecolor: color("edge"), tickcolor: color("edge"), showline: true, ticks: "outside"},
      shapes: shapes(figure), annotations: [], uirevision: "kept",
    };
    figure.upstreams.forEach((upstream, row) => {
      const top = 1 - row * (ROW + GAP) / inner, number = row + 1, under = axisName("y", number);
      result[layoutName(number)] = {domain: [Math.max(0, top - ROW / inner), top], type: logarithmic ? "log" : "linear",
        gridcolor: color("grid"), zeroline: false, range: ranges(figure), ...ticks(figure), ...(row ? {matches: "y"} : {})};
      result[layoutName(count + number)] = {overlaying: under, range: [0, 1], fixedrange: true, visible: false};
      result.annotations.push({text: "<b>" + escaped(upstream.name) + "</b>", xref: "paper", yref: "paper", x: 0, y: top,
        xanchor: "left", yanchor: "bottom", showarrow: false, yshift: 4, font: {size: 13, color: text}});
    });
    return result;
  }

  const DECADES = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36000];
  const FINE = [...[0.001, 0.01, 0.1].flatMap((one) => [one, 2 * one, 5 * one]), 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200];

  function ticks(figure) {
    if (!logarithmic) return {tickmode: "auto", ticksuffix: " s"};
    const [low, high] = heights(figure), values = high / low > 500 ? DECADES : FINE;
    return {tickmode: "array", tickvals: values, ticktext: values.map(short)};
  }

  const short = (seconds) => seconds < 1 ? seconds * 1000 + " ms" : seconds < 60 ? seconds + " s" : seconds / 60 + " min";

  function traces(figure) {
    const [floor] = heights(figure), found = [], told = new Set(), count = figure.upstreams.length;
    figure.upstreams.forEach((upstream, row) => {
      const order = {good: 0, ignored: 1, bad: 2};
      const sorted = [...upstream.series].sort((a, b) => order[a.verdict] - order[b.verdict]);
      for (const series of sorted) found.push(pointTrace(series, axisName("y", row + 1), told, floor));
    });
    figure.upstreams.forEach((upstream, row) => {
      if (upstream.decisions.length) found.push(decisionTrace(upstream, axisName("y", count + row + 1)));
    });
    return found;
  }

  // Hover

  function line(tag, text) {
    const element = document.createElement(tag);
    element.textContent = text;
    return element;
  }

  function explain(point) {
    const trace = point.data, about = trace.meta;
    if (about.decisions) {
      const one = about.decisions[point.pointNumber];
      return [line("b", one.title), line("span", about.name + " " + one.text), ...one.evidence.map((text) => line("div", text))];
    }
    const points = about.points, i = points.index[point.pointNumber], status = points.status[i];
    const found = [line("b", trace.name + (status ? ", " + status : ""))];
    if (about.shown !== "unknown") found.push(line("span", SHOWN[about.shown] + lasted(points.seconds[i])));
    if (points.route && points.route[i]) found.push(line("div", data.routes[points.route[i]]));
    found.push(line("div", "ended " + date(points.ended[i]).replace("T", " ")));
    if (about.aside) found.push(line("div", ASIDE[about.aside]));
    return found;
  }

  function showTip(event) {
    tip.replaceChildren(...explain(event.points[event.points.length - 1]));
    tip.hidden = false;
    const x = event.event.clientX, y = event.event.clientY, box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, x + 16 + box.width > innerWidth ? x - box.width - 16 : x + 16) + "px";
    tip.style.top = Math.max(4, Math.min(y + 12, innerHeight - box.height - 8)) + "px";
  }

  // Figures

  // The buttons are named one by one: plotly's own set has one that would send the chart away.
  const BUTTONS = ["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"];
  const CONFIG = {displaylogo: false, responsive: true, modeBarButtons: [BUTTONS]};

  function draw(figure) {
    return Plotly.react(figure.plot, traces(figure), layout(figure), CONFIG).then(() => {
      if (figure.box.dataset.drawn) return;
      figure.box.dataset.drawn = "yes";
      figure.plot.on("plotly_hover", showTip);
      figure.plot.on("plotly_unhover", () => { tip.hidden = true; });
    });
  }

  function erase(figure) {
    if (figure.drawn) Plotly.purge(figure.plot);
    figure.drawn = false;
    delete figure.box.dataset.drawn;
  }

  function toggled(figure) {
    if (!figure.box.open) {
      erase(figure);
    } else if (!figure.drawn) {
      const open = figures.filter((one) => one.drawn);
      if (open.length >= MOST_OPEN) open[0].box.open = false;
      figure.drawn = true;
      draw(figure);
    }
  }

  function add(figure, number) {
    const box = document.createElement("details"), title = document.createElement("summary");
    const points = figure.upstreams.flatMap((one) => one.series), sum = (key) => points.reduce((all, one) => all + one[key], 0);
    const seen = sum("seen"), kept = sum("kept");
    title.append(line("span", figure.pool), line("small", kept < seen
      ? `${kept.toLocaleString("en")} points of ${seen.toLocaleString("en")} attempts, every bad one among them`
      : `${seen.toLocaleString("en")} attempts`));
    figure.plot = document.createElement("div");
    figure.plot.className = "plot";
    figure.plot.style.minHeight = tall(figure.upstreams.length) + "px";
    figure.box = box;
    box.className = "figure";
    box.append(title, figure.plot);
    document.getElementById("plots").append(box);
    figures.push(figure);
    box.addEventListener("toggle", () => toggled(figure));
    box.open = number < 3;
  }

  const redraw = () => Promise.all(figures.filter((one) => one.drawn).map(draw));
  const zoom = (range) => Promise.all(figures.filter((one) => one.drawn).map((one) => Plotly.relayout(one.plot, range(one))));

  data.figures.forEach(add);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  scale.addEventListener("click", () => {
    logarithmic = !logarithmic;
    scale.textContent = logarithmic ? "logarithmic" : "linear";
    for (const figure of figures.filter((one) => one.drawn)) {
      erase(figure);
      toggled(figure);
    }
  });
  document.getElementById("whole").addEventListener("click", () => 
    zoom((figure) => ({"xaxis.range": [date(data.start), date(data.end)], "yaxis.range": ranges(figure)})));
  document.querySelectorAll("[data-at]").forEach((button) => button.addEventListener("click", () => {
    const at = Number(button.dataset.at), around = Math.max(30, Math.min(600, (data.end - data.start) / 8));
    zoom(() => ({"xaxis.range": [date(at - around), date(at + around)]}));
    document.getElementById("plots").scrollIntoView({behavior: "smooth"});
  }));
})();
