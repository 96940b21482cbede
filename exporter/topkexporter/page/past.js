// What the page remembers of one list since it was opened: where its keys stood before, and their last estimates.
const mostPoints = 60; // of a line

class Past {
  #name = ''; // of the list
  #asOf = null;
  #places = null; // rank by key, of the list
  #before = null; // of the one before it
  #lines = new Map(); // estimates by key, the newest last; null where the key was not listed

  // take a list; name says which one it is, so that another one begins anew.
  take(name, list) {
    if (name !== this.#name) {
      this.#name = name;
      this.#asOf = this.#places = this.#before = null;
      this.#lines.clear();
    }
    if (list.as_of === this.#asOf) return;
    this.#asOf = list.as_of;
    this.#before = this.#places;
    this.#places = new Map(list.items.map(i => [i.key, i.rank]));
    const points = Math.max(0, ...[...this.#lines.values()].map(l => l.length));
    for (const {key, estimate} of list.items) {
      if (!this.#lines.has(key)) this.#lines.set(key, Array(points).fill(null));
      this.#lines.get(key).push(estimate);
    }
    for (const [key, line] of this.#lines) {
      if (line.length === points) line.push(null);
      if (line.length > mostPoints) line.shift();
      if (line.every(v => v === null)) this.#lines.delete(key);
    }
  }

  // change of a key's place since the list before: up is more than 0; null: it is new; undefined: there was no list before.
  change(key) {
    if (!this.#before) return undefined;
    const before = this.#before.get(key);
    return before === undefined ? null : before - this.#places.get(key);
  }

  line(key) { return this.#lines.get(key) ?? []; }
}

const line = {width: 80, height: 20}; // of the svg's view box

// draw the estimates of a key into an svg, from 0 at its foot.
function draw(svg, estimates) {
  const most = Math.max(1, ...estimates);
  const step = line.width / (Math.max(estimates.length, 12) - 1);
  const runs = [[]];
  estimates.forEach((v, i) => {
    if (v === null) runs.push([]);
    else runs.at(-1).push(`${(line.width - (estimates.length - 1 - i) * step).toFixed(1)},${(line.height - 1 - v / most * (line.height - 2)).toFixed(1)}`);
  });
  const drawn = runs.filter(r => r.length > 1);
  while (svg.children.length > drawn.length) svg.lastElementChild.remove();
  while (svg.children.length < drawn.length) svg.append(document.createElementNS(svg.namespaceURI, 'polyline'));
  drawn.forEach((run, i) => svg.children[i].setAttribute('points', run.join(' ')));
}
