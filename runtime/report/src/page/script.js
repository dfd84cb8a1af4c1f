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
      const order = (a, b) => isNumber ? Number(value(a)) - Number(value(b)) : value(a).localeCompare(value(b));
      const rows = [...body.rows].sort((a, b) => down ? order(b, a) : order(a, b));
      body.append(...rows);
      said.textContent = `Sorted by ${button.textContent}, ${down ? 'greatest first' : 'least first'}.`;
    });
  });
}
