"""The health check of a container: exit code 0 if the app at port 8501 answers."""

import http.client
import sys

__all__ = ["healthy"]


def healthy(port: int = 8501) -> bool:
    """Whether the process at this port of this machine says that it is ready. It asks without a proxy."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/_stcore/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(not healthy())
