// The lessons. Their code is a script of its own, which is loaded with the first lesson.

/** @returns {Promise<{ Course: typeof import("./course/course.js").Course }>} */
export function loadLessons() {
  return import("./course/course.js");
}
