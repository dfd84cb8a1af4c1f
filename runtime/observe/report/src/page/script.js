'use strict';
// Tables whose headings are buttons are sorted by them: numbers by their values, texts by the alphabet.
for (const table of document.querySelectorAll('table.sorts')) {
  const said = document.getElementById('said');
  table.querySelectorAll('thead th').forEach((heading, column) => {
    const button = heading.querySelector('button');
    if (!button) return;
    button.addEventListener('click', () => {
      const down = heading.getAttribute('aria-sort') !== 'descending';
      for (const other of table.querySelectorAll('thead th')) other.removeAttribute('aria-sort');
      heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const body = table.tBodies[0];
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const isNumber = heading.classList.contains('number');
      const order = (a, b) =>
        isNumber ? Number(value(a)) - Number(value(b)) : value(a).localeCompare(value(b));
      const rows = [...body.rows].sort((a, b) => down ? order(b, a) : order(a, b));
      body.append(...rows);
      said.textContent = `Sorted by ${button.textContent}, ${down ? 'greatest first' : 'least first'}.`;
    });
  });
}
// All pictures over time show the same part of the run, the whole at first: buttons, so that a keyboard can,
// and a click into a picture.
const charts = [...document.querySelectorAll('svg[data-bin]')];
const zoom = document.getElementById('zoom');
const axes = [...document.querySelectorAll('.below[data-zoom]')];
const whole = Number(axes[0]?.dataset.zoom ?? 0);
if (zoom && charts.length && whole > 0) {
  let [from, until] = [0, whole];
  const time = (ps) => {
    const [scale, unit] = [[1e12, 's'], [1e9, 'ms'], [1e6, 'us'], [1e3, 'ns'], [1, 'ps']]
      .find(([scale]) => ps >= scale) ?? [1, 's'];
    return `${Number((ps / scale).toPrecision(4))} ${unit}`;
  };
  const show = (middle, length) => {
    // Not below eight stretches of the finest picture: there is nothing more to see.
    const least = Math.min(whole, 8 * Math.min(...charts.map((chart) => Number(chart.dataset.bin))));
    length = Math.min(whole, Math.max(least, length));
    from = Math.min(whole - length, Math.max(0, middle - length / 2));
    until = from + length;
    for (const chart of charts) {
      const bin = Number(chart.dataset.bin);
      chart.setAttribute('viewBox', `${from / bin} 0 ${length / bin} 1000`);
    }
    // Marks at round times, as axis.rs has them of the whole run.
    const power = 10 ** Math.floor(Math.log10(length / 8));
    const step = [1, 2, 5, 10].map((times) => times * power).find((step) => length / step <= 8);
    for (const axis of axes) {
      axis.replaceChildren();
      for (let mark = Math.ceil(from / step); mark * step <= until; mark += 1) {
        const span = document.createElement('span');
        span.style.left = `${100 * (mark * step - from) / length}%`;
        span.textContent = mark === 0 ? '0 s' : time(mark * step);
        axis.append(span);
      }
    }
    document.getElementById('said').textContent = `Shows ${time(from)} to ${time(until)}.`;
  };
  const middle = () => (from + until) / 2;
  const length = () => until - from;
  for (const [name, act] of [
    ['Zoom in', () => show(middle(), length() / 2)],
    ['Zoom out', () => show(middle(), length() * 2)],
    ['Earlier', () => show(middle() - length() / 2, length())],
    ['Later', () => show(middle() + length() / 2, length())],
    ['All', () => show(whole / 2, whole)],
  ]) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name;
    button.addEventListener('click', act);
    zoom.append(button);
  }
  for (const chart of charts) {
    chart.addEventListener('click', (event) => {
      const place = chart.getBoundingClientRect();
      show(from + length() * (event.clientX - place.left) / place.width, length() / 2);
    });
  }
  show(whole / 2, whole);
  document.getElementById('said').textContent = '';
}
