# Chromium, if possible the one without windows, which loads a page in half the time; Graphviz; and the editor.
set -eu
bash tests/install.sh dot graphviz
bash tests/install.sh chromium-headless-shell chromium-headless-shell || bash tests/install.sh chromium chromium
(cd extension && jlpm install --immutable && jlpm build)
