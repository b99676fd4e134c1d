"""Writes the script that draws the pictures of a page: python docs/vega.py writes the file that `report` ships.

vl-convert bundles Vega, Vega-Lite and Vega-Embed. That takes seconds and an address space of more than 40 GB, and gives
the same script each time. Run this program after a new version of vl-convert-python.
"""

import lzma

import vl_convert

from lemmata.interfaces.report import VEGA

LICENCE = """/*! Vega, Vega-Lite, Vega-Embed and Vega-Tooltip. Bundled by vl-convert-python {version}.
Copyright (c) 2015-2023, University of Washington Interactive Data Lab and contributors. All rights reserved.
Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
following conditions are met:
1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following
disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following
disclaimer in the documentation and/or other materials provided with the distribution.
3. Neither the name of the copyright holder nor the names of its contributors may be used to endorse or promote products
derived from this software without specific prior written permission.
THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES,
INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL,
SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY,
WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF
THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
It holds D3 (https://d3js.org), copyright 2010-2023 Mike Bostock, under the ISC licence: permission to use, copy,
modify, and/or distribute this software for any purpose with or without fee is hereby granted, provided that the above
copyright notice and this permission notice appear in all copies. */
"""


def script() -> str:
    """The licences and the bundle, which cannot close the element that it stands in."""
    newest = vl_convert.get_vegalite_versions()[-1]
    text = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=newest)
    text = text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return LICENCE.format(version=vl_convert.__version__) + text


if __name__ == "__main__":
    VEGA.write_bytes(lzma.compress(script().encode(), preset=9 | lzma.PRESET_EXTREME))
