// Times are shown as the browser's clock shows them.
document.cookie = "time_zone=" + Intl.DateTimeFormat().resolvedOptions().timeZone
  + "; path=/; max-age=31536000; samesite=strict";
// Of a page that is left: where it stood is in its address, and what was being written in it in this tab alone.
window.drafts = {
  read: (form) => JSON.parse(sessionStorage.getItem(form) || "{}"),
  note: (form, field, value) => sessionStorage.setItem(form, JSON.stringify({ ...drafts.read(form), [field]: value })),
  forget: (form) => sessionStorage.removeItem(form),
  // Of what was written since then nothing is forgotten.
  forgetText: (form, field, text) => drafts.read(form)[field]?.trim() === text.trim() && drafts.forget(form),
  names: (prefix) => Object.keys(sessionStorage).filter((key) => key.startsWith(prefix)),
  // Who logs in after somebody else in the same tab finds nothing of theirs.
  keepOnly: (owner) =>
    drafts.names("draft:").filter((key) => !key.startsWith(owner)).forEach((key) => drafts.forget(key)),
};
window.shownAt = location.search;
window.showAt = (address, isNew) => {
  history[isNew ? "pushState" : "replaceState"]({}, "", address);
  shownAt = location.search;
};
// Back and Forward; a link within the page fires this too, and changes nothing of what is looked at.
addEventListener("popstate", () => location.search !== shownAt && location.reload());
// A tab that is closed needs nothing kept for it; one that only lost its connection does, and says nothing.
addEventListener("pagehide", (event) => event.persisted || emitEvent("page_left"));
// What is found is offered in one step, and of it only what matches what is typed.
window.offer = (id, options) => {
  const select = getElement(id);
  select.initialOptions = options;
  select.filteredOptions = select.findFilteredOptions();
};
// Who logs in or out does so in every tab of the browser.
const logins = new BroadcastChannel("afterthought");
logins.onmessage = ({ data }) => (data === "out" ? left() : location.reload());
const left = (way = "/login") => { sessionStorage.clear(); location = way; };
const ask = async (address, method, failed) => {
  const answer = await fetch(address, { method }).catch(() => null);
  if (!answer?.ok) Quasar.Notify.create({ type: "negative", message: failed });
  return answer?.ok;
};
window.logIn = async (ticket, way) => {
  if (!(await ask(`/login/${ticket}`, "POST", "Not logged in: the service does not know this page's address."))) return;
  logins.postMessage("in");
  location = way;
};
window.logOut = async () => {
  if (!(await ask("/login", "DELETE", "Not logged out: the service does not answer. Try it again."))) return;
  logins.postMessage("out");
  left();
};
