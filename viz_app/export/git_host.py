"""What a Git host needs beside a site to publish it at each push: the pages of GitHub and of GitLab."""

__all__ = ["git_host_files"]

GITHUB = """\
# Publishes this folder at each push. In the settings of the repository, choose Pages, Source: GitHub Actions.
name: Publish the page
on:
  push:
  workflow_dispatch:
permissions:
  contents: read
  pages: write
  id-token: write
concurrency:
  group: pages
jobs:
  pages:
    if: github.ref_name == github.event.repository.default_branch
    runs-on: ubuntu-latest
    environment:
      name: github-pages
      url: ${{ steps.deployment.outputs.page_url }}
    steps:
      - uses: actions/checkout@v6
      - uses: actions/upload-pages-artifact@v5
        with:
          path: .
      - uses: actions/deploy-pages@v5
        id: deployment
"""
GITLAB = """\
# Publishes this folder at each push.
pages:
  script:
    - mkdir .public
    - cp -r * .public
    - mv .public public
  artifacts:
    paths:
      - public
  rules:
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
"""


def git_host_files() -> dict[str, bytes]:
    """Path → contents. A person may change these files, so a site that is published again keeps them."""
    texts = {
        ".github/workflows/pages.yml": GITHUB,
        ".gitlab-ci.yml": GITLAB,
        ".nojekyll": "",  # a host with Jekyll would leave out files
        ".gitattributes": "* -text\n",  # Git must not change ends of lines: the names of the files have their hashes
    }
    return {path: text.encode() for path, text in texts.items()}
