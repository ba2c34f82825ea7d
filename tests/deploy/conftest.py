"""nginx is Debian's; where it is not installed, the tests that need it say so, and on a build machine they fail."""

import os
import shutil

import pytest


@pytest.fixture(scope="session", autouse=True)
def installed_nginx() -> None:
    if shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin"):
        return
    reason = "nginx is not installed: apt-get install nginx-light"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
