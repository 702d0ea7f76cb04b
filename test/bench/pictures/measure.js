// Writes into the page what a test asks of it, as JSON.
const colour = text => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
const luminance = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const behind = e => {
  for (; e; e = e.parentElement) {
    const c = colour(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c;
  }
  return [255, 255, 255];
};
const contrast = (a, b) => {
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
const texts = [];
const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
for (let n = walk.nextNode(); n; n = walk.nextNode()) {
  const e = n.parentElement;
  if (n.data.trim() && e.checkVisibility()) {
    const range = document.createRange();
    range.selectNodeContents(n);
    const box = range.getBoundingClientRect();
    texts.push({text: n.data.trim().slice(0, 200), width: box.width, left: box.left, right: box.right, size: parseFloat(getComputedStyle(e).fontSize),
      contrast: contrast(colour(getComputedStyle(e).color), behind(e)), scrolls: !!e.closest(".wide,pre")});
  }
}
const fills = {};
for (const p of document.querySelectorAll("svg path")) fills[p.getAttribute("class")] = getComputedStyle(p).fill;
const track = document.querySelector("#replicas svg, .job svg");
const out = document.createElement("pre");
out.id = "measured";
out.textContent = JSON.stringify({
  scroll: document.documentElement.scrollWidth, inner: innerWidth, dark: matchMedia("(prefers-color-scheme: dark)").matches,
  page: getComputedStyle(document.body).backgroundColor, attempts: document.querySelectorAll(".attempt path").length,
  marks: document.querySelectorAll("#replicas .track u").length, rows: document.querySelectorAll(".labels span").length,
  heads: Math.max(0, ...[...document.querySelectorAll("th")].map(e => e.getBoundingClientRect().height)),
  jobs: document.querySelectorAll("article.job").length, fills, chart: track ? track.getBoundingClientRect().width : 0, texts,
});
document.body.append(out);
