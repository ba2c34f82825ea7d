// Whether the key p starts presenter mode. People who speak to the computer can turn it off, and the browser keeps
// that.
const SETTING = "headlight-p-off";

/** Whether the key p starts presenter mode in this browser. */
export function presentKeyIsOn() {
  return localStorage.getItem(SETTING) === null;
}

/**
 * Turn the key p on or off in this browser.
 * @param {boolean} on
 */
export function setPresentKey(on) {
  if (on) localStorage.removeItem(SETTING);
  else localStorage.setItem(SETTING, "");
}
