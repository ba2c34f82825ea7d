// Builds the pictures of a report once its page is there; nothing is fetched, and nothing is sent.
for (const place of document.querySelectorAll("[data-component]")) {
  const numbers = JSON.parse(document.getElementById(place.dataset.numbers).textContent);
  const build = () => components[place.dataset.component]({ data: numbers, parentElement: place, setTriggerValue: () => {} });
  const folded = place.closest("details:not([open])");
  if (folded) folded.addEventListener("toggle", build, { once: true }); // its room is known once it is open
  else build();
}
