// The wall's search and the copying of code. A plain script: pages work from the file system.
(function () {
  'use strict';
  var search = document.getElementById('search');
  var tiles = Array.prototype.slice.call(document.querySelectorAll('.tile'));
  var buttons = Array.prototype.slice.call(document.querySelectorAll('.tag'));
  var chosen = null;

  function update() {
    var words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    var count = 0;
    tiles.forEach(function (tile) {
      var text = tile.dataset.words;
      var fits =
        words.every(function (word) {
          return text.indexOf(word) >= 0;
        }) &&
        (chosen === null || tile.dataset.tags.split(' ').indexOf(chosen) >= 0);
      tile.hidden = !fits;
      count += fits ? 1 : 0;
    });
    document.querySelectorAll('main > section:not(.broken)').forEach(function (section) {
      section.hidden = !section.querySelector('.tile:not([hidden])');
    });
    document.getElementById('nothing').hidden = count > 0;
  }

  if (search) {
    search.addEventListener('input', update);
    buttons.forEach(function (button) {
      button.addEventListener('click', function () {
        chosen = chosen === button.dataset.tag ? null : button.dataset.tag;
        buttons.forEach(function (other) {
          other.setAttribute('aria-pressed', String(other.dataset.tag === chosen));
        });
        update();
      });
    });
  }

  document.querySelectorAll('.copy').forEach(function (button) {
    button.addEventListener('click', function () {
      var code = button.parentNode.querySelector('pre');
      var selection = window.getSelection();
      selection.selectAllChildren(code);
      var done = false;
      try {
        done = document.execCommand('copy');
      } catch (error) {
        done = false;
      }
      button.textContent = done ? 'Copied' : 'Press Ctrl+C';
      setTimeout(function () {
        button.textContent = 'Copy';
      }, 2000);
    });
  });
})();
