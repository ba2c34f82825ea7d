// The roles of the menu for a screen reader.
import { describeMenu } from "./bridge.js";
import { listening, onPageChange } from "./page_events.js";

export const menuRoles = listening(() => [onPageChange(describeMenu)]);
