"""Report pages as files, and the browser that opens them, where there is one."""

import json
import re
import shutil

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
NO_CHROMIUM = "no Chromium here; 'apt-get install chromium' adds it"


def page_data(path):
    """What a page holds."""
    found = re.search(r'id="data">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])
