# A web server of ranges.
set -eu
bash tests/install.sh nginx nginx-light
