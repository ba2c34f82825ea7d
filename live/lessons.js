// The lessons. Their code is a script of its own, which is loaded with the first lesson.
import { missing } from "./held.js";

/** @param {{ script: string }} course @returns {Promise<{ Course: typeof import("./course/course.js").Course }>} */
export async function loadLessons({ script }) {
  const { default: [Course] } = await import(`./${script}`).catch(() => missing(script));
  return { Course };
}
