#!/bin/sh
# Run in a checkout, on a machine with a network and with the Python and system of the host that has none.
set -eu
wheelhouse=${1:-wheelhouse}
python3 -m pip wheel --quiet -c constraints.txt --wheel-dir "$wheelhouse" .
(cd "$wheelhouse" && sha256sum -- *.whl > SHA256SUMS)
echo "On the isolated host:"
echo "  (cd wheelhouse && sha256sum --check --quiet SHA256SUMS)"
echo "  python3 -m venv /opt/busbar-audit"
echo "  /opt/busbar-audit/bin/pip install --no-index --find-links wheelhouse busbar-audit"
