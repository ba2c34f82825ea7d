// The lessons in the place of `lessons.js`, where the page is one file and holds all code.
import { Course } from "./course/course.js";

export async function loadLessons() {
  return { Course };
}
