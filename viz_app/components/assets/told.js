// What a page tells those who listen, once where it is news, and in which language one types.
export default function ({ data }) {
  const place = ear(), news = JSON.stringify([data.says, data.text]), before = place.dataset.told;
  place.dataset.told = news;
  if (before !== undefined && before !== news) announce(data.says, data.text, data.lang); // at first one reads the page
  document.querySelectorAll(".st-key-text input").forEach((field) => { field.lang = data.source; });
}
