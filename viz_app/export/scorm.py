"""A site as a package for learning platforms: SCORM 1.2, with one object that a platform shows and grades.

The page in it is the page of any site. `live/app/scorm.js`, which only a package has, finds the API of the platform.
A package has no service worker: the platform decides who may open its files.
"""

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from urllib.parse import quote
from xml.etree import ElementTree

from model.config.section import ConfigError
from viz_app.components.bundle import modules
from viz_app.content.catalogues import ENGLISH
from viz_app.content.lesson_texts import lesson_text
from viz_app.content.translation import N_
from viz_app.course.catalogue import LESSONS
from viz_app.export.live_lessons import live_lessons
from viz_app.export.live_page import compact, data_block, integrity, script_of, words_of
from viz_app.export.site import MARK, OFFLINE, Published, hashed, site_files

__all__ = ["MANIFEST", "scorm_package"]

MANIFEST = "imsmanifest.xml"
START = (1980, 1, 1, 0, 0, 0)  # the date of every file, so that the same site is the same package
COURSE = "Headlight"  # the title of all lessons together
NOT_KEPT = N_("The learning platform did not keep your answer. Open this lesson in the platform again.")
NOT_IN_PACKAGE = re.compile(r'<link rel="manifest" href="([^"]+)">\n')  # a frame is not installed as an app
SCHEMAS = {
    "http://www.imsproject.org/xsd/imscp_rootv1p1p2": "imscp_rootv1p1p2.xsd",
    "http://www.adlnet.org/xsd/adlcp_rootv1p2": "adlcp_rootv1p2.xsd",
}


def scorm_package(checkpoints: Sequence[Published], *, lesson: str = "") -> bytes:
    """The zip file of a package.

    Args:
        checkpoints: What the site has.
        lesson: The name of its one lesson; "" for the course of all lessons.

    Raises:
        ConfigError: there is no such lesson, or the checkpoints show no step of it.
    """
    names = [one.name for one in LESSONS]
    if lesson and lesson not in names:
        raise ConfigError(
            "There is no lesson {name}. Choose one of these: {lessons}.", name=lesson, lessons=", ".join(names)
        )
    steps = steps_of(live_lessons([one.name for one in checkpoints], lesson))
    if not steps:
        raise ConfigError(
            "These checkpoints show no step of {lesson}. Publish the checkpoint everyday-en-de too.",
            lesson=lesson or "a lesson",
        )
    files = package_files(site_files(checkpoints, lesson=lesson), lesson=lesson, steps=steps)
    title = lesson_text(lesson, ENGLISH).title if lesson else COURSE
    return zipped({MANIFEST: manifest(lesson or "course", title, list(files)), **files})


def steps_of(lessons: Sequence[Mapping[str, object]]) -> list[str]:
    """The steps that count for the score, by their names in links. The tour has none."""
    return [f"{one['name']}.{step['name']}" for one in lessons if one["number"] for step in one["steps"]]  # type: ignore[attr-defined]


def package_files(site: Mapping[str, bytes], *, lesson: str, steps: Sequence[str]) -> dict[str, bytes]:
    """The files of a site, without what belongs to a host of its own, and with the script for the platform."""
    html = site["index.html"].decode()
    script = script_of(modules("app/scorm.js"))
    name = hashed("scorm.js", script.encode())
    start = f"#?lesson={lesson}" if lesson else "#lessons"
    data = data_block("package", compact({"start": start, "steps": steps, "words": words_of([NOT_KEPT])}))
    tag = f'<script type="module" src="{name}" integrity="{integrity(script)}"></script>'
    html = html.replace(OFFLINE, f"{data}\n{tag}", 1)  # before the script of the page
    left_out = {MARK, "offline-worker.js", *NOT_IN_PACKAGE.findall(html)}
    html = NOT_IN_PACKAGE.sub("", html)
    kept = {path: content for path, content in site.items() if path not in left_out}
    return {**kept, name: script.encode(), "index.html": html.encode()}


def manifest(name: str, title: str, files: Sequence[str]) -> bytes:
    """The description of a package. Its identifiers stay when it is published again, so that a platform keeps results.

    It asks for no score: a learner can correct an answer, so the score says how much is done.
    """
    (packaging, _), (adl, _) = SCHEMAS.items()
    root = ElementTree.Element(
        "manifest",
        {
            "identifier": f"headlight-{name}",
            "version": "1.0",
            "xmlns": packaging,
            "xmlns:adlcp": adl,
            "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
            "xsi:schemaLocation": " ".join(f"{space} {file}" for space, file in SCHEMAS.items()),
        },
    )
    metadata = ElementTree.SubElement(root, "metadata")
    ElementTree.SubElement(metadata, "schema").text = "ADL SCORM"
    ElementTree.SubElement(metadata, "schemaversion").text = "1.2"
    organizations = ElementTree.SubElement(root, "organizations", default="headlight")
    organization = ElementTree.SubElement(organizations, "organization", identifier="headlight")
    ElementTree.SubElement(organization, "title").text = title
    item = ElementTree.SubElement(organization, "item", identifier=name, identifierref="page", isvisible="true")
    ElementTree.SubElement(item, "title").text = title
    resources = ElementTree.SubElement(root, "resources")
    kind = {"identifier": "page", "type": "webcontent", "adlcp:scormtype": "sco", "href": "index.html"}
    resource = ElementTree.SubElement(resources, "resource", kind)
    for path in sorted(files):
        ElementTree.SubElement(resource, "file", href=quote(path))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        for path in sorted(files):
            file = zipfile.ZipInfo(path, START)
            file.create_system, file.external_attr = 3, 0o644 << 16  # the same on every system
            package.writestr(file, files[path], zipfile.ZIP_DEFLATED)
    return out.getvalue()
